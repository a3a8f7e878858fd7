/* problem.c: every ending has an honest error: a status, a type, and a Proxy-Status of the
 * registered ones. */
#include "test.h"

#include "proxy/problem.h"

#include <belay/event.h>

/* RFC 9209 2.3. */
static const char *const registered[] = {"dns_timeout",
                                         "dns_error",
                                         "destination_not_found",
                                         "destination_unavailable",
                                         "destination_ip_prohibited",
                                         "destination_ip_unroutable",
                                         "connection_refused",
                                         "connection_terminated",
                                         "connection_timeout",
                                         "connection_read_timeout",
                                         "connection_write_timeout",
                                         "connection_limit_reached",
                                         "tls_protocol_error",
                                         "tls_certificate_error",
                                         "tls_alert_received",
                                         "http_request_error",
                                         "http_request_denied",
                                         "http_response_incomplete",
                                         "http_response_header_section_size",
                                         "http_response_header_size",
                                         "http_response_body_size",
                                         "http_response_trailer_section_size",
                                         "http_response_trailer_size",
                                         "http_response_transfer_coding",
                                         "http_response_content_coding",
                                         "http_response_timeout",
                                         "http_upgrade_failed",
                                         "http_protocol_error",
                                         "proxy_internal_response",
                                         "proxy_internal_error",
                                         "proxy_configuration_error",
                                         "proxy_loop_detected"};

static void assert_whole(const struct problem *problem)
{
    char out[PROBLEM_BYTES_MAX], status[PROBLEM_PROXY_STATUS_BYTES_MAX];
    char id[BELAY_OPERATION_ID_MAX];
    memset(id, 'i', sizeof id);
    assert_true(problem->status >= 400 && problem->status < 600);
    assert_non_null(problem->word);
    assert_non_null(problem->title);
    bool known = false;
    for (size_t i = 0; i < sizeof registered / sizeof registered[0]; i++) {
        known |= strcmp(registered[i], problem->proxy_error) == 0;
    }
    if (!known) fail_msg("%s", problem->proxy_error);
    size_t length = problem_write(problem, belay_slice(id, sizeof id), out);
    assert_true(length < PROBLEM_BYTES_MAX - 1);
    assert_memory_equal(out + length - 2, "}\n", 2);
    length = problem_write_proxy_status(problem, status);
    assert_true(length < PROBLEM_PROXY_STATUS_BYTES_MAX);
}

static void every_terminal_reason(void **state)
{
    (void)state;
    for (int terminal = 0; terminal <= BELAY_TERMINAL_COUNT; terminal++) {
        struct problem problem = problem_of_terminal((enum belay_terminal)terminal);
        assert_whole(&problem);
    }
    assert_int_equal(problem_of_terminal(BELAY_TERMINAL_DEADLINE_EXCEEDED).status, 504);
    for (int terminal = BELAY_TERMINAL_BREAKER_OPEN; terminal <= BELAY_TERMINAL_NOT_BEFORE;
         terminal++) {
        struct problem problem = problem_of_terminal((enum belay_terminal)terminal);
        assert_int_equal(problem.status, 503);
        assert_true(problem.retryable);
    }
}

static void every_class_in_every_phase_after_every_decision(void **state)
{
    (void)state;
    for (int error = BELAY_ERROR_DNS; error < BELAY_ERROR_COUNT; error++) {
        for (int phase = 0; phase < BELAY_PHASE_COUNT; phase++) {
            for (int decision = 0; decision < BELAY_DECISION_COUNT; decision++) {
                struct belay_outcome outcome = {.error = (enum belay_error_class)error,
                                                .phase = (enum belay_phase)phase};
                struct problem problem = problem_of_error((enum belay_decision)decision, &outcome);
                assert_whole(&problem);
                bool late = error == BELAY_ERROR_TIMEOUT || error == BELAY_ERROR_CANCELLED ||
                            decision == BELAY_DECISION_CHECK_STATE ||
                            decision == BELAY_DECISION_DEADLINE_EXCEEDED;
                assert_int_equal(problem.status, late ? 504 : 502);
                if (decision == BELAY_DECISION_CHECK_STATE) {
                    assert_string_equal(problem.word, "outcome-unknown");
                    assert_false(problem.retryable);
                }
            }
        }
    }
}

static void the_error_says_where_it_struck(void **state)
{
    (void)state;
    static const struct {
        enum belay_error_class error;
        enum belay_phase phase;
        const char *proxy_error;
    } rows[] = {
        {BELAY_ERROR_TIMEOUT, BELAY_PHASE_DNS, "dns_timeout"},
        {BELAY_ERROR_TIMEOUT, BELAY_PHASE_CONNECT, "connection_timeout"},
        {BELAY_ERROR_TIMEOUT, BELAY_PHASE_SEND, "connection_write_timeout"},
        {BELAY_ERROR_TIMEOUT, BELAY_PHASE_HEADERS, "http_response_timeout"},
        {BELAY_ERROR_DNS, BELAY_PHASE_DNS, "dns_error"},
        {BELAY_ERROR_REFUSED, BELAY_PHASE_CONNECT, "connection_refused"},
        {BELAY_ERROR_RESET, BELAY_PHASE_HEADERS, "connection_terminated"},
        {BELAY_ERROR_CLOSED, BELAY_PHASE_BODY, "http_response_incomplete"},
        {BELAY_ERROR_TOO_LARGE, BELAY_PHASE_HEADERS, "http_response_header_section_size"},
        {BELAY_ERROR_PROTOCOL, BELAY_PHASE_HEADERS, "http_protocol_error"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct belay_outcome outcome = {.error = rows[i].error, .phase = rows[i].phase};
        assert_string_equal(problem_of_error(BELAY_DECISION_STOP, &outcome).proxy_error,
                            rows[i].proxy_error);
    }
}

static void problems_of_requests_and_statuses(void **state)
{
    (void)state;
    static const int statuses[] = {400, 404, 405};
    for (size_t i = 0; i < 3; i++) {
        struct problem problem = problem_of_request(statuses[i]);
        assert_int_equal(problem.status, statuses[i]);
        assert_whole(&problem);
    }
    struct problem problem = problem_of_status(429);
    assert_int_equal(problem.status, 429);
    assert_whole(&problem);
}

static void retry_after_is_whole_seconds_rounded_up(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        uint64_t s;
    } rows[] = {{0, 1},    {1, 1},      {999, 1},    {1000, 1},
                {1001, 2}, {59999, 60}, {60000, 60}, {INT64_MAX, INT64_MAX / 1000 + 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct problem problem = {0};
        problem_set_retry_after(&problem, rows[i].ms);
        assert_true(problem.has_retry_after);
        assert_int_equal(problem.retry_after_s, rows[i].s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_terminal_reason),
        cmocka_unit_test(every_class_in_every_phase_after_every_decision),
        cmocka_unit_test(the_error_says_where_it_struck),
        cmocka_unit_test(problems_of_requests_and_statuses),
        cmocka_unit_test(retry_after_is_whole_seconds_rounded_up),
    };
    return cmocka_run_group_tests_name("proxy/problem", tests, NULL, NULL);
}
