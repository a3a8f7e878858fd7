/* call_options.c: from a command line to a request and a policy. */
#include "app/call_options.h"

#include "../test.h"
#include "base/check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 24 };

static char *owned[WORDS_MAX];
static struct call_options options;

/* The options of `belay call WORDS... http://host/`. */
static bool reads(const char *const *words)
{
    int count = 0;
    call_options_deinit(&options);
    for (int i = 0; i < WORDS_MAX; i++) free(owned[i]);
    memset(owned, 0, sizeof owned);
    owned[count++] = strdup("call");
    for (; *words; words++) owned[count++] = strdup(*words);
    owned[count++] = strdup("http://User:pw@Host.example/a?b");
    CHECK(count < WORDS_MAX);
    return call_options_read(&options, count, owned);
}
#define READS(...) reads((const char *const[]){__VA_ARGS__, NULL})

static int64_t ms(struct belay_span span)
{
    return span.ns / BELAY_NS_PER_MS;
}

static void test_short_options_stand_together(void **state)
{
    (void)state;
    assert_true(READS("-sSifXPUT", "-dx=1", "-m2"));
    assert_true(options.silent && options.show_error && options.include && options.fail);
    assert_string_equal(options.method, "PUT");
    assert_memory_equal(buf_slice(&options.body).data, "x=1", 3);
    assert_int_equal(ms(options.policy.deadline_for), 2000);
    assert_true(READS("-o", "-sS", "-d", "-I"));
    assert_string_equal(options.output, "-sS"); /* the value of another option */
    assert_false(options.silent || options.head);
    assert_false(READS("-sZ"));
    assert_false(READS("-XPUT", "-XPOST"));
}

static void test_the_target_is_host_and_port_alone(void **state)
{
    (void)state;
    assert_true(READS("-s"));
    assert_string_equal(options.target, "host.example:80");
    char *https[] = {(char[]){"call"}, (char[]){"https://[::1]/x"}, NULL};
    assert_true(call_options_read(&options, 2, https));
    assert_string_equal(options.target, "[::1]:443");
    char *bare[] = {(char[]){"call"}, (char[]){"localhost:9000/x"}, NULL};
    assert_true(call_options_read(&options, 2, bare));
    assert_string_equal(options.target, "localhost:9000");
    char *dashes[] = {(char[]){"call"}, (char[]){"-s"}, (char[]){"--"}, (char[]){"http://a/"},
                      NULL};
    assert_true(call_options_read(&options, 4, dashes));
    assert_string_equal(options.target, "a:80");
}

static void test_times_have_units_or_are_seconds_as_in_curl(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } times[] = {{"2", 2000}, {"0.25", 250}, {"0.0001", 1}, {"250ms", 250}, {"1m", 60000}};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        assert_true(READS("-m", times[i].text, "--connect-timeout", times[i].text));
        assert_int_equal(ms(options.policy.deadline_for), times[i].ms);
        assert_int_equal(ms(options.policy.connect_timeout_for), times[i].ms);
        assert_int_equal(ms(options.policy.tls_timeout_for), times[i].ms);
        assert_int_equal(ms(options.connect_for), times[i].ms);
    }
    assert_false(READS("--deadline", "2"));
    assert_false(READS("-m", "."));
    assert_false(READS("-m", "-1"));
    assert_false(READS("-m", "99999999"));
    assert_false(READS("-m", ""));
}

static void test_a_backoff_is_a_kind_and_two_times(void **state)
{
    (void)state;
    assert_true(READS("--backoff", "full,100ms,2s"));
    assert_int_equal(options.policy.backoff.kind, BELAY_BACKOFF_FULL);
    assert_int_equal(ms(options.policy.backoff.base), 100);
    assert_int_equal(ms(options.policy.backoff.max), 2000);
    assert_true(READS("--backoff", "10s"));
    assert_int_equal(ms(options.policy.backoff.base), 10000);
    assert_int_equal(ms(options.policy.backoff.max), 10000);
    assert_true(READS("--backoff", "equal"));
    assert_int_equal(options.policy.backoff.kind, BELAY_BACKOFF_EQUAL);
    assert_false(READS("--backoff", "2s,1s"));
    assert_false(READS("--backoff", "1s,full"));
    assert_false(READS("--backoff", "full,1s,,"));
}

