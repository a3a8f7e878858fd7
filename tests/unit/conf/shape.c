/* shape.c: any bytes are answered with a snapshot or a place and a rule, within limits. */
#include "mistake.h"

#include "base/buf.h"
#include "base/rng.h"

#include <time.h>

static const char RIGHT[] =
    "# a comment\n"
    "admin: { listen: 127.0.0.1:9180 }\n"
    "events: { file: \"журнал.ndjson\", buffer: 4MiB }\n"
    "defaults: { policy: &p { deadline: 10s, retry_on: [timeout, 503] } }\n"
    "targets:\n"
    "  orders:\n"
    "    addresses: [127.0.0.1:9000]\n"
    "    policy: *p\n"
    "listeners:\n"
    "  - listen: 127.0.0.1:8080\n"
    "    routes:\n"
    "      - { path: \"/orders/{id}\", target: orders, policy: { deadline: 2s } }\n";

/* What is said must be at most 20 lines with a position each. */
static void check_any(const char *bytes, size_t length)
{
    char *said = NULL;
    size_t said_length = 0;
    FILE *errors = open_memstream(&said, &said_length);
    assert_non_null(errors);
    struct conf *conf = NULL;
    enum conf_verdict verdict = conf_parse("c", belay_slice(bytes, length), errors, &conf);
    fclose(errors);
    int lines = 0;
    for (const char *line = said; *line; line = strchr(line, '\n') + 1, lines++) {
        int at_line = 0, at_column = 0;
        assert_int_equal(sscanf(line, "c:%d:%d: ", &at_line, &at_column), 2);
        assert_true(at_line >= 1 && at_column >= 1);
        assert_non_null(strchr(line, '\n'));
    }
    assert_true(lines <= 20);
    assert_int_equal(verdict, lines ? CONF_WRONG : CONF_GOOD);
    assert_int_equal(conf != NULL, lines == 0);
    if (conf) conf_give(conf);
    free(said);
}

static void test_every_beginning(void **state)
{
    (void)state;
    mistake_check("", 0, "1:1: nothing is in this file; a configuration has targets and listeners");
    for (size_t length = 0; length < sizeof RIGHT; length++) check_any(RIGHT, length);
}

static void test_every_byte_in_every_place(void **state)
{
    (void)state;
    char text[sizeof RIGHT];
    static const char BYTES[] =
        "\0\x01\t\n\r \"'#&*,-:?[]{}|>%@`\\~a0\x7f\x80\xbf\xc0\xc3\xe0\xed\xf0\xf8\xff";
    for (size_t place = 0; place < sizeof RIGHT - 1; place++) {
        for (size_t i = 0; i < sizeof BYTES - 1; i++) {
            memcpy(text, RIGHT, sizeof text);
            text[place] = BYTES[i];
            check_any(text, sizeof text - 1);
        }
    }
}

static void test_mixed_bytes(void **state)
{
    (void)state;
    const uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)seed);
    struct rng rng;
    rng_seed(&rng, seed);
    for (int n = 0; n < 20000; n++) {
        char text[2 * sizeof RIGHT];
        size_t length = sizeof RIGHT - 1;
        memcpy(text, RIGHT, length);
        for (uint64_t edits = 1 + rng_scale(rng_next(&rng), 4); edits > 0; edits--) {
            size_t to = (size_t)rng_scale(rng_next(&rng), length),
                   from = (size_t)rng_scale(rng_next(&rng), length);
            size_t count = (size_t)rng_scale(rng_next(&rng), 30);
            if (to + count > length) count = length - to;
            if (from + count > length) count = length - from;
            memmove(text + to, text + from, count);
        }
        check_any(text, length);
    }
}

static void test_bytes_that_are_no_text(void **state)
{
    (void)state;
    mistake_check("a: \xff", 4, "1:4: not UTF-8 text: invalid leading UTF-8 octet");
    mistake_check("\xd1\x8f: \xc3", 5, "1:4: not UTF-8 text: incomplete UTF-8 octet sequence");
    mistake_check("a: 1\nb: \0", 9, "2:4: not UTF-8 text: control characters are not allowed");
    mistake_check("\xff\xfe"
                  "a\0",
                  4, "1:1: not UTF-8 text: invalid leading UTF-8 octet");
}

/* ---- limits ---- */

static void repeat(struct buf *text, const char *piece, int count)
{
    for (int i = 0; i < count; i++) assert_true(buf_add(text, piece, strlen(piece)));
}

static void check_repeated(const char *before, const char *piece, int count, const char *after,
                           const char *told)
{
    struct buf text;
    buf_init(&text, 4 * CONF_FILE_BYTES_MAX);
    repeat(&text, before, 1);
    repeat(&text, piece, count);
    repeat(&text, after, 1);
    mistake_check(buf_slice(&text).data, buf_length(&text), told);
    buf_deinit(&text);
}

