/* repeat.c: which attempts of an operation are followed by another: stale connections, owners, and
 * the unsent. */
#include "world.h"

/* ---- stale connections (5a) ---- */

static struct belay_outcome stale(enum belay_error_class error_class)
{
    struct belay_outcome outcome = error(error_class, BELAY_SENT);
    outcome.stale = true;
    return outcome;
}

static void test_a_stale_get_goes_again_at_once_on_a_fresh_connection(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.attempts_max = 1;
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    struct belay_admission admission = belay_operation_admit(&op, at(0));
    assert_false(admission.fresh_connection);
    struct belay_verdict verdict = record(&op, stale(BELAY_ERROR_CLOSED), 1);
    decided(verdict, BELAY_DECISION_RETRY, BELAY_REASON_STALE_CONNECTION);
    assert_int_equal(verdict.wait.ns, 0);
    assert_int_equal(verdict.wait_source, BELAY_WAIT_BACKOFF);
    assert_int_equal(verdict.retry_at.ns, at(1).ns);
    admission = belay_operation_admit(&op, at(1));
    assert_int_equal(admission.kind, BELAY_ADMITTED);
    assert_int_equal(admission.attempt, 2);
    assert_true(admission.fresh_connection);
    (void)record(&op, status(200), 2);
    ended(&op, 2, NULL, 2);
    assert_int_equal(world_stats(&world).retries, 1);
    world_end(&world);
}

static void test_once_an_operation_then_the_other_rules(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    admitted(&op, 0, 1, 10000);
    decided(record(&op, stale(BELAY_ERROR_RESET), 0), BELAY_DECISION_RETRY,
            BELAY_REASON_STALE_CONNECTION);
    admitted(&op, 0, 2, 10000);
    struct belay_verdict verdict = record(&op, stale(BELAY_ERROR_RESET), 0);
    decided(verdict, BELAY_DECISION_RETRY, BELAY_REASON_BACKOFF);
    assert_int_equal(verdict.wait.ns, belay_span_ms(200).ns);
    admitted(&op, 200, 3, 9800);
    decided(record(&op, status(503), 200), BELAY_DECISION_RETRY, BELAY_REASON_BACKOFF);
    admitted(&op, 600, 4, 9400);
    decided(record(&op, status(503), 600), BELAY_DECISION_MAX_ATTEMPTS, BELAY_REASON_NO_ATTEMPTS);
    ended(&op, 600, "max_attempts", 4);
    world_end(&world);
}

static void test_a_stale_repeat_takes_a_token(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.budget = (struct belay_budget_config){.ratio_ppm = 0, .burst = 1};
    world_begin(&world);
    for (int i = 0; i < 2; i++) {
        struct belay_operation op;
        begin(&world, &op, &get, 0);
        admitted(&op, 0, 1, 10000);
        struct belay_verdict verdict = record(&op, stale(BELAY_ERROR_CLOSED), 0);
        if (i == 0) {
            decided(verdict, BELAY_DECISION_RETRY, BELAY_REASON_STALE_CONNECTION);
            admitted(&op, 0, 2, 10000);
            (void)record(&op, status(200), 0);
            ended(&op, 0, NULL, 2);
        } else {
            decided(verdict, BELAY_DECISION_BUDGET_EXHAUSTED, BELAY_REASON_NO_BUDGET);
            ended(&op, 0, "budget_exhausted", 1);
        }
    }
    world_end(&world);
}

static void test_stale_connections_never_open_the_breaker(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world_begin(&world);
    for (int i = 0; i < 100; i++) (void)one_call(&world, stale(BELAY_ERROR_CLOSED), i);
    assert_int_equal(world_stats(&world).breaker_state, BELAY_BREAKER_CLOSED);
    world_end(&world);
}

static void test_a_stale_get_without_time_ends(void **state)
{
    (void)state;
    struct world world = world_of_the_example();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    admitted(&op, 0, 1, 400);
    decided(record(&op, stale(BELAY_ERROR_CLOSED), 400), BELAY_DECISION_DEADLINE_EXCEEDED,
            BELAY_REASON_NO_TIME);
    ended(&op, 400, "deadline_exceeded", 1);
    world_end(&world);
}

