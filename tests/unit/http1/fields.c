/* fields.c: names get their ids in any case and no other name does; Connection's limits. */
#include "base/rng.h"
#include "support.h"

static const struct {
    const char *name;
    enum http1_field_id id;
    bool hop_by_hop;
} known[] = {
    {"Host", HTTP1_HOST, false},
    {"Connection", HTTP1_CONNECTION, true},
    {"Content-Length", HTTP1_CONTENT_LENGTH, false},
    {"Content-Type", HTTP1_CONTENT_TYPE, false},
    {"Transfer-Encoding", HTTP1_TRANSFER_ENCODING, true},
    {"TE", HTTP1_TE, true},
    {"Trailer", HTTP1_TRAILER, true},
    {"Upgrade", HTTP1_UPGRADE, true},
    {"Keep-Alive", HTTP1_KEEP_ALIVE, true},
    {"Proxy-Connection", HTTP1_PROXY_CONNECTION, true},
    {"HTTP2-Settings", HTTP1_HTTP2_SETTINGS, true},
    {"Proxy-Authenticate", HTTP1_PROXY_AUTHENTICATE, true},
    {"Proxy-Authorization", HTTP1_PROXY_AUTHORIZATION, true},
    {"Expect", HTTP1_EXPECT, false},
    {"Date", HTTP1_DATE, false},
    {"Authorization", HTTP1_AUTHORIZATION, false},
    {"Retry-After", HTTP1_RETRY_AFTER, false},
    {"Idempotency-Key", HTTP1_IDEMPOTENCY_KEY, false},
    {"traceparent", HTTP1_TRACEPARENT, false},
    {"tracestate", HTTP1_TRACESTATE, false},
    {"Via", HTTP1_VIA, false},
    {"grpc-timeout", HTTP1_GRPC_TIMEOUT, false},
    {"Connect-Timeout-Ms", HTTP1_CONNECT_TIMEOUT_MS, false},
    {"X-Envoy-Expected-Rq-Timeout-Ms", HTTP1_ENVOY_EXPECTED_RQ_TIMEOUT_MS, false},
    {"X-Request-Timeout-Ms", HTTP1_REQUEST_TIMEOUT_MS, false},
    {"X-Operation-Id", HTTP1_OPERATION_ID, false},
    {"X-Request-Id", HTTP1_REQUEST_ID, false},
    {"X-Retry-Owner", HTTP1_RETRY_OWNER, false},
    {"X-Request-Attempt", HTTP1_REQUEST_ATTEMPT, false},
    {"grpc-previous-rpc-attempts", HTTP1_GRPC_PREVIOUS_RPC_ATTEMPTS, false},
    {"X-Envoy-Attempt-Count", HTTP1_ENVOY_ATTEMPT_COUNT, false},
};

enum { KNOWN_COUNT = sizeof known / sizeof *known };

/* The field as the parser sees it in a response, where any value goes but for the framing fields'.
 */
static struct http1_field seen_as(struct belay_slice name, const char *value)
{
    char text[512];
    int length = snprintf(text, sizeof text, "HTTP/1.1 204 X\r\n%.*s:%s\r\n\r\n", (int)name.length,
                          name.data, value);
    struct parsed parsed = response(belay_slice(text, (size_t)length));
    assert_accepted(parsed);
    return parsed.head.fields[0];
}

static void test_every_id_has_a_name(void **state)
{
    (void)state;
    assert_int_equal(KNOWN_COUNT, HTTP1_FIELD_COUNT - 1);
    for (size_t i = 0; i < KNOWN_COUNT; i++) assert_int_equal(known[i].id, i + 1);
}

static void test_names_in_any_case(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 5);
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        const char *value = known[i].id == HTTP1_TRANSFER_ENCODING ? "chunked" : "1";
        for (int round = 0; round < 20; round++) {
            char name[64];
            size_t length = strlen(known[i].name);
            for (size_t k = 0; k < length; k++) {
                char c = known[i].name[k];
                bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
                name[k] = letter && rng_next(&rng) & 1 ? (char)(c ^ 0x20) : c;
            }
            struct http1_field field = seen_as(belay_slice(name, length), value);
            assert_int_equal(field.id, known[i].id);
            assert_int_equal(field.hop_by_hop, known[i].hop_by_hop);
        }
    }
}

