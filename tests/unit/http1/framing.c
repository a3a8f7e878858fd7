/* framing.c: where requests and answers end, and when a client awaits 100 (Continue). */
#include "support.h"

static void test_requests(void **state)
{
    (void)state;
    struct parsed parsed = request_with(TEXT("X: y"));
    assert_int_equal(parsed.head.framing, HTTP1_NO_BODY);
    assert_false(parsed.head.has_content_length);
    parsed = request_with(TEXT("Content-Length: 0"));
    assert_int_equal(parsed.head.framing, HTTP1_LENGTH);
    assert_true(parsed.head.has_content_length);
    assert_true(parsed.head.content_length == 0);
    parsed = request_with(TEXT("Content-Length: 12"));
    assert_int_equal(parsed.head.framing, HTTP1_LENGTH);
    assert_true(parsed.head.content_length == 12);
    parsed = request_with(TEXT("Transfer-Encoding: chunked"));
    assert_int_equal(parsed.head.framing, HTTP1_CHUNKED);
    assert_false(parsed.head.has_content_length);
    parsed = request(TEXT("GET / HTTP/1.0\r\nContent-Length: 3\r\n\r\n"));
    assert_int_equal(parsed.head.framing, HTTP1_LENGTH);
}

static void test_answers(void **state)
{
    (void)state;
    struct parsed parsed = response_with(TEXT("X: y"));
    assert_int_equal(parsed.head.framing, HTTP1_UNTIL_CLOSE);
    assert_false(parsed.head.keep_alive);
    parsed = response_with(TEXT("Connection: keep-alive"));
    assert_int_equal(parsed.head.framing, HTTP1_UNTIL_CLOSE);
    assert_false(parsed.head.keep_alive);
    parsed = response_with(TEXT("Content-Length: 7"));
    assert_int_equal(parsed.head.framing, HTTP1_LENGTH);
    assert_true(parsed.head.keep_alive);
    parsed = response(TEXT("HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\n"));
    assert_int_equal(parsed.head.framing, HTTP1_LENGTH);
    assert_false(parsed.head.keep_alive);
    parsed =
        response(TEXT("HTTP/1.0 200 OK\r\nContent-Length: 7\r\nConnection: keep-alive\r\n\r\n"));
    assert_true(parsed.head.keep_alive);
    parsed = response(TEXT("HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n"));
    assert_int_equal(parsed.head.framing, HTTP1_LENGTH);
}

/* Every status to every method. */
static void test_who_has_no_body(void **state)
{
    (void)state;
    for (int status = 100; status < 600; status++) {
        for (int method = BELAY_METHOD_OTHER; method < BELAY_METHOD_COUNT; method++) {
            char text[128];
            int length =
                snprintf(text, sizeof text, "HTTP/1.1 %d X\r\nContent-Length: 4\r\n\r\n", status);
            struct http1_scan scan = {0};
            struct parsed parsed;
            struct how how = responses_to((enum belay_method)method);
            assert_int_equal(parse_some(&how, &scan, belay_slice(text, (size_t)length), &parsed),
                             HTTP1_DONE);
            bool none = status < 200 || status == 204 || status == 304 ||
                        method == BELAY_METHOD_HEAD ||
                        (method == BELAY_METHOD_CONNECT && status < 300);
            assert_int_equal(parsed.head.framing, none ? HTTP1_NO_BODY : HTTP1_LENGTH);
            bool declared = status >= 200 && status != 204;
            assert_int_equal(parsed.head.has_content_length, declared);
            assert_true(parsed.head.content_length == (declared ? 4 : 0));
            assert_true(parsed.head.keep_alive);
        }
    }
}

static void test_a_bodiless_answer_has_to_be_well_formed_too(void **state)
{
    (void)state;
    assert_refused(
        response_to(BELAY_METHOD_HEAD, TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\n\r\n")),
        502);
    assert_refused(response(TEXT("HTTP/1.1 204 No Content\r\nContent-Length: x\r\n\r\n")), 502);
    struct parsed parsed =
        response(TEXT("HTTP/1.1 304 X\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"));
    assert_int_equal(parsed.head.framing, HTTP1_NO_BODY);
    assert_true(parsed.head.length_ignored);
    assert_false(parsed.head.keep_alive);
}

static void test_expect(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool expects;
    } cases[] = {
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n", true},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nexpect:100-CONTINUE \r\n\r\n",
         true},
        {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n", false},
        {"POST / HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n", false},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100\r\n\r\n", false},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: other\r\n\r\n", false},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parsed parsed = request(belay_slice_z(cases[i].text));
        assert_accepted(parsed);
        assert_int_equal(parsed.head.expect_continue, cases[i].expects);
    }
}

static void test_faults_say_where(void **state)
{
    (void)state;
    struct parsed parsed = request(TEXT("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"));
    assert_int_equal(parsed.error.offset,
                     sizeof "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: " - 1);
    assert_string_equal(parsed.error.rule, "invalid Content-Length");
    parsed = request(TEXT(
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"));
    assert_string_equal(parsed.error.rule, "both Content-Length and Transfer-Encoding");
    parsed = request(TEXT("GET / HTTP/1.1\r\nHost: a\r\nX: a\x01\r\n\r\n"));
    assert_int_equal(parsed.error.offset, sizeof "GET / HTTP/1.1\r\nHost: a\r\nX: a" - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_who_has_no_body),
        cmocka_unit_test(test_a_bodiless_answer_has_to_be_well_formed_too),
        cmocka_unit_test(test_expect),
        cmocka_unit_test(test_faults_say_where),
    };
    return cmocka_run_group_tests_name("http1/framing", tests, NULL, NULL);
}
