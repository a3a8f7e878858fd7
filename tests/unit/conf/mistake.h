/* mistake.h: a table of wrong configurations, each with exactly what is said about it. */
#ifndef TESTS_CONF_MISTAKE_H
#define TESTS_CONF_MISTAKE_H

#include "conf/conf.h"

#include "test.h"

#include <stdlib.h>

struct mistake {
    const char *name, *text, *told; /* told: without `c.yaml:` in front of each line */
};

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A256 A64 A64 A64 A64

/* The rest of a right configuration around the place of a mistake. */
#define LISTENERS "listeners:\n  - { listen: 127.0.0.1:8080, target: t }\n"
#define TARGETS                                                                                    \
    "targets:\n"                                                                                   \
    "  t: { addresses: [127.0.0.1:9000] }\n"                                                       \
    "  u: { addresses: [127.0.0.1:9001] }\n"
#define FILE_WITH(text) text "\ntargets:\n  t: { addresses: [127.0.0.1:9000] }\n" LISTENERS
#define POLICY(text) FILE_WITH("defaults: { policy: { " text " } }")
#define TARGET(text) "targets:\n  t: { " text " }\n" LISTENERS
#define LISTENER(text) TARGETS "listeners:\n  - { " text " }\n"
#define TWO_LISTENERS(one, two) TARGETS "listeners:\n  - { " one " }\n  - { " two " }\n"
#define ROUTES(text) LISTENER("listen: 127.0.0.1:8080, routes: [ " text " ]")

/* Puts the file's name in front of each line. */
static inline char *mistake_lines(const char *told)
{
    char *text = NULL;
    size_t text_length = 0;
    FILE *out = open_memstream(&text, &text_length);
    assert_non_null(out);
    while (*told) {
        size_t length = strcspn(told, "\n");
        fputs("c.yaml:", out);
        fwrite(told, 1, length, out);
        fputc('\n', out);
        told += length + (told[length] == '\n');
    }
    fclose(out);
    return text;
}

static inline void mistake_check(const char *text, size_t length, const char *told)
{
    char *said = NULL;
    size_t said_length = 0;
    FILE *errors = open_memstream(&said, &said_length);
    assert_non_null(errors);
    struct conf *conf = NULL;
    enum conf_verdict verdict = conf_parse("c.yaml", belay_slice(text, length), errors, &conf);
    fclose(errors);
    char *expected = mistake_lines(told);
    assert_string_equal(said, expected);
    assert_int_equal(verdict, CONF_WRONG);
    assert_null(conf);
    free(said);
    free(expected);
}

static void test_mistake(void **state)
{
    const struct mistake *mistake = *state;
    mistake_check(mistake->text, strlen(mistake->text), mistake->told);
}

/* One named test a row; returns how many rows were added. */
static inline size_t mistake_tests(const struct mistake *rows, size_t count,
                                   struct CMUnitTest *tests)
{
    for (size_t i = 0; i < count; i++) {
        void *row = (void *)(uintptr_t)&rows[i];
        tests[i] = (struct CMUnitTest){
            .name = rows[i].name, .test_func = test_mistake, .initial_state = row};
    }
    return count;
}

#endif
