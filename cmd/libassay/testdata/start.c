/* Loads the library and makes the first parser, and prints what both took, in microseconds: load's
 * time and processor time, then the parser's. Usage: start LIBRARY TEMPLATE */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "assay.h"

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void *found(void *library, const char *name) {
    void *function = dlsym(library, name);
    if (function == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return function;
}

int main(int argc, char **argv) {
    static char text[1 << 20];
    static const char asked[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}";
    FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
    if (file == NULL)
        return 1;
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);

    double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    void *library = dlopen(argv[1], RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int32_t (*compile)(const assay_source *, assay_handle *, assay_buffer *);
    int32_t (*prepare)(assay_handle, assay_text, assay_text, assay_handle *, assay_buffer *);
    int32_t (*parser)(assay_handle, assay_handle *, assay_buffer *);
    *(void **)&compile = found(library, "assay_compile");
    *(void **)&prepare = found(library, "assay_prepare");
    *(void **)&parser = found(library, "assay_parser");
    double loaded = now(CLOCK_MONOTONIC), loaded_cpu = now(CLOCK_PROCESS_CPUTIME_ID);

    assay_source source;
    memset(&source, 0, sizeof source);
    source.struct_size = sizeof source;
    source.text.data = text;
    source.text.size = size;
    assay_text request = {asked, sizeof asked - 1}, none = {NULL, 0};
    assay_buffer out = {NULL, 0, 0};
    assay_handle model = 0, plan = 0, reader = 0;
    if (compile(&source, &model, &out) || prepare(model, request, none, &plan, &out) ||
        parser(plan, &reader, &out)) {
        fprintf(stderr, "%.*s\n", (int)out.size, out.data);
        return 1;
    }
    printf("%.0f %.0f %.0f %.0f\n", loaded - wall, loaded_cpu - cpu,
           now(CLOCK_MONOTONIC) - loaded, now(CLOCK_PROCESS_CPUTIME_ID) - loaded_cpu);
    return 0;
}
