/* code.c: every error of the libcurl at hand has its meaning. */
#include "curl/run.h"

#include "test.h"

static void test_every_code_is_listed(void **state)
{
    (void)state;
    for (int code = CURLE_OK; code < CURL_LAST; code++) {
        if (!belay__curl_code_listed((CURLcode)code))
            fail_msg("%d (%s) is not in the table", code, curl_easy_strerror((CURLcode)code));
    }
}

/* An error has a class, and what proves the request unsent strikes before it could be sent. */
static void test_every_meaning_is_consistent(void **state)
{
    (void)state;
    for (int code = CURLE_OK; code < CURL_LAST; code++) {
        struct belay_outcome outcome = belay_curl_code_outcome((CURLcode)code);
        bool answer = code == CURLE_OK || code == CURLE_HTTP_RETURNED_ERROR;
        assert_int_equal(outcome.error == BELAY_ERROR_NONE, answer);
        assert_non_null(belay_error_class_name(outcome.error));
        assert_non_null(belay_phase_name(outcome.phase));
        assert_int_not_equal(outcome.sent, BELAY_ANSWERED);
        if (outcome.sent == BELAY_UNSENT)
            assert_in_range(outcome.phase, BELAY_PHASE_DNS, BELAY_PHASE_TLS);
        if (outcome.error == BELAY_ERROR_DNS || outcome.error == BELAY_ERROR_REFUSED)
            assert_in_range(outcome.phase, BELAY_PHASE_NONE, BELAY_PHASE_CONNECT);
        assert_int_equal(outcome.status, 0);
        assert_false(outcome.answer_started || outcome.stale || outcome.has_retry_after);
    }
}

static void test_unlisted_codes_have_the_default(void **state)
{
    (void)state;
    static const unsigned codes[] = {102, 127, 128, 129, 1000, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct belay_outcome outcome = belay_curl_code_outcome((CURLcode)codes[i]);
        assert_false(belay__curl_code_listed((CURLcode)codes[i]));
        assert_int_equal(outcome.error, BELAY_ERROR_CLOSED);
        assert_int_equal(outcome.phase, BELAY_PHASE_NONE);
        assert_int_equal(outcome.sent, BELAY_SENT);
    }
}

struct row {
    CURLcode code;
    enum belay_error_class error;
    enum belay_phase phase;
    enum belay_sent sent;
};

static const struct row ROWS[] = {
    {CURLE_URL_MALFORMAT, BELAY_ERROR_CANCELLED, BELAY_PHASE_DNS, BELAY_UNSENT},
    {CURLE_COULDNT_RESOLVE_PROXY, BELAY_ERROR_DNS, BELAY_PHASE_DNS, BELAY_UNSENT},
    {CURLE_COULDNT_RESOLVE_HOST, BELAY_ERROR_DNS, BELAY_PHASE_DNS, BELAY_UNSENT},
    {CURLE_COULDNT_CONNECT, BELAY_ERROR_REFUSED, BELAY_PHASE_CONNECT, BELAY_UNSENT},
    {CURLE_WEIRD_SERVER_REPLY, BELAY_ERROR_PROTOCOL, BELAY_PHASE_HEADERS, BELAY_SENT},
    {CURLE_PARTIAL_FILE, BELAY_ERROR_CLOSED, BELAY_PHASE_BODY, BELAY_SENT},
    {CURLE_WRITE_ERROR, BELAY_ERROR_CANCELLED, BELAY_PHASE_NONE, BELAY_SENT},
    {CURLE_READ_ERROR, BELAY_ERROR_CANCELLED, BELAY_PHASE_SEND, BELAY_SENT},
    {CURLE_OUT_OF_MEMORY, BELAY_ERROR_CANCELLED, BELAY_PHASE_NONE, BELAY_SENT},
    {CURLE_OPERATION_TIMEDOUT, BELAY_ERROR_TIMEOUT, BELAY_PHASE_NONE, BELAY_SENT},
    {CURLE_SSL_CONNECT_ERROR, BELAY_ERROR_TLS, BELAY_PHASE_TLS, BELAY_UNSENT},
    {CURLE_PEER_FAILED_VERIFICATION, BELAY_ERROR_TLS, BELAY_PHASE_TLS, BELAY_UNSENT},
    {CURLE_SSL_CLIENTCERT, BELAY_ERROR_TLS, BELAY_PHASE_TLS, BELAY_SENT},
    {CURLE_ABORTED_BY_CALLBACK, BELAY_ERROR_CANCELLED, BELAY_PHASE_NONE, BELAY_SENT},
    {CURLE_GOT_NOTHING, BELAY_ERROR_CLOSED, BELAY_PHASE_HEADERS, BELAY_SENT},
    {CURLE_SEND_ERROR, BELAY_ERROR_RESET, BELAY_PHASE_SEND, BELAY_SENT},
    {CURLE_RECV_ERROR, BELAY_ERROR_RESET, BELAY_PHASE_NONE, BELAY_SENT},
    {CURLE_BAD_CONTENT_ENCODING, BELAY_ERROR_PROTOCOL, BELAY_PHASE_BODY, BELAY_SENT},
    {CURLE_FILESIZE_EXCEEDED, BELAY_ERROR_TOO_LARGE, BELAY_PHASE_BODY, BELAY_SENT},
    {CURLE_HTTP2, BELAY_ERROR_PROTOCOL, BELAY_PHASE_NONE, BELAY_SENT},
    {CURLE_HTTP2_STREAM, BELAY_ERROR_RESET, BELAY_PHASE_NONE, BELAY_SENT},
};

static void test_the_codes_that_matter(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        struct belay_outcome outcome = belay_curl_code_outcome(ROWS[i].code);
        assert_string_equal(belay_error_class_name(outcome.error),
                            belay_error_class_name(ROWS[i].error));
        assert_string_equal(belay_phase_name(outcome.phase), belay_phase_name(ROWS[i].phase));
        assert_string_equal(belay_sent_name(outcome.sent), belay_sent_name(ROWS[i].sent));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_is_listed),
        cmocka_unit_test(test_every_meaning_is_consistent),
        cmocka_unit_test(test_unlisted_codes_have_the_default),
        cmocka_unit_test(test_the_codes_that_matter),
    };
    return cmocka_run_group_tests_name("curl/code", tests, NULL, NULL);
}