static void test_a_stale_repeat_does_not_need_the_list(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.retry_on = (struct belay_retry_on){0};
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    admitted(&op, 0, 1, 10000);
    decided(record(&op, stale(BELAY_ERROR_CLOSED), 0), BELAY_DECISION_RETRY,
            BELAY_REASON_STALE_CONNECTION);
    ended(&op, 0, "cancelled", 1);
    world_end(&world);
}

static void test_a_stale_post_is_asked_about(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &post, 0);
    admitted(&op, 0, 1, 10000);
    decided(record(&op, stale(BELAY_ERROR_CLOSED), 0), BELAY_DECISION_CHECK_STATE,
            BELAY_REASON_EFFECT_UNKNOWN);
    ended(&op, 0, "check_state", 1);
    world_end(&world);
}

/* ---- who may be repeated ---- */

static void test_an_unsent_post_may_be_repeated(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &post, 0);
    admitted(&op, 0, 1, 10000);
    decided(record(&op, error(BELAY_ERROR_REFUSED, BELAY_UNSENT), 0), BELAY_DECISION_RETRY,
            BELAY_REASON_BACKOFF);
    admitted(&op, 200, 2, 9800);
    decided(record(&op, error(BELAY_ERROR_TIMEOUT, BELAY_UNSENT), 500), BELAY_DECISION_RETRY,
            BELAY_REASON_BACKOFF);
    admitted(&op, 900, 3, 9100);
    decided(record(&op, error(BELAY_ERROR_DNS, BELAY_UNSENT), 900), BELAY_DECISION_MAX_ATTEMPTS,
            BELAY_REASON_NO_ATTEMPTS);
    struct belay_ending ending = belay_operation_finish(&op, at(900));
    assert_int_equal(ending.effect, BELAY_EFFECT_NONE);
    world_end(&world);
}

static void test_a_post_is_not_repeated_for_a_hint(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &post, 0);
    admitted(&op, 0, 1, 10000);
    decided(record(&op, hinted(503, 100), 0), BELAY_DECISION_STOP, BELAY_REASON_NOT_REPLAY_SAFE);
    ended(&op, 0, "stop", 1);

    world.policy.retry_unsafe_refusals = true;
    begin(&world, &op, &post, 1000);
    admitted(&op, 1000, 1, 10000);
    decided(record(&op, hinted(429, 300), 1000), BELAY_DECISION_RETRY, BELAY_REASON_RETRY_AFTER);
    ended(&op, 1000, "cancelled", 1);
    world_end(&world);
}

static void test_what_another_level_retries_is_not_retried(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_traits owned = {.safe_method = true, .owned_elsewhere = true};
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &owned, 0);
    admitted(&op, 0, 1, 10000);
    assert_false(belay_operation_decides_at_head(&op, 503));
    decided(record(&op, status(503), 0), BELAY_DECISION_STOP, BELAY_REASON_RETRY_OWNED);
    ended(&op, 0, "stop", 1);
    begin(&world, &op, &owned, 0);
    admitted(&op, 0, 1, 10000);
    decided(record(&op, stale(BELAY_ERROR_CLOSED), 0), BELAY_DECISION_STOP,
            BELAY_REASON_RETRY_OWNED);
    ended(&op, 0, "stop", 1);

    world.policy.retry_when_owned = true;
    begin(&world, &op, &owned, 0);
    admitted(&op, 0, 1, 10000);
    assert_true(belay_operation_decides_at_head(&op, 503));
    decided(record(&op, status(503), 0), BELAY_DECISION_RETRY, BELAY_REASON_BACKOFF);
    ended(&op, 0, "cancelled", 1);
    world_end(&world);
}

