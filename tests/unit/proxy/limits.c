/* limits.c: the rows of ratelimit.tsv that say how a recipient's fields are read. */
#include "test.h"

#include "proxy/limits.h"

#include <stdio.h>

static struct limits_told told_by(const char *fields)
{
    static char bytes[4096];
    static struct http1_head head;
    struct http1_scan scan = {0};
    struct http1_limits limits = http1_limits_default();
    struct http1_error error;
    struct belay_wall now = {INT64_C(1767700800) * BELAY_NS_PER_S};
    size_t used;
    int length =
        snprintf(bytes, sizeof bytes, "HTTP/1.1 200 OK\r\n%s\r\nContent-Length: 0\r\n\r\n", fields);
    struct belay_slice all = belay_slice(bytes, (size_t)length);
    assert_int_equal(
        http1_parse_response(&scan, &limits, BELAY_METHOD_GET, all, &head, &used, &error),
        HTTP1_DONE);
    return limits_read(&head, now);
}

#define NOTHING -1

static void assert_told(const char *fields, int64_t left, int64_t reset_s)
{
    struct limits_told told = told_by(fields);
    if (told.any != (left != NOTHING)) fail_msg("%s: %d", fields, told.any);
    if (!told.any) return;
    assert_int_equal(told.left, left);
    assert_int_equal(told.reset_for.ns, reset_s * BELAY_NS_PER_S);
}

static void rl01(void **state)
{
    (void)state;
    assert_told("RateLimit: \"default\";r=50;t=30", 50, 30);
    assert_told("ratelimit:   \"default\" ;r=50;t=30", NOTHING,
                0); /* no space before a parameter */
    assert_told("RateLimit: \"default\"; r=50;  t=30;pk=\"x\"", 50, 30);
    assert_told("RateLimit: \"a\\\"b\";t=30;r=50;other;x=?1", NOTHING,
                0); /* booleans are not used here */
}

static void rl02(void **state)
{
    (void)state;
    assert_told("RateLimit: default;r=50;t=30", 50, 30);
}

static void rl04(void **state)
{
    (void)state;
    assert_told("RateLimit: \"a\";r=1;t=5, \"b\";r=9;t=5", 1, 5);
    assert_told("RateLimit: \"b\";r=9;t=5\r\nRateLimit: \"a\";r=1;t=5", 1, 5);
    assert_told("RateLimit: \"a\";r=1;t=5, \"b\";r=9", 1, 5);
    assert_told("RateLimit: \"a\";r=1;t=5\r\nRateLimit: \"b\";r=9", 1, 5);
}

static void rl05(void **state)
{
    (void)state;
    assert_told("RateLimit: \"default\";r=50;t=30,", NOTHING, 0);
    assert_told("RateLimit: \"default\";r=50;t=30,,\"b\";r=1;t=1", NOTHING, 0);
    assert_told("RateLimit: ,\"default\";r=50;t=30", NOTHING, 0);
    assert_told("RateLimit: \"default\";r=50;t=30 \"b\"", NOTHING, 0);
    assert_told("RateLimit: \"default", NOTHING, 0);
    assert_told("RateLimit: \"default\\", NOTHING, 0);
}

static void rl07(void **state)
{
    (void)state;
    assert_told("RateLimit: \"default\";r=-1;t=30", NOTHING, 0);
    assert_told("RateLimit: \"default\";r=-1;t=30, \"b\";r=4;t=2", 4, 2);
}

static void rl08(void **state)
{
    (void)state;
    assert_told("RateLimit: \"default\";r=5.5;t=30", NOTHING, 0);
    assert_told("RateLimit: \"default\";r=\"50\";t=30", NOTHING, 0);
    assert_told("RateLimit: \"default\";r=x;t=30", NOTHING, 0);
    assert_told("RateLimit: \"default\";r;t=30", NOTHING, 0);
    assert_told("RateLimit: \"default\";r=9999999999999999;t=30", NOTHING, 0); /* 16 digits */
}

static void rl10(void **state)
{
    (void)state;
    assert_told("RateLimit: \"default\";t=30", NOTHING, 0);
}

static void rl16(void **state)
{
    (void)state;
    assert_told("RateLimit: (\"a\";r=1;t=1)", NOTHING, 0);
}