static void test_depth_is_bounded(void **state)
{
    (void)state;
    check_repeated("", "[", 100000, "", "1:17: nested more than 16 deep");
    check_repeated("", "{a: ", 100000, "", "1:65: nested more than 16 deep");
    check_repeated("", "- ", 100000, "", "1:33: nested more than 16 deep");
    check_repeated("", "[", 16, "]]]]]]]]]]]]]]]]",
                   "1:1: the configuration: expected a mapping, not a list");
}

static void test_values_are_bounded(void **state)
{
    (void)state;
    check_repeated("- x\n", "- x\n", 99998, "",
                   "1:1: the configuration: expected a mapping, not a list");
    check_repeated("- x\n", "- x\n", 100000, "", "100000:3: more than 100000 values");
}

static void test_anchors_are_bounded(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, CONF_FILE_BYTES_MAX);
    for (int i = 0; i < 257; i++) {
        char line[32];
        snprintf(line, sizeof line, "- &a%d x\n", i);
        repeat(&text, line, 1);
    }
    mistake_check(buf_slice(&text).data, buf_length(&text), "257:3: more than 256 anchors");
    buf_deinit(&text);
}

static void check_told(struct buf *text, const char *told)
{
    char *said = NULL;
    size_t length = 0;
    FILE *errors = open_memstream(&said, &length);
    assert_non_null(errors);
    struct conf *conf = NULL;
    assert_int_equal(conf_parse("c", buf_slice(text), errors, &conf), CONF_WRONG);
    fclose(errors);
    if (!strstr(said, told)) fail_msg("%s", said);
    free(said);
    buf_deinit(text);
}

/* An alias of two bytes stands for 500 values in each of 1000 routes. */
static void test_what_aliases_stand_for_is_bounded(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, CONF_FILE_BYTES_MAX);
    repeat(&text, "defaults: { policy: &p { retry_on: [ ", 1);
    for (int status = 100; status < 600; status++) {
        char word[16];
        snprintf(word, sizeof word, "%d, ", status);
        repeat(&text, word, 1);
    }
    repeat(&text,
           "] } }\n"
           "targets: { t: { addresses: [127.0.0.1:1] } }\n"
           "listeners: [ { listen: 127.0.0.1:0, routes: [\n",
           1);
    for (int i = 0; i < 1000; i++) {
        char route[64];
        snprintf(route, sizeof route, "  { path: /%d, target: t, policy: *p },\n", i);
        repeat(&text, route, 1);
    }
    repeat(&text, "] } ]\n", 1);
    check_told(&text, ": the aliases of this file stand for more than 200000 values\n");
}

static void test_routes_are_bounded(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, CONF_FILE_BYTES_MAX);
    repeat(&text,
           "targets: { t: { addresses: [127.0.0.1:1] } }\n"
           "listeners:\n"
           "- &l { listen: 127.0.0.1:0, routes: [ ",
           1);
    for (int i = 0; i < 32; i++) {
        char route[64];
        snprintf(route, sizeof route, "{ path: /%d, target: t }, ", i);
        repeat(&text, route, 1);
    }
    repeat(&text, "] }\n", 1);
    repeat(&text, "- *l\n", 31);
    struct conf *conf = NULL;
    assert_int_equal(conf_parse("c", buf_slice(&text), stderr, &conf), CONF_GOOD);
    conf_give(conf);
    repeat(&text, "- *l\n", 1);
    check_told(&text, ": routes: at most 1024 of them, over all listeners\n");
}

static void test_no_more_than_twenty_are_told(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, CONF_FILE_BYTES_MAX);
    for (int i = 0; i < 1000; i++) {
        char line[32];
        snprintf(line, sizeof line, "wrong%d: x\n", i);
        repeat(&text, line, 1);
    }
    char *said = NULL;
    size_t length = 0;
    FILE *errors = open_memstream(&said, &length);
    assert_non_null(errors);
    struct conf *conf = NULL;
    assert_int_equal(conf_parse("c", buf_slice(&text), errors, &conf), CONF_WRONG);
    fclose(errors);
    int lines = 0;
    for (const char *line = said; *line; line = strchr(line, '\n') + 1) lines++;
    assert_int_equal(lines, 20);
    free(said);
    buf_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_beginning),
        cmocka_unit_test(test_every_byte_in_every_place),
        cmocka_unit_test(test_mixed_bytes),
        cmocka_unit_test(test_bytes_that_are_no_text),
        cmocka_unit_test(test_depth_is_bounded),
        cmocka_unit_test(test_values_are_bounded),
        cmocka_unit_test(test_anchors_are_bounded),
        cmocka_unit_test(test_what_aliases_stand_for_is_bounded),
        cmocka_unit_test(test_routes_are_bounded),
        cmocka_unit_test(test_no_more_than_twenty_are_told),
    };
    return cmocka_run_group_tests_name("conf/shape", tests, NULL, NULL);
}
