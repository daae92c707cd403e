/* Tests of libassay in a process of C's: threads, forks, signals, two Go runtimes, and the cost of
 * a call. It is C and C++. Usage: test all|threads|forks|signals|device|memory,
 * test second LIBRARY, test bench */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "assay.h"

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, "\n");                                                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const char source[] =
    "{{ tools|tojson if tools }}{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{{ m.content or '' }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function|tojson }}"
    "</tool_call>{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
static const char asked[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"tools\":[{\"type\":\"function\","
    "\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
    "\"string\"}}}}}]}";
static const char output[] = "Hello.<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"b\"}}</tool_call>";
static const char message[] =
    "{\"role\":\"assistant\",\"content\":\"Hello.\",\"tool_calls\":[{\"type\":\"function\",\"function\":"
    "{\"name\":\"f\",\"arguments\":\"{\\\"a\\\": \\\"b\\\"}\"}}]}";

static assay_text text_of(const char *s) {
    assay_text t;
    t.data = s;
    t.size = strlen(s);
    return t;
}

static assay_handle compile(void) {
    assay_source s;
    assay_buffer out = {NULL, 0, 0};
    assay_handle h = 0;
    memset(&s, 0, sizeof s);
    s.struct_size = sizeof s;
    s.text = text_of(source);
    int32_t status = assay_compile(&s, &h, &out);
    CHECK(status == ASSAY_OK, "%.*s", (int)out.size, out.data);
    assay_buffer_free(&out);
    return h;
}

static assay_handle prepare(assay_handle t) {
    assay_buffer out = {NULL, 0, 0};
    assay_text none = {NULL, 0};
    assay_handle plan = 0;
    int32_t status = assay_prepare(t, text_of(asked), none, &plan, &out);
    CHECK(status == ASSAY_OK, "%.*s", (int)out.size, out.data);
    assay_buffer_free(&out);
    return plan;
}

static assay_handle begin(assay_handle plan) {
    assay_buffer out = {NULL, 0, 0};
    assay_handle parser = 0;
    int32_t status = assay_parser(plan, &parser, &out);
    CHECK(status == ASSAY_OK, "%.*s", (int)out.size, out.data);
    assay_buffer_free(&out);
    return parser;
}

/* answer reads the output in pieces of n bytes and looks for the message. */
static void answer(assay_handle plan, size_t n) {
    assay_buffer out = {NULL, 0, 0};
    assay_handle parser = begin(plan);
    for (size_t at = 0; at < sizeof output - 1; at += n) {
        size_t size = sizeof output - 1 - at < n ? sizeof output - 1 - at : n;
        CHECK(assay_write(parser, output + at, size, &out) == ASSAY_OK, "%.*s", (int)out.size, out.data);
    }
    CHECK(assay_finish(parser, ASSAY_STOP, &out) == ASSAY_OK, "%.*s", (int)out.size, out.data);
    char *found = (char *)malloc(out.size + 1);
    memcpy(found, out.data, out.size);
    found[out.size] = 0;
    CHECK(strstr(found, message) != NULL, "%s", found);
    free(found);
    CHECK(assay_free(parser) == ASSAY_OK, "a parser is not freed");
    assay_buffer_free(&out);
}

static assay_handle shared_template, shared_plan, shared_parser;

static void *work(void *arg) {
    size_t number = (size_t)arg;
    assay_buffer out = {NULL, 0, 0};
    for (size_t i = 0; i < 50; i++) {
        answer(shared_plan, 1 + (number + i) % 9);
        int32_t status = assay_write(shared_parser, "word", 4, &out); /* of all threads */
        CHECK(status == ASSAY_OK, "status %d", status);
        if (i % 10 == 0) {
            assay_handle plan = prepare(shared_template);
            answer(plan, 7);
            CHECK(assay_free(plan) == ASSAY_OK, "a plan is not freed");
        }
    }
    assay_buffer_free(&out);
    return NULL;
}

static void test_threads(void) {
    pthread_t threads[16];
    shared_template = compile();
    shared_plan = prepare(shared_template);
    shared_parser = begin(shared_plan);
    for (size_t i = 0; i < 16; i++)
        CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0, "no thread");
    for (size_t i = 0; i < 16; i++)
        pthread_join(threads[i], NULL);
    assay_buffer out = {NULL, 0, 0};
    CHECK(assay_finish(shared_parser, ASSAY_STOP, &out) == ASSAY_OK, "%.*s", (int)out.size, out.data);
    size_t words = 0;
    for (const char *at = out.data; at + 4 <= out.data + out.size; at++)
        words += memcmp(at, "word", 4) == 0;
    CHECK(words == 16 * 50, "%zu words were read", words);
    assay_buffer_free(&out);
    CHECK(assay_free(shared_parser) == ASSAY_OK && assay_free(shared_plan) == ASSAY_OK &&
              assay_free(shared_template) == ASSAY_OK,
          "something is not freed");
}

