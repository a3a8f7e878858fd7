/* retry.c: the nine rules in their order: with everything against a retry, the first rule names the
 * reason. */
#include <belay/retry.h>

#include "test.h"

static const struct belay_class success = {BELAY_CLASS_SUCCESS, BELAY_REASON_SUCCESS,
                                           BELAY_EFFECT_DONE, 0};
static const struct belay_class repeatable = {BELAY_CLASS_REPEATABLE, BELAY_REASON_BACKOFF,
                                              BELAY_EFFECT_NONE, 0};
static const struct belay_class final = {BELAY_CLASS_FINAL, BELAY_REASON_NOT_REPEATABLE,
                                         BELAY_EFFECT_NONE, 0};
static const struct belay_class unknown = {BELAY_CLASS_UNKNOWN, BELAY_REASON_EFFECT_UNKNOWN,
                                           BELAY_EFFECT_UNKNOWN, 0};
static const struct belay_class gateway = {BELAY_CLASS_UNKNOWN, BELAY_REASON_GATEWAY_UNKNOWN,
                                           BELAY_EFFECT_UNKNOWN, 0};

static struct belay_retry_facts facts_of(struct belay_class outcome_class)
{
    return (struct belay_retry_facts){
        .kind = outcome_class.kind,
        .reason = outcome_class.reason,
        .answered = true,
        .attempts_left = true,
        .remaining = belay_span_ms(1000),
        .reserve = belay_span_ms(5),
        .wait = belay_span_ms(200),
        .wait_source = BELAY_WAIT_BACKOFF,
    };
}

/* Nothing speaks for a retry. */
static struct belay_retry_facts hopeless(struct belay_class outcome_class)
{
    struct belay_retry_facts facts = facts_of(outcome_class);
    facts.answered = false;
    facts.answer_started = true;
    facts.owned = true;
    facts.attempts_left = false;
    facts.remaining = belay_span_ms(0);
    return facts;
}

static void check(const struct belay_retry_facts *facts, enum belay_decision decision,
                  enum belay_reason reason)
{
    struct belay_retry_plan plan = belay_retry_decide(facts);
    assert_int_equal(plan.decision, decision);
    assert_int_equal(plan.reason, reason);
}

static void test_rule_1_success_comes_before_everything(void **state)
{
    (void)state;
    struct belay_retry_facts facts = hopeless(success);
    check(&facts, BELAY_DECISION_RETURN, BELAY_REASON_SUCCESS);
}

static void test_rule_2_a_cut_answer_that_was_passed_on_ends_it(void **state)
{
    (void)state;
    const struct belay_class classes[] = {repeatable, final, unknown, gateway};
    for (size_t i = 0; i < 4; i++) {
        struct belay_retry_facts facts = hopeless(classes[i]);
        check(&facts, BELAY_DECISION_STOP, BELAY_REASON_ANSWER_STARTED);
    }
}

static void test_rule_2_a_whole_answer_that_streamed_keeps_its_reason(void **state)
{
    (void)state;
    struct belay_retry_facts facts = facts_of(final);
    facts.answer_started = true;
    check(&facts, BELAY_DECISION_STOP, BELAY_REASON_NOT_REPEATABLE);
    facts.kind = gateway.kind;
    facts.reason = gateway.reason;
    facts.state_check = true;
    check(&facts, BELAY_DECISION_STOP, BELAY_REASON_GATEWAY_UNKNOWN);
    facts.kind = repeatable.kind;
    check(&facts, BELAY_DECISION_STOP, BELAY_REASON_ANSWER_STARTED);
}

static void test_rule_3_an_unknown_effect_is_asked_about(void **state)
{
    (void)state;
    struct belay_retry_facts facts = hopeless(unknown);
    facts.answer_started = false;
    check(&facts, BELAY_DECISION_CHECK_STATE, BELAY_REASON_EFFECT_UNKNOWN);
}

static void test_rule_3_a_gateway_is_asked_about_where_one_can_ask(void **state)
{
    (void)state;
    struct belay_retry_facts facts = facts_of(gateway);
    check(&facts, BELAY_DECISION_STOP, BELAY_REASON_GATEWAY_UNKNOWN);
    facts.state_check = true;
    check(&facts, BELAY_DECISION_CHECK_STATE, BELAY_REASON_GATEWAY_UNKNOWN);
}

