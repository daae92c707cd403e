#include <stdio.h>
#include <string.h>

#include "assay.h"

static const char source[] =
    "{% if tools %}<|tools|>{{ tools | tojson }}<|end|>{% endif %}"
    "{%- for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}"
    "{%- for c in m.tool_calls or [] %}<call>{\"name\": \"{{ c.function.name }}\", "
    "\"arguments\": {{ c.function.arguments | tojson }}}</call>{% endfor %}<|end|>{% endfor %}"
    "{%- if add_generation_prompt %}<|assistant|>{% endif %}";

static const char request[] =
    "{\"messages\": [{\"role\": \"user\", \"content\": \"Is it raining in Bern?\"}],"
    " \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"weather\","
    " \"parameters\": {\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}}}}]}";

static const char *const pieces[] = {
    "I look.<ca", "ll>{\"name\": \"weather\", \"arguments\": {\"city\": \"Be",
    "rn\"}}</call><|end|>"};

static assay_text text(const char *s) { return (assay_text){s, s == NULL ? 0 : strlen(s)}; }

/* show prints the result of a call, and returns whether it succeeded. */
static int show(int32_t status, const assay_buffer *out) {
    if (out->size > 0)
        printf("%.*s\n", (int)out->size, out->data);
    return status == ASSAY_OK;
}

int main(void) {
    assay_buffer out = {0};
    assay_handle model = 0, plan = 0, parser = 0;
    assay_source s = {.struct_size = sizeof s, .text = text(source)};
    /* once, when the model is loaded */
    int ok = show(assay_compile(&s, &model, &out), &out);
    /* for each request: the model goes on with the prompt of the plan */
    ok = ok && show(assay_prepare(model, text(request), text(NULL), &plan, &out), &out);
    ok = ok && show(assay_parser(plan, &parser, &out), &out);
    for (size_t i = 0; ok && i < sizeof pieces / sizeof *pieces; i++)
        ok = show(assay_write(parser, pieces[i], strlen(pieces[i]), &out), &out);
    ok = ok && show(assay_finish(parser, ASSAY_STOP, &out), &out);
    assay_free(parser);
    assay_free(plan);
    assay_free(model);
    assay_buffer_free(&out);
    return !ok;
}