static void test_any_option_of_a_policy_can_be_set(void **state)
{
    (void)state;
    assert_true(READS("--set", "quota.rate=5/s", "--set", "quota.burst=2"));
    assert_true(options.policy.quota.enabled);
    assert_int_equal(ms(options.policy.quota.per_call), 200);
    assert_true(READS("--set", "breaker=off", "--set", "hold=off"));
    assert_false(options.policy.breaker.enabled);
    assert_int_equal(options.policy.hold.max.ns, 0);
    assert_true(READS("--retry-on", "dns,503"));
    assert_int_equal(options.policy.retry_on.errors, 1u << BELAY_ERROR_DNS);
    assert_false(READS("--retry-on", "dns,"));
    assert_false(READS("--set", "hold=on"));
    assert_false(READS("--set", "=1"));
    assert_false(READS("--set", "keep_alive.max=1"));
    assert_false(READS("--set", "keep_alive=off"));
    assert_false(READS("--set", "bulkhead.queue=1"));
    assert_true(READS("--set", "bulkhead.max=1"));
}

static void test_what_the_request_is(void **state)
{
    (void)state;
    assert_true(READS("--effect", "write"));
    assert_true(options.write && !options.idempotent);
    assert_true(READS("--effect", "read", "-d", "query"));
    assert_true(options.idempotent && !options.write);
    assert_true(READS("--effect", "read"));
    assert_false(options.idempotent || options.write);
    assert_true(READS("--idempotency-key", "order-7", "-XPOST"));
    assert_true(options.keyed);
    assert_string_equal(options.headers->data, "Idempotency-Key: order-7");
    assert_false(READS("--idempotency-key", ""));
    assert_false(READS("-X", "GET /"));
    assert_false(READS("-H", ": x"));
    assert_true(READS("-H", "X-Empty;", "-H", "Accept:"));
}

static void body_is(const char *expected)
{
    struct belay_slice body = buf_slice(&options.body);
    assert_int_equal(body.length, strlen(expected));
    assert_memory_equal(body.data, expected, body.length);
}

static void test_data_of_all_kinds_is_joined_in_its_order(void **state)
{
    (void)state;
    assert_true(READS("--data-raw", "@a=1", "-d", "b=2", "--data-binary", "c=3", "--data", "d"));
    body_is("@a=1&b=2&c=3&d");
    assert_true(READS("--data-binary", "a", "--data-ascii", "b", "--data-raw", ""));
    body_is("a&b&");
}

static void test_a_head_has_no_data(void **state)
{
    (void)state;
    assert_false(READS("-I", "-d", "x"));
    assert_false(READS("-X", "HEAD", "-d", "x"));
    assert_false(READS("-X", "HEAD", "--data-raw", ""));
    assert_true(READS("-X", "HEAD"));
}

static void test_a_header_file_with_a_nul_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bytes;
        bool good;
    } rows[] = {{"A: 1\nB: 2\n", 10, true}, {"", 0, true},          {"A: 1\n\0B: 2\n", 11, false},
                {"A: 1\0", 5, false},       {"\0A: 1\n", 6, false}, {"A: 1\nB: \0002", 10, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[] = "/tmp/belay_headers_XXXXXX", at[64];
        int fd = mkstemp(name);
        assert_int_equal(write(fd, rows[i].text, rows[i].bytes), rows[i].bytes);
        (void)close(fd);
        (void)snprintf(at, sizeof at, "@%s", name);
        assert_int_equal(READS("-H", at), rows[i].good);
        (void)unlink(name);
    }
}

static int clean(void **state)
{
    (void)state;
    call_options_deinit(&options);
    for (int i = 0; i < WORDS_MAX; i++) free(owned[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_options_stand_together),
        cmocka_unit_test(test_the_target_is_host_and_port_alone),
        cmocka_unit_test(test_times_have_units_or_are_seconds_as_in_curl),
        cmocka_unit_test(test_a_backoff_is_a_kind_and_two_times),
        cmocka_unit_test(test_any_option_of_a_policy_can_be_set),
        cmocka_unit_test(test_what_the_request_is),
        cmocka_unit_test(test_data_of_all_kinds_is_joined_in_its_order),
        cmocka_unit_test(test_a_head_has_no_data),
        cmocka_unit_test(test_a_header_file_with_a_nul_is_refused),
    };
    return cmocka_run_group_tests_name("call_options", tests, NULL, clean);
}