static void test_rule_4_final_stops(void **state)
{
    (void)state;
    struct belay_retry_facts facts = hopeless(final);
    facts.answer_started = false;
    check(&facts, BELAY_DECISION_STOP, BELAY_REASON_NOT_REPEATABLE);
}

static void test_what_another_level_retries_stops_before_the_deadline_is_looked_at(void **state)
{
    (void)state;
    struct belay_retry_facts facts = hopeless(repeatable);
    facts.answer_started = false;
    check(&facts, BELAY_DECISION_STOP, BELAY_REASON_RETRY_OWNED);
}

static void test_rule_5_comes_before_rule_6(void **state)
{
    (void)state;
    struct belay_retry_facts facts = hopeless(repeatable);
    facts.answer_started = facts.owned = false;
    check(&facts, BELAY_DECISION_DEADLINE_EXCEEDED, BELAY_REASON_NO_TIME);
}

static void test_rule_5_at_its_boundary(void **state)
{
    (void)state;
    struct belay_retry_facts facts = facts_of(repeatable);
    facts.remaining = belay_span_ms(205);
    check(&facts, BELAY_DECISION_DEADLINE_EXCEEDED, BELAY_REASON_NO_TIME);
    facts.remaining.ns++;
    check(&facts, BELAY_DECISION_RETRY, BELAY_REASON_BACKOFF);
}

static void test_rule_6_no_attempts_left(void **state)
{
    (void)state;
    struct belay_retry_facts facts = facts_of(repeatable);
    facts.attempts_left = false;
    check(&facts, BELAY_DECISION_MAX_ATTEMPTS, BELAY_REASON_NO_ATTEMPTS);
}

static void test_a_retry_says_what_it_waits_for(void **state)
{
    (void)state;
    struct belay_retry_facts facts = facts_of(repeatable);
    check(&facts, BELAY_DECISION_RETRY, BELAY_REASON_BACKOFF);
    facts.wait_source = BELAY_WAIT_RETRY_AFTER;
    check(&facts, BELAY_DECISION_RETRY, BELAY_REASON_RETRY_AFTER);
    facts.stale_repeat = true;
    check(&facts, BELAY_DECISION_RETRY, BELAY_REASON_STALE_CONNECTION);
}

static void test_rules_7_to_9(void **state)
{
    (void)state;
    struct belay_retry_plan planned = {BELAY_DECISION_RETRY, BELAY_REASON_RETRY_AFTER};
    struct belay_retry_plan plan = belay_retry_decide_shared(planned, false, false);
    assert_int_equal(plan.decision, BELAY_DECISION_BUDGET_EXHAUSTED);
    assert_int_equal(plan.reason, BELAY_REASON_NO_BUDGET);
    plan = belay_retry_decide_shared(planned, true, false);
    assert_int_equal(plan.decision, BELAY_DECISION_BREAKER_OPEN);
    assert_int_equal(plan.reason, BELAY_REASON_BREAKER_NOT_CLOSED);
    plan = belay_retry_decide_shared(planned, true, true);
    assert_int_equal(plan.decision, BELAY_DECISION_RETRY);
    assert_int_equal(plan.reason, BELAY_REASON_RETRY_AFTER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule_1_success_comes_before_everything),
        cmocka_unit_test(test_rule_2_a_cut_answer_that_was_passed_on_ends_it),
        cmocka_unit_test(test_rule_2_a_whole_answer_that_streamed_keeps_its_reason),
        cmocka_unit_test(test_rule_3_an_unknown_effect_is_asked_about),
        cmocka_unit_test(test_rule_3_a_gateway_is_asked_about_where_one_can_ask),
        cmocka_unit_test(test_rule_4_final_stops),
        cmocka_unit_test(test_what_another_level_retries_stops_before_the_deadline_is_looked_at),
        cmocka_unit_test(test_rule_5_comes_before_rule_6),
        cmocka_unit_test(test_rule_5_at_its_boundary),
        cmocka_unit_test(test_rule_6_no_attempts_left),
        cmocka_unit_test(test_a_retry_says_what_it_waits_for),
        cmocka_unit_test(test_rules_7_to_9),
    };
    return cmocka_run_group_tests_name("policy/retry", tests, NULL, NULL);
}