/* One byte changed, left out or added makes an unknown name. */
static void test_near_misses_are_other(void **state)
{
    (void)state;
    static const char others[] = "!#$%&'*+-.^_`|~0aAzZ";
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        size_t length = strlen(known[i].name);
        for (size_t k = 0; k < length; k++) {
            for (const char *c = others; *c; c++) {
                char name[64];
                memcpy(name, known[i].name, length);
                if ((name[k] | 0x20) == (*c | 0x20) && *c >= 'A') continue;
                if (name[k] == *c) continue;
                name[k] = *c;
                assert_int_equal(seen_as(belay_slice(name, length), "1").id, HTTP1_OTHER);
            }
        }
        char longer[64];
        snprintf(longer, sizeof longer, "%sx", known[i].name);
        assert_int_equal(seen_as(belay_slice(longer, length + 1), "1").id, HTTP1_OTHER);
        assert_int_equal(seen_as(belay_slice(known[i].name, length - 1), "1").id, HTTP1_OTHER);
    }
}

static void test_find_gives_the_first(void **state)
{
    (void)state;
    struct parsed parsed =
        response(TEXT("HTTP/1.1 200 OK\r\nVia: a\r\nX: y\r\nvia: b\r\nDate: c\r\n\r\n"));
    assert_text(http1_find(&parsed.head, HTTP1_VIA)->value, "a");
    assert_text(http1_find(&parsed.head, HTTP1_DATE)->value, "c");
    assert_null(http1_find(&parsed.head, HTTP1_HOST));
    assert_true(parsed.head.repeated_ids & UINT64_C(1) << HTTP1_VIA);
    assert_false(parsed.head.repeated_ids & UINT64_C(1) << HTTP1_DATE);
}

static void test_values_lose_their_white_space(void **state)
{
    (void)state;
    static const char *const lines[] = {"X:a b", "X: a b", "X:\ta b\t", "X:  \t a b \t ", "X:a b "};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct parsed parsed = request_with(belay_slice_z(lines[i]));
        assert_text(parsed.head.fields[1].value, "a b");
    }
    assert_text(request_with(TEXT("X:")).head.fields[1].value, "");
    assert_text(request_with(TEXT("X: \t \t")).head.fields[1].value, "");
}

static void test_connection_names_at_most_64_options(void **state)
{
    (void)state;
    char line[1024] = "Connection: a";
    for (int i = 1; i < 64; i++) strcat(line, ",a");
    assert_accepted(request_with(belay_slice_z(line)));
    assert_accepted(response_with(belay_slice_z(line)));
    strcat(line, ",a");
    assert_refused(request_with(belay_slice_z(line)), 400);
    assert_refused(response_with(belay_slice_z(line)), 502);
    strcpy(line,
           "Connection: "
           ",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,, close");
    assert_false(request_with(belay_slice_z(line)).head.keep_alive);
}

/* No option, known or not, may take Host or the framing away, in either direction. */
static void test_no_option_changes_the_framing(void **state)
{
    (void)state;
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        char lines[256];
        snprintf(lines, sizeof lines, "Connection: %s\r\nContent-Length: 3\r\nExpect: 100-continue",
                 known[i].name);
        struct parsed parsed = request_with(belay_slice_z(lines));
        assert_accepted(parsed);
        assert_int_equal(parsed.head.framing, HTTP1_LENGTH);
        assert_text(parsed.head.authority, "a");
        assert_non_null(http1_find(&parsed.head, HTTP1_HOST));
        assert_false(http1_find(&parsed.head, HTTP1_CONTENT_LENGTH)->hop_by_hop);
        parsed = response_with(belay_slice_z(lines));
        assert_int_equal(parsed.head.framing, HTTP1_LENGTH);
        snprintf(lines, sizeof lines, "Connection: %s\r\nTransfer-Encoding: chunked",
                 known[i].name);
        assert_int_equal(request_with(belay_slice_z(lines)).head.framing, HTTP1_CHUNKED);
        assert_int_equal(response_with(belay_slice_z(lines)).head.framing, HTTP1_CHUNKED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_id_has_a_name),
        cmocka_unit_test(test_names_in_any_case),
        cmocka_unit_test(test_near_misses_are_other),
        cmocka_unit_test(test_find_gives_the_first),
        cmocka_unit_test(test_values_lose_their_white_space),
        cmocka_unit_test(test_connection_names_at_most_64_options),
        cmocka_unit_test(test_no_option_changes_the_framing),
    };
    return cmocka_run_group_tests_name("http1/fields", tests, NULL, NULL);
}
