/* outcome.c: the closed vocabularies, word by word. */
#include <belay/outcome.h>

#include "test.h"

#include <string.h>

typedef const char *(*name_fn)(int value);

#define NAME_FN(what, type)                                                                        \
    static const char *what(int value)                                                             \
    {                                                                                              \
        return belay_##what((enum type)value);                                                     \
    }
NAME_FN(error_class_name, belay_error_class)
NAME_FN(phase_name, belay_phase)
NAME_FN(sent_name, belay_sent)
NAME_FN(decision_name, belay_decision)
NAME_FN(terminal_name, belay_terminal)
NAME_FN(reason_name, belay_reason)
NAME_FN(outcome_class_name, belay_outcome_class)
NAME_FN(wait_source_name, belay_wait_source)
NAME_FN(effect_name, belay_effect)

static const struct {
    name_fn name;
    const char *words; /* in the order of the enum */
} vocabularies[] = {
    {error_class_name, "none dns refused timeout tls reset closed protocol too_large cancelled"},
    {phase_name, "none dns connect tls send headers body"},
    {sent_name, "unsent sent answered"},
    {decision_name,
     "return retry check_state stop deadline_exceeded max_attempts budget_exhausted breaker_open"},
    {terminal_name,
     "none deadline_exceeded breaker_open bulkhead_full quota_exceeded not_before budget_exhausted "
     "max_attempts cancelled bad_request"},
    {reason_name,
     "success answer_started effect_unknown gateway_unknown not_repeatable not_replay_safe "
     "retry_owned "
     "no_time no_attempts no_budget breaker_not_closed backoff retry_after stale_connection"},
    {outcome_class_name, "success repeatable unknown final"},
    {wait_source_name, "none backoff retry_after"},
    {effect_name, "not_a_write done none unknown"},
};

static void test_every_value_has_its_word_and_nothing_else_has(void **state)
{
    (void)state;
    for (size_t v = 0; v < sizeof vocabularies / sizeof vocabularies[0]; v++) {
        char words[256];
        assert_true(strlen(vocabularies[v].words) < sizeof words);
        strcpy(words, vocabularies[v].words);
        int value = 0;
        for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
            assert_string_equal(vocabularies[v].name(value++), word);
        }
        assert_null(vocabularies[v].name(value));
        assert_null(vocabularies[v].name(-1));
    }
}

static void test_parsing_takes_exactly_the_words(void **state)
{
    (void)state;
    for (int i = 1; i < BELAY_ERROR_COUNT; i++) {
        enum belay_error_class out = BELAY_ERROR_NONE;
        const char *word = belay_error_class_name((enum belay_error_class)i);
        assert_true(belay_error_class_parse(word, strlen(word), &out));
        assert_int_equal(out, i);
    }
    for (int i = 1; i < BELAY_PHASE_COUNT; i++) {
        enum belay_phase out = BELAY_PHASE_NONE;
        const char *word = belay_phase_name((enum belay_phase)i);
        assert_true(belay_phase_parse(word, strlen(word), &out));
        assert_int_equal(out, i);
    }
    for (int i = 0; i < BELAY_SENT_COUNT; i++) {
        enum belay_sent out = BELAY_SENT_COUNT;
        const char *word = belay_sent_name((enum belay_sent)i);
        assert_true(belay_sent_parse(word, strlen(word), &out));
        assert_int_equal(out, i);
    }
}

static void test_parsing_leaves_out_alone_for_anything_else(void **state)
{
    (void)state;
    static const char *const others[] = {"",       "none",     "Timeout", "timeout ",
                                         "timeou", "xtimeout", "sen",     "bodyy"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        enum belay_error_class error = BELAY_ERROR_TLS;
        enum belay_phase phase = BELAY_PHASE_SEND;
        enum belay_sent sent = BELAY_ANSWERED;
        assert_false(belay_error_class_parse(others[i], strlen(others[i]), &error));
        assert_false(belay_phase_parse(others[i], strlen(others[i]), &phase));
        assert_false(belay_sent_parse(others[i], strlen(others[i]), &sent));
        assert_true(error == BELAY_ERROR_TLS && phase == BELAY_PHASE_SEND &&
                    sent == BELAY_ANSWERED);
    }
}

static void test_an_outcome_has_a_status_or_an_error(void **state)
{
    (void)state;
    struct belay_outcome answer = belay_outcome_status(503);
    assert_int_equal(answer.status, 503);
    assert_true(answer.error == BELAY_ERROR_NONE && answer.phase == BELAY_PHASE_NONE &&
                answer.sent == BELAY_ANSWERED);
    struct belay_outcome lost =
        belay_outcome_error(BELAY_ERROR_RESET, BELAY_PHASE_SEND, BELAY_SENT);
    assert_true(lost.status == 0 && lost.error == BELAY_ERROR_RESET &&
                lost.phase == BELAY_PHASE_SEND && lost.sent == BELAY_SENT);
    assert_false(answer.stale || answer.has_retry_after || answer.answer_started || lost.stale ||
                 lost.has_retry_after || lost.answer_started);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_value_has_its_word_and_nothing_else_has),
        cmocka_unit_test(test_parsing_takes_exactly_the_words),
        cmocka_unit_test(test_parsing_leaves_out_alone_for_anything_else),
        cmocka_unit_test(test_an_outcome_has_a_status_or_an_error),
    };
    return cmocka_run_group_tests_name("policy/outcome", tests, NULL, NULL);
}
