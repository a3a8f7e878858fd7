/* facts.c: what a request's fields say, under the default names and under others. */
#include "test.h"

#include "base/check.h"
#include "proxy/facts.h"

#include <stdio.h>

static struct conf *read_conf(const char *options)
{
    char text[1024];
    struct conf *conf = NULL;
    (void)snprintf(text, sizeof text,
                   "%stargets:\n  t:\n    addresses: [ 127.0.0.1:1 ]\n"
                   "listeners:\n  - listen: 127.0.0.1:0\n    kind: egress\n    target: t\n",
                   options);
    if (conf_parse("facts", belay_slice_z(text), stderr, &conf) != CONF_GOOD) fail_msg("%s", text);
    return conf;
}

/* Reads one request with these fields; its slices point into `bytes`. */
static struct facts read_fields(const struct conf *conf, const char *fields)
{
    static char bytes[4096];
    static struct http1_head head;
    struct facts facts;
    struct facts_names names;
    struct http1_scan scan = {0};
    struct http1_limits limits = http1_limits_default();
    struct http1_error error;
    size_t used;
    int length = snprintf(bytes, sizeof bytes, "GET / HTTP/1.1\r\nHost: h\r\n%s\r\n", fields);
    struct belay_slice all = belay_slice(bytes, (size_t)length);
    assert_int_equal(http1_parse_request(&scan, &limits, all, &head, &used, &error), HTTP1_DONE);
    facts_names_init(&names, conf);
    facts_read(&facts, &names, &head);
    return facts;
}

static void the_smallest_deadline_counts(void **state)
{
    (void)state;
    static const struct {
        const char *fields;
        int64_t ms; /* -1: none */
        uint32_t ignored;
    } rows[] = {
        {"", -1, 0},
        {"X-Request-Timeout-Ms: 500\r\n", 500, 0},
        {"x-request-timeout-ms: 500\r\nCONNECT-TIMEOUT-MS: 400\r\n", 400, 0},
        {"grpc-timeout: 2S\r\nx-envoy-expected-rq-timeout-ms: 3000\r\n", 2000, 0},
        {"grpc-timeout: 2\r\n", -1, 1},
        {"grpc-timeout: S\r\ngrpc-timeout: 1S\r\n", 1000, 1},
        {"connect-timeout-ms: 1e3\r\nX-Request-Timeout-Ms: \r\n", -1, 2},
        {"X-Request-Timeout-Ms: 0\r\n", 0, 0},
        {"X-Request-Timeout-Ms: 10\r\nconnect-timeout-ms: -10\r\n", -10, 0},
        {"Connection: X-Request-Timeout-Ms\r\nX-Request-Timeout-Ms: 10\r\n", -1,
         0}, /* meant for another hop */
    };
    struct conf *conf = read_conf("");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct facts facts = read_fields(conf, rows[i].fields);
        assert_int_equal(facts.has_deadline, rows[i].ms != -1);
        if (facts.has_deadline) assert_int_equal(facts.deadline.ns, rows[i].ms * BELAY_NS_PER_MS);
        assert_int_equal(facts.deadlines_ignored, rows[i].ignored);
    }
    conf_give(conf);
}

static void marks_of_another_level(void **state)
{
    (void)state;
    static const struct {
        const char *fields;
        bool owned;
    } rows[] = {
        {"", false},
        {"X-Retry-Owner: gateway\r\n", true},
        {"X-Retry-Owner:\r\n", true},
        {"grpc-previous-rpc-attempts: 0\r\n", false},
        {"grpc-previous-rpc-attempts: 1\r\n", true},
        {"x-envoy-attempt-count: 1\r\n", false},
        {"x-envoy-attempt-count: 2\r\n", true},
        {"x-envoy-attempt-count: -1\r\n", true},
        {"x-envoy-attempt-count: 1\r\nx-envoy-attempt-count: 3\r\n", true},
        {"X-Request-Attempt: 3\r\n", false}, /* not in the list */
    };
    struct conf *conf = read_conf("");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(read_fields(conf, rows[i].fields).owned, rows[i].owned);
    }
    conf_give(conf);
}

static void ids_keys_and_traces_count_when_given_once(void **state)
{
    (void)state;
    static const char trace[] =
        "traceparent: 00-0123456789abcdef0123456789abcdef-0123456789abcdef-01\r\n";
    char twice[256];
    struct conf *conf = read_conf("");
    (void)snprintf(twice, sizeof twice, "%s%s", trace, trace);
    assert_true(read_fields(conf, trace).has_trace);
    assert_int_equal(read_fields(conf, trace).trace_flags, 1);
    assert_false(read_fields(conf, twice).has_trace);
    assert_false(read_fields(conf, "traceparent: x\r\n").has_trace);
    assert_true(read_fields(conf, "Idempotency-Key: k\r\n").one_key);
    assert_false(read_fields(conf, "Idempotency-Key:\r\n").one_key);
    assert_false(read_fields(conf, "Idempotency-Key: k\r\nIdempotency-Key: k\r\n").one_key);
    assert_int_equal(read_fields(conf, "X-Operation-Id: op\r\n").operation_id.length, 2);
    assert_int_equal(
        read_fields(conf, "X-Operation-Id: op\r\nX-Operation-Id: op\r\n").operation_id.length, 0);
    assert_int_equal(read_fields(conf, "X-Operation-Id: o p\r\n").operation_id.length, 0);
    conf_give(conf);
}

static void names_are_the_configurations(void **state)
{
    (void)state;
    struct conf *conf =
        read_conf("headers:\n  deadline_in: [ X-Budget, grpc-timeout ]\n  deadline_out: X-Left\n"
                  "  retry_marks: [ X-Mine ]\n");
    assert_int_equal(read_fields(conf, "x-budget: 70\r\n").deadline.ns, 70 * BELAY_NS_PER_MS);
    assert_false(read_fields(conf, "X-Request-Timeout-Ms: 70\r\n").has_deadline);
    assert_true(read_fields(conf, "X-Mine: 1\r\n").owned);
    assert_false(read_fields(conf, "x-envoy-attempt-count: 9\r\n").owned);
    struct facts_names names;
    facts_names_init(&names, conf);
    struct http1_field field = {.name = belay_slice_z("x-LEFT")};
    assert_int_equal(facts_role(&names, &field), FACTS_DROP); /* only we write it */
    field.name = belay_slice_z("X-Lefty");
    assert_int_equal(facts_role(&names, &field), FACTS_PASS);
    field = (struct http1_field){.name = belay_slice_z("X-Retry-Owner"), .id = HTTP1_RETRY_OWNER};
    assert_int_equal(facts_role(&names, &field), FACTS_DROP); /* no mark, and still ours to write */
    conf_give(conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_deadline_counts),
        cmocka_unit_test(marks_of_another_level),
        cmocka_unit_test(ids_keys_and_traces_count_when_given_once),
        cmocka_unit_test(names_are_the_configurations),
    };
    return cmocka_run_group_tests_name("proxy/facts", tests, NULL, NULL);
}