/* Three levels over a dead bottom; every level may make three attempts. */
static unsigned calls_at_the_bottom(struct world *worlds, int level, int levels, bool marked,
                                    bool rule_on)
{
    struct world *world = &worlds[level];
    struct belay_traits traits = {.safe_method = true, .owned_elsewhere = marked};
    struct belay_operation op;
    unsigned calls = 0;
    int64_t now = 0;
    world->policy.retry_when_owned = !rule_on;
    begin(world, &op, &traits, 0);
    while (belay_operation_admit(&op, at(now)).kind == BELAY_ADMITTED) {
        calls +=
            level + 1 == levels ? 1 : calls_at_the_bottom(worlds, level + 1, levels, true, rule_on);
        struct belay_verdict verdict = record(&op, status(503), now);
        if (verdict.decision != BELAY_DECISION_RETRY) break;
        now = verdict.retry_at.ns / BELAY_NS_PER_MS;
    }
    (void)belay_operation_finish(&op, at(now));
    return calls;
}

static void test_three_chained_levels_make_three_calls_and_not_27(void **state)
{
    (void)state;
    for (int rule_on = 0; rule_on < 2; rule_on++) {
        struct world worlds[3];
        for (int i = 0; i < 3; i++) {
            worlds[i] = world_of_defaults();
            worlds[i].policy.breaker.enabled = false;
            worlds[i].policy.budget.burst = 100;
            world_begin(&worlds[i]);
        }
        assert_int_equal(calls_at_the_bottom(worlds, 0, 3, false, rule_on), rule_on ? 3 : 27);
        for (int i = 0; i < 3; i++) world_end(&worlds[i]);
    }
}

static void test_which_statuses_are_decided_at_the_head(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_traits asking_post = {.write = true, .state_check = true};
    struct belay_operation reading, writing, asking;
    world_begin(&world);
    begin(&world, &reading, &get, 0);
    begin(&world, &writing, &post, 0);
    begin(&world, &asking, &asking_post, 0);
    for (int code = 100; code < 600; code++) {
        bool gateway = code == 502 || code == 504;
        assert_int_equal(belay_operation_decides_at_head(&reading, code),
                         gateway || code == 429 || code == 503);
        assert_false(belay_operation_decides_at_head(&writing, code));
        assert_int_equal(belay_operation_decides_at_head(&asking, code), gateway);
    }
    ended(&reading, 0, "cancelled", 0);
    ended(&writing, 0, "cancelled", 0);
    ended(&asking, 0, "cancelled", 0);
    world_end(&world);
}

static void test_a_cut_answer_that_was_passed_on_stops(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_outcome cut = error(BELAY_ERROR_CLOSED, BELAY_ANSWERED);
    cut.answer_started = true;
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    admitted(&op, 0, 1, 10000);
    decided(record(&op, cut, 5), BELAY_DECISION_STOP, BELAY_REASON_ANSWER_STARTED);
    ended(&op, 5, "stop", 1);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW("H66 a stale GET goes again at once on a fresh connection",
            test_a_stale_get_goes_again_at_once_on_a_fresh_connection),
        cmocka_unit_test(test_once_an_operation_then_the_other_rules),
        cmocka_unit_test(test_a_stale_repeat_takes_a_token),
        cmocka_unit_test(test_stale_connections_never_open_the_breaker),
        cmocka_unit_test(test_a_stale_get_without_time_ends),
        cmocka_unit_test(test_a_stale_repeat_does_not_need_the_list),
        ROW("H67 a stale POST is asked about", test_a_stale_post_is_asked_about),
        cmocka_unit_test(test_an_unsent_post_may_be_repeated),
        cmocka_unit_test(test_a_post_is_not_repeated_for_a_hint),
        cmocka_unit_test(test_what_another_level_retries_is_not_retried),
        cmocka_unit_test(test_three_chained_levels_make_three_calls_and_not_27),
        cmocka_unit_test(test_which_statuses_are_decided_at_the_head),
        cmocka_unit_test(test_a_cut_answer_that_was_passed_on_stops),
    };
    return cmocka_run_group_tests_name("call/repeat", tests, NULL, NULL);
}
