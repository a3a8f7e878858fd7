/* call_exit.c: every way to end has a status of its own, and a line that says it. */
#include "app/call_exit.h"

#include "../test.h"
#include "app/call_say.h"

#include <stdio.h>
#include <string.h>

static struct belay_curl_result refused(enum belay_terminal terminal)
{
    return (struct belay_curl_result){.refused = true, .terminal = terminal};
}

static struct belay_curl_result decided(enum belay_decision decision, enum belay_reason reason)
{
    return (struct belay_curl_result){
        .decision = decision,
        .reason = reason,
        .outcome = {.status = 503},
        .ending = {.attempts = 2, .elapsed = {620 * BELAY_NS_PER_MS}}};
}

static void test_each_terminal_reason_has_a_status_with_its_own_word(void **state)
{
    (void)state;
    for (int t = BELAY_TERMINAL_NONE + 1; t < BELAY_TERMINAL_COUNT; t++) {
        if (t == BELAY_TERMINAL_BAD_REQUEST) continue; /* is said of what a proxy is sent */
        struct belay_curl_result result = refused((enum belay_terminal)t);
        enum call_exit code = call_exit_of(&result, false, true);
        assert_string_equal(call_exit_word(code), belay_terminal_name((enum belay_terminal)t));
    }
}

static void test_each_decision_has_a_status_with_its_own_word(void **state)
{
    (void)state;
    for (int d = 0; d < BELAY_DECISION_COUNT; d++) {
        struct belay_curl_result result =
            decided((enum belay_decision)d, BELAY_REASON_NOT_REPEATABLE);
        const char *word = call_exit_word(call_exit_of(&result, false, false));
        if (d == BELAY_DECISION_RETURN) {
            assert_string_equal(word, "done");
        } else if (d == BELAY_DECISION_RETRY) {
            assert_string_equal(word, "failed"); /* no operation ends so */
        } else {
            assert_string_equal(word, belay_decision_name((enum belay_decision)d));
        }
    }
}

static void test_what_stopped_it_is_told_apart(void **state)
{
    (void)state;
    struct belay_curl_result result = decided(BELAY_DECISION_STOP, BELAY_REASON_GATEWAY_UNKNOWN);
    assert_int_equal(call_exit_of(&result, false, false), CALL_CHECK_STATE);
    result.reason = BELAY_REASON_ANSWER_STARTED;
    assert_int_equal(call_exit_of(&result, false, false), CALL_ANSWER_CUT);
    result = decided(BELAY_DECISION_STOP, BELAY_REASON_NOT_REPEATABLE);
    result.outcome = (struct belay_outcome){.error = BELAY_ERROR_TLS};
    assert_int_equal(call_exit_of(&result, false, false), CALL_NO_ANSWER);
    result.outcome.error = BELAY_ERROR_CANCELLED;
    assert_int_equal(call_exit_of(&result, false, true), CALL_CANCELLED);
    assert_int_equal(call_exit_of(&result, true, false), CALL_OUTPUT);
    result.outcome.sent = BELAY_UNSENT; /* nobody cancelled it: a certificate file is missing */
    assert_int_equal(call_exit_of(&result, false, false), CALL_FAILED);
    assert_int_equal(call_exit_of(&result, false, true), CALL_CANCELLED);
    result = (struct belay_curl_result){.code = CURLE_OUT_OF_MEMORY};
    assert_int_equal(call_exit_of(&result, false, false), CALL_FAILED);
}

static void test_statuses_are_distinct(void **state)
{
    (void)state;
    for (size_t i = 0; i < CALL_EXIT_COUNT; i++) {
        assert_ptr_equal(call_exit_word(CALL_EXITS[i].code), CALL_EXITS[i].word);
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(CALL_EXITS[i].code, CALL_EXITS[k].code);
            assert_string_not_equal(CALL_EXITS[i].word, CALL_EXITS[k].word);
        }
    }
    assert_null(call_exit_word((enum call_exit)99));
}

static void says(enum call_exit code, const struct belay_curl_result *result, const char *text)
{
    char line[CALL_LINE_BYTES_MAX];
    call_say_failure(code, "a:80", result, line);
    assert_string_equal(line, text);
}

static void test_a_failure_is_one_line(void **state)
{
    (void)state;
    struct belay_curl_result result =
        decided(BELAY_DECISION_MAX_ATTEMPTS, BELAY_REASON_NO_ATTEMPTS);
    says(CALL_MAX_ATTEMPTS, &result,
         "max_attempts: a:80: 2 attempts in 620 ms, the last one saw 503");
    result.outcome.has_retry_after = true;
    result.outcome.retry_after_ms = 30000;
    says(
        CALL_DEADLINE_EXCEEDED, &result,
        "deadline_exceeded: a:80: 2 attempts in 620 ms, the last one saw 503; try again in 30.0 s");
    result.ending.effect = BELAY_EFFECT_UNKNOWN;
    result.ending.attempts = 1;
    result.outcome =
        (struct belay_outcome){.error = BELAY_ERROR_TIMEOUT, .phase = BELAY_PHASE_HEADERS};
    says(CALL_CHECK_STATE, &result,
         "check_state: the outcome is unknown: a:80 may have carried it out; 1 attempt in 620 ms, "
         "the last one saw timeout before an answer came");
    says(CALL_DEADLINE_EXCEEDED, &result,
         "deadline_exceeded: a:80: 1 attempt in 620 ms, the last one saw timeout before an answer "
         "came; the outcome is unknown: it may have been carried out");
    result.outcome = (struct belay_outcome){.status = 503};
    result.reason = BELAY_REASON_NOT_REPEATABLE;
    says(CALL_STOP, &result, "stop: the answer of a:80 is 503 (not_repeatable)");
    result = refused(BELAY_TERMINAL_BREAKER_OPEN);
    result.has_hint = true;
    result.retry_hint = belay_span_ms(4201);
    says(CALL_BREAKER_OPEN, &result,
         "breaker_open: a:80 failed too often; no call was made; try again in 4.3 s");
}

static void test_progress_is_one_line(void **state)
{
    (void)state;
    char line[CALL_LINE_BYTES_MAX];
    struct belay_outcome last = {.status = 503};
    struct belay_curl_progress progress = {.remaining = belay_span_ms(1900)};
    call_say_progress(&progress, 3, line);
    assert_string_equal(line, "waiting for its turn, 1.9 s left");
    progress.attempt = 1;
    call_say_progress(&progress, 3, line);
    assert_string_equal(line, "attempt 1 of 3, 1.9 s left");
    progress.waiting = true;
    progress.wait = belay_span_ms(301);
    progress.last = &last;
    call_say_progress(&progress, 3, line);
    assert_string_equal(line, "attempt 1 of 3, saw 503, next in 0.4 s, 1.9 s left");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_terminal_reason_has_a_status_with_its_own_word),
        cmocka_unit_test(test_each_decision_has_a_status_with_its_own_word),
        cmocka_unit_test(test_what_stopped_it_is_told_apart),
        cmocka_unit_test(test_statuses_are_distinct),
        cmocka_unit_test(test_a_failure_is_one_line),
        cmocka_unit_test(test_progress_is_one_line),
    };
    return cmocka_run_group_tests_name("call_exit", tests, NULL, NULL);
}