static void rl17(void **state)
{
    (void)state;
    assert_told("RateLimit:", NOTHING, 0);
    assert_told("X-Other: 1", NOTHING, 0);
}

static void rl19_rl20(void **state)
{
    (void)state;
    assert_told("RateLimit: \"x\";r=9\r\nRateLimit-Policy: \"x\";q=100;w=0", NOTHING, 0);
    assert_told("RateLimit: \"x\";r=9\r\nRateLimit-Policy: \"x\";w=60", NOTHING, 0);
    assert_told("RateLimit: \"x\";r=9\r\nRateLimit-Policy: \"x\";q=100;w=60", 9, 60);
    assert_told("RateLimit: \"x\";r=9\r\nRateLimit-Policy: \"y\";q=100;w=60", NOTHING, 0);
}

static void rl21(void **state)
{
    (void)state;
    assert_told("RateLimit: limit=100, remaining=50, reset=5", 50, 5);
    assert_told("RateLimit: limit=100, remaining=50, reset=5,", NOTHING, 0);
    assert_told("RateLimit: limit=100, remaining=50;reset=5", NOTHING, 0);
}

static void rl22(void **state)
{
    (void)state;
    assert_told("RateLimit-Limit: 100\r\nRateLimit-Remaining: 0\r\nRateLimit-Reset: 50", 0, 50);
    assert_told("X-RateLimit-Limit: 100\r\nX-RateLimit-Remaining: 7\r\nX-RateLimit-Reset: 50", 7,
                50);
    assert_told("RateLimit-Remaining: 7", NOTHING, 0);
    assert_told("RateLimit-Remaining: 7x\r\nRateLimit-Reset: 50", NOTHING, 0);
    assert_told("RateLimit-Remaining: 7\r\nRateLimit-Reset: 0", NOTHING, 0);
}

static void rl26(void **state)
{
    (void)state;
    assert_told("RateLimit-Policy: \"burst\";q=100;w=60,\"daily\";q=1000;w=86400\r\n"
                "RateLimit: \"daily\";r=900, \"burst\";r=99",
                900, 86400);
}

static void rl27(void **state)
{
    (void)state;
    assert_told("X-RateLimit-Remaining: 3\r\nX-RateLimit-Reset: 1767700860", 3, 60);
    assert_told("X-RateLimit-Remaining: 3\r\nX-RateLimit-Reset: 1000000000", 3, 1000000000);
    assert_told("X-RateLimit-Remaining: 3\r\nX-RateLimit-Reset: 1767700799", NOTHING,
                0); /* has passed */
}

static void rl29(void **state)
{
    (void)state;
    assert_told("RateLimit: \"p\";r=0;t=36000", 0, 36000); /* the quota caps what it waits */
}

static void rl30(void **state)
{
    (void)state;
    assert_told("RateLimit: \"p\";r=10000;t=10\r\nRateLimit-Policy: \"p\";q=10000;w=1000", 100, 10);
    assert_told("RateLimit: \"p\";r=5;t=10\r\nRateLimit-Policy: \"p\";q=1;w=1000", 1,
                10); /* never none at all */
}

#define ROW(function, text)                                                                        \
    {                                                                                              \
        text, function, NULL, NULL, NULL                                                           \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(rl01, "RL01 a list with one limit"),
        ROW(rl02, "RL02 a name may be a token"),
        ROW(rl04, "RL04 two limits, on one line or on two"),
        ROW(rl05, "RL05 broken syntax ignores the field"),
        ROW(rl07, "RL07 a negative number ignores the item"),
        ROW(rl08, "RL08 what is no integer ignores the item"),
        ROW(rl10, "RL10 without r there is nothing to keep to"),
        ROW(rl16, "RL16 an inner list is ignored"),
        ROW(rl17, "RL17 an empty field says nothing"),
        ROW(rl19_rl20, "RL19 RL20 a policy needs a quota and a window"),
        ROW(rl21, "RL21 the dictionary of draft 07"),
        ROW(rl22, "RL22 the pair of fields"),
        ROW(rl26, "RL26 two policies"),
        ROW(rl27, "RL27 a reset above 10^9 is a point in time"),
        ROW(rl29, "RL29 nothing left for long"),
        ROW(rl30, "RL30 the policy's pace, not the rest's"),
    };
    return cmocka_run_group_tests_name("proxy/limits", tests, NULL, NULL);
}