/* in_child makes every sort of call and returns how many did not say that the process is forked. */
static int in_child(assay_handle t, assay_handle plan, assay_handle parser) {
    char room[64];
    assay_buffer out = {room, 5, sizeof room};
    assay_source s;
    assay_text x = {"x", 1};
    assay_piece piece = {parser, "x", 1, NULL, NULL, 0};
    assay_result result;
    assay_spans spans = {NULL, 0, 0};
    assay_handle h;
    uint64_t held;
    memset(&s, 0, sizeof s);
    s.struct_size = sizeof s;
    int32_t statuses[] = {assay_compile(&s, &h, &out), assay_gate(t, &out), assay_format(t, &out),
                          assay_prepare(t, x, x, &h, &out), assay_prepare_format(x, x, x, x, &h, &out),
                          assay_grammar(plan, x, &out), assay_segments(plan, &out),
                          assay_parser(plan, &h, &out), assay_write(parser, "x", 1, &out),
                          assay_write_piece(&piece, &out), assay_write_spans(&piece, &out, &spans),
                          assay_write_many(&piece, 1, &result, &out), assay_held(parser, &held),
                          assay_diagnostics(parser, &out), assay_finish(parser, 0, &out),
                          assay_free(parser)};
    int wrong = out.size != 0;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        wrong += statuses[i] != ASSAY_ERR_FORKED;
    return wrong;
}

static void test_forks(void) {
    assay_handle t = compile(), plan = prepare(t), parser = begin(plan);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        CHECK(child >= 0, "no fork");
        if (child == 0) {
            alarm(30); /* a call that waits for Go's threads would wait forever */
            int wrong = in_child(t, plan, parser);
            pid_t grandchild = fork();
            if (grandchild == 0)
                _exit(in_child(t, plan, parser));
            int status = 0;
            waitpid(grandchild, &status, 0);
            _exit(wrong + (status != 0));
        }
        answer(plan, 3); /* the parent goes on */
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
              "the child's status is %x", (unsigned)status);
    }
    assay_free(parser);
    assay_free(plan);
    assay_free(t);
}

static sigjmp_buf back;
static volatile sig_atomic_t users, faults;
static void on_user(int signal) {
    (void)signal;
    users++;
}
static void on_fault(int signal) {
    (void)signal;
    faults++;
    siglongjmp(back, 1);
}

/* test_signals has handlers of the host's: one for a signal that Go does not need, set after Go's
 * runtime began, and one for faults, with SA_ONSTACK, as Go's documentation wants it. */
static void test_signals(void) {
    assay_handle t = compile(), plan = prepare(t);
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_user;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = on_fault;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before);
    for (int i = 0; i < 100; i++) {
        raise(SIGUSR1);
        answer(plan, 5);
    }
    if (sigsetjmp(back, 1) == 0)
        raise(SIGSEGV);
    answer(plan, 5);
    sigaction(SIGSEGV, &before, NULL);
    CHECK(users == 100 && faults == 1, "%d and %d signals were handled", (int)users, (int)faults);
    assay_free(plan);
    assay_free(t);
}

static void *drive(void *plan) {
    sigset_t every;
    sigfillset(&every);
    pthread_sigmask(SIG_BLOCK, &every, NULL);
    for (size_t n = 1; n <= 20; n++)
        answer(*(assay_handle *)plan, n);
    return NULL;
}

/* test_device is in a process as CUDA's driver leaves it: hundreds of gigabytes of addresses are
 * taken, and threads with small stacks let no signal through, by which Go interrupts its own. */
static void test_device(void) {
    size_t size = (size_t)1 << 38;
    void *taken = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(taken != MAP_FAILED, "no addresses");
    assay_handle t = compile(), plan = prepare(t);
    pthread_t threads[8];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    for (size_t i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], &small, drive, &plan) == 0, "no thread");
    for (size_t i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    answer(plan, 5);
    assay_free(plan);
    assay_free(t);
    munmap(taken, size);
}

/* test_second loads another Go library, whose runtime is its own. */
static void test_second(const char *library) {
    assay_handle t = compile(), plan = prepare(t);
    answer(plan, 4);
    void *second = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    CHECK(second != NULL, "%s", dlerror());
    int32_t (*free_there)(assay_handle);
    *(void **)&free_there = dlsym(second, "assay_free");
    CHECK((void *)free_there != (void *)assay_free, "it is the same library");
    CHECK(free_there(plan) == ASSAY_ERR_HANDLE, "a handle means something in another library");
    answer(plan, 4);
    assay_free(plan);
    assay_free(t);
}

/* The library asks for its results' memory by realloc, which is this one where the C library lets a
 * program have its own. */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static volatile int starved;
#ifdef __cplusplus
extern "C" void *__libc_realloc(void *data, size_t size);
extern "C" void *realloc(void *data, size_t size) noexcept {
#else
void *__libc_realloc(void *data, size_t size);
void *realloc(void *data, size_t size) {
#endif
    return starved ? NULL : __libc_realloc(data, size);
}

/* test_memory makes every sort of call that has a result while there is no memory for results. */
static void test_memory(void) {
    assay_handle t = compile(), plan = prepare(t), parser = begin(plan), h = 0, before, after;
    assay_text none = {NULL, 0};
    assay_buffer out = {NULL, 0, 0};
    assay_piece piece = {parser, "Hi", 2, NULL, NULL, 0};
    assay_result result;
    assay_spans spans = {NULL, 0, 0};
    assay_source s;
    memset(&s, 0, sizeof s);
    s.struct_size = sizeof s;
    s.text = text_of("{% if");
    before = begin(plan);
    assay_free(before);
    starved = 1;
    int32_t statuses[] = {assay_compile(&s, &h, &out), assay_gate(t, &out), assay_format(t, &out),
                          assay_prepare(t, text_of(asked), none, &h, &out),
                          assay_prepare(t, text_of("{"), none, &h, &out),
                          assay_grammar(plan, text_of("gbnf"), &out), assay_segments(plan, &out),
                          assay_write(parser, "Hi", 2, &out), assay_write_piece(&piece, &out),
                          assay_write_spans(&piece, &out, &spans),
                          assay_write_many(&piece, 1, &result, &out), assay_diagnostics(parser, &out),
                          assay_finish(parser, ASSAY_STOP, &out)};
    starved = 0;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        CHECK(statuses[i] == ASSAY_ERR_MEMORY, "call %zu: status %d", i, statuses[i]);
    CHECK(out.size == 0 && out.data == NULL && spans.count == 0 && h == 0, "there is a result");
    after = begin(plan);
    CHECK((uint32_t)after == (uint32_t)before, "a handle was made that nobody can free");
    answer(plan, 3);
    CHECK(assay_gate(t, &out) == ASSAY_OK && out.size > 0, "no result when there is memory again");
    assay_buffer_free(&out);
    assay_free(after);
    assay_free(parser);
    assay_free(plan);
    assay_free(t);
}
#else
static void test_memory(void) {}
#endif

/* now returns the processor time of the process, in nanoseconds. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* bench prints the cost of a piece of four bytes, the best of some rounds. */
static void bench(void) {
    enum { PIECES = 8192, MANY = 200 };
    assay_handle t = compile(), plan = prepare(t);
    assay_buffer out = {NULL, 0, 0};
    double one = 1e18, many = 1e18;
    assay_piece *pieces = (assay_piece *)calloc(MANY, sizeof *pieces);
    assay_result *results = (assay_result *)calloc(MANY, sizeof *results);
    for (int round = 0; round < 30; round++) {
        assay_handle parser = begin(plan);
        double from = now();
        for (int i = 0; i < PIECES; i++)
            assay_write(parser, "word", 4, &out);
        double took = (now() - from) / PIECES;
        one = took < one ? took : one;
        assay_free(parser);
        for (int i = 0; i < MANY; i++) {
            pieces[i].parser = begin(plan);
            pieces[i].data = "word";
            pieces[i].size = 4;
        }
        from = now();
        for (int i = 0; i < PIECES / MANY; i++)
            assay_write_many(pieces, MANY, results, &out);
        took = (now() - from) / (PIECES / MANY * MANY);
        many = took < many ? took : many;
        for (int i = 0; i < MANY; i++)
            assay_free(pieces[i].parser);
    }
    printf("C, one parser: %.0f ns a piece\nC, %d parsers a call: %.0f ns a piece\n", one, MANY, many);
    free(pieces);
    free(results);
    assay_buffer_free(&out);
    assay_free(plan);
    assay_free(t);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "all";
    int all = strcmp(what, "all") == 0;
    CHECK(assay_abi() == ASSAY_ABI, "the library is another one than the header's");
    if (strcmp(what, "bench") == 0)
        bench();
    if (strcmp(what, "second") == 0)
        test_second(argv[2]);
    if (all || strcmp(what, "threads") == 0)
        test_threads();
    if (all || strcmp(what, "forks") == 0)
        test_forks();
    if (all || strcmp(what, "signals") == 0)
        test_signals();
    if (all || strcmp(what, "device") == 0)
        test_device();
    if (all || strcmp(what, "memory") == 0)
        test_memory();
    return 0;
}
