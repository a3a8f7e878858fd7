/* operation.c: one operation's life: its attempts, its verdicts, its deadline, and what it gives
 * back. */
#include "world.h"

static void test_story_first_success(void **state)
{
    (void)state;
    struct world world = world_of_the_example();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    admitted(&op, 0, 1, 400);
    decided(record(&op, status(200), 50), BELAY_DECISION_RETURN, BELAY_REASON_SUCCESS);
    struct belay_ending ending = belay_operation_finish(&op, at(50));
    assert_int_equal(ending.status, 200);
    assert_int_equal(ending.elapsed.ns, belay_span_ms(50).ns);
    assert_int_equal(ending.effect, BELAY_EFFECT_NOT_A_WRITE);
    world_end(&world);
}

static void test_story_two_503_then_success(void **state)
{
    (void)state;
    struct world world = world_of_the_example();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    admitted(&op, 0, 1, 400);
    struct belay_verdict verdict = record(&op, status(503), 80);
    decided(verdict, BELAY_DECISION_RETRY, BELAY_REASON_BACKOFF);
    assert_int_equal(verdict.wait.ns, belay_span_ms(40).ns);
    assert_int_equal(verdict.wait_source, BELAY_WAIT_BACKOFF);
    assert_int_equal(verdict.retry_at.ns, at(120).ns);
    admitted(&op, 120, 2, 280);
    verdict = record(&op, status(503), 200);
    decided(verdict, BELAY_DECISION_RETRY, BELAY_REASON_BACKOFF);
    assert_int_equal(verdict.elapsed.ns, belay_span_ms(80).ns);
    assert_int_equal(verdict.remaining.ns, belay_span_ms(280).ns);
    admitted(&op, 240, 3, 160);
    decided(record(&op, status(200), 290), BELAY_DECISION_RETURN, BELAY_REASON_SUCCESS);
    ended(&op, 290, NULL, 3);
    world_end(&world);
}

static void test_story_deadline_used_up(void **state)
{
    (void)state;
    struct world world = world_of_the_example();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    admitted(&op, 0, 1, 400);
    struct belay_verdict verdict = record(&op, status(503), 360); /* 40 left, the wait is 40 */
    decided(verdict, BELAY_DECISION_DEADLINE_EXCEEDED, BELAY_REASON_NO_TIME);
    assert_int_equal(verdict.wait.ns, 0);
    ended(&op, 360, "deadline_exceeded", 1);
    world_end(&world);
}

static void test_story_get_timeout(void **state)
{
    (void)state;
    struct world world = world_of_the_example();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    admitted(&op, 0, 1, 400);
    decided(record(&op, error(BELAY_ERROR_TIMEOUT, BELAY_SENT), 100), BELAY_DECISION_RETRY,
            BELAY_REASON_BACKOFF);
    admitted(&op, 140, 2, 260);
    decided(record(&op, status(200), 150), BELAY_DECISION_RETURN, BELAY_REASON_SUCCESS);
    ended(&op, 150, NULL, 2);
    world_end(&world);
}

static void test_story_post_timeout(void **state)
{
    (void)state;
    struct world world = world_of_the_example();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &post, 0);
    admitted(&op, 0, 1, 400);
    decided(record(&op, error(BELAY_ERROR_TIMEOUT, BELAY_SENT), 100), BELAY_DECISION_CHECK_STATE,
            BELAY_REASON_EFFECT_UNKNOWN);
    struct belay_ending ending = belay_operation_finish(&op, at(100));
    assert_string_equal(ending.word, "check_state");
    assert_int_equal(ending.effect, BELAY_EFFECT_UNKNOWN);
    assert_int_equal(ending.attempts, 1);
    world_end(&world);
}

static void test_time_spent_locally_is_not_passed_on(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.deadline_for = belay_span_ms(1000);
    world.policy.reserve_for = belay_span_ms(0);
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    struct belay_admission admission = belay_operation_admit(&op, at(300));
    assert_int_equal(admission.pass_on.ns, belay_span_ms(700).ns);
    assert_int_equal(record(&op, status(503), 350).decision, BELAY_DECISION_RETRY);
    admission = belay_operation_admit(&op, at(550));
    assert_int_equal(admission.pass_on.ns, belay_span_ms(450).ns);
    (void)belay_operation_finish(&op, at(600));
    world_end(&world);
}

static void test_what_is_passed_on_is_shorter_by_the_reserve(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.deadline_for = belay_span_ms(2000);
    world.policy.reserve_for = belay_span_ms(300);
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    struct belay_admission admission = belay_operation_admit(&op, at(200));
    assert_int_equal(admission.remaining.ns, belay_span_ms(1800).ns);
    assert_int_equal(admission.pass_on.ns, belay_span_ms(1500).ns);
    (void)belay_operation_finish(&op, at(600));
    world_end(&world);
}

static void test_no_call_when_the_reserve_is_all_that_is_left(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.deadline_for = belay_span_ms(100);
    world_begin(&world);
    for (int64_t late = 94; late <= 101; late++) {
        struct belay_operation op;
        begin(&world, &op, &get, 0);
        if (late < 95) {
            admitted(&op, late, 1, 6);
            (void)record(&op, status(200), late);
            ended(&op, late, NULL, 1);
            continue;
        }
        refused(&op, late, BELAY_TERMINAL_DEADLINE_EXCEEDED);
        ended(&op, late, "deadline_exceeded", 0);
    }
    assert_int_equal(world_stats(&world).attempts, 1);
    assert_int_equal(world_stats(&world).refused_deadline, 7);
    world_end(&world);
}

static void test_no_call_for_a_deadline_of_nothing_or_less(void **state)
{
    (void)state;
    struct world world = world_of_the_example();
    world_begin(&world);
    for (int64_t ms = -5; ms <= 0; ms++) {
        struct belay_operation op;
        belay_operation_init(&op, &world.policy, world.target, &get, at(1000), at(1000 + ms), NULL);
        refused(&op, 1000, BELAY_TERMINAL_DEADLINE_EXCEEDED);
        ended(&op, 1000, "deadline_exceeded", 0);
    }
    world_end(&world);
}

static void test_the_deadline_is_shared_by_all_attempts(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.deadline_for = belay_span_ms(1000);
    world.policy.attempt_timeout_for = belay_span_ms(600);
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    struct belay_admission admission = belay_operation_admit(&op, at(0));
    assert_int_equal(admission.at.ns, at(600).ns);
    assert_int_equal(record(&op, error(BELAY_ERROR_TIMEOUT, BELAY_SENT), 600).decision,
                     BELAY_DECISION_RETRY);
    admission = belay_operation_admit(&op, at(800));
    assert_int_equal(admission.at.ns, at(1000).ns); /* not 800 + 600 */
    assert_int_equal(admission.remaining.ns, belay_span_ms(200).ns);
    assert_int_equal(record(&op, error(BELAY_ERROR_TIMEOUT, BELAY_SENT), 1000).decision,
                     BELAY_DECISION_DEADLINE_EXCEEDED);
    ended(&op, 1000, "deadline_exceeded", 2);
    world_end(&world);
}

static void test_a_wait_that_ended_late_is_refused_and_gives_its_token_back(void **state)
{
    (void)state;
    struct world world = world_of_the_example();
    world.policy.budget = (struct belay_budget_config){.ratio_ppm = 0, .burst = 1};
    world_begin(&world);
    for (int i = 0; i < 3; i++) {
        struct belay_operation op;
        begin(&world, &op, &get, i * 1000);
        admitted(&op, i * 1000, 1, 400);
        assert_int_equal(record(&op, status(503), i * 1000).decision, BELAY_DECISION_RETRY);
        refused(&op, i * 1000 + 400, BELAY_TERMINAL_DEADLINE_EXCEEDED);
        ended(&op, i * 1000 + 400, "deadline_exceeded", 1);
    }
    world_end(&world);
}

static void test_asked_before_the_wait_is_over_it_waits(void **state)
{
    (void)state;
    struct world world = world_of_the_example();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    admitted(&op, 0, 1, 400);
    (void)record(&op, status(503), 10);
    struct belay_admission admission = belay_operation_admit(&op, at(49));
    assert_int_equal(admission.kind, BELAY_WAIT);
    assert_int_equal(admission.at.ns, at(50).ns);
    admitted(&op, 50, 2, 350);
    (void)record(&op, status(200), 60);
    ended(&op, 60, NULL, 2);
    world_end(&world);
}

static void test_without_attempts_there_is_no_call(void **state)
{
    (void)state;
    struct world world = world_of_the_example();
    world.policy.attempts_max = 0;
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    refused(&op, 0, BELAY_TERMINAL_MAX_ATTEMPTS);
    ended(&op, 0, "max_attempts", 0);
    world_end(&world);
}

static void test_three_attempts_and_no_more(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    const int64_t waits[] = {200, 400};
    int64_t now = 0;
    for (uint32_t n = 1; n <= 2; n++) {
        admitted(&op, now, n, 10000 - now);
        struct belay_verdict verdict = record(&op, status(503), now);
        assert_int_equal(verdict.wait.ns, belay_span_ms(waits[n - 1]).ns);
        now += waits[n - 1];
    }
    admitted(&op, now, 3, 10000 - now);
    decided(record(&op, status(503), now), BELAY_DECISION_MAX_ATTEMPTS, BELAY_REASON_NO_ATTEMPTS);
    ended(&op, now, "max_attempts", 3);
    world_end(&world);
}

static void test_decorrelated_waits_grow_from_the_wait_before(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.backoff.kind = BELAY_BACKOFF_DECORRELATED;
    struct belay_operation op;
    struct belay_outcome unavailable = status(503);
    world_begin(&world);
    begin(&world, &op, &get, 0);
    admitted(&op, 0, 1, 10000);
    struct belay_verdict verdict = belay_operation_record(&op, &unavailable, at(0), UINT64_MAX);
    assert_int_equal(verdict.wait.ns, belay_span_ms(600).ns);
    admitted(&op, 600, 2, 9400);
    verdict = belay_operation_record(&op, &unavailable, at(600), UINT64_MAX);
    assert_int_equal(verdict.wait.ns, belay_span_ms(1800).ns);
    ended(&op, 600, "cancelled", 2);
    world_end(&world);
}

/* ---- hints ---- */

static void test_a_hint_is_waited_for(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.backoff.kind = BELAY_BACKOFF_ADDITIVE;
    for (uint64_t luck = 0; luck < 2; luck++) {
        struct belay_operation op;
        struct belay_outcome outcome = hinted(503, 1000);
        world_begin(&world);
        begin(&world, &op, &get, 0);
        admitted(&op, 0, 1, 10000);
        struct belay_verdict verdict =
            belay_operation_record(&op, &outcome, at(0), luck ? UINT64_MAX : 0);
        decided(verdict, BELAY_DECISION_RETRY, BELAY_REASON_RETRY_AFTER);
        assert_int_equal(verdict.wait_source, BELAY_WAIT_RETRY_AFTER);
        assert_int_equal(verdict.wait.ns, belay_span_ms(luck ? 1100 : 1000).ns);
        admitted(&op, verdict.retry_at.ns / BELAY_NS_PER_MS, 2, luck ? 8900 : 9000);
        (void)record(&op, status(200), 1100);
        ended(&op, 1100, NULL, 2);
        world_end(&world);
    }
}

static void test_a_hint_past_the_deadline_ends_at_once(void **state)
{
    (void)state;
    static const int64_t hints[] = {3600000, 30000, 9995, INT64_MAX};
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        struct world world = world_of_defaults();
        struct belay_operation op;
        world_begin(&world);
        begin(&world, &op, &get, 0);
        admitted(&op, 0, 1, 10000);
        decided(record(&op, hinted(503, hints[i]), 0), BELAY_DECISION_DEADLINE_EXCEEDED,
                BELAY_REASON_NO_TIME);
        ended(&op, 0, "deadline_exceeded", 1);
        world_end(&world);
    }
}

static void test_the_next_attempt_is_never_earlier_than_the_hint(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.backoff.kind = BELAY_BACKOFF_FULL;
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    admitted(&op, 0, 1, 10000);
    struct belay_verdict verdict = record(&op, hinted(503, 5000), 0);
    assert_int_equal(verdict.retry_at.ns, at(5000).ns);
    struct belay_admission early = belay_operation_admit(&op, at(4999));
    assert_int_equal(early.kind, BELAY_WAIT);
    assert_int_equal(early.at.ns, at(5000).ns);
    admitted(&op, 5000, 2, 5000);
    (void)record(&op, status(200), 5000);
    ended(&op, 5000, NULL, 2);
    world_end(&world);
}

static void test_the_jitter_of_a_hint_never_ends_the_operation(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.backoff.kind = BELAY_BACKOFF_ADDITIVE;
    struct belay_operation op;
    struct belay_outcome outcome = hinted(429, 9900);
    world_begin(&world);
    begin(&world, &op, &get, 0);
    admitted(&op, 0, 1, 10000);
    struct belay_verdict verdict = belay_operation_record(&op, &outcome, at(0), UINT64_MAX);
    decided(verdict, BELAY_DECISION_RETRY, BELAY_REASON_RETRY_AFTER);
    assert_int_equal(verdict.wait.ns, belay_span_ms(10000 - 5 - 1).ns);
    admitted(&op, 9994, 2, 6);
    (void)record(&op, status(200), 9995);
    ended(&op, 9995, NULL, 2);
    world_end(&world);
}

/* ---- the effect of a write ---- */

static enum belay_effect effect_after(const struct belay_outcome *outcomes, size_t count)
{
    struct world world = world_of_defaults();
    struct belay_traits keyed = {.write = true, .keyed = true};
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &keyed, 0);
    int64_t now = 0;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(belay_operation_admit(&op, at(now)).kind, BELAY_ADMITTED);
        now = record(&op, outcomes[i], now).retry_at.ns / BELAY_NS_PER_MS;
    }
    enum belay_effect effect = belay_operation_finish(&op, at(now)).effect;
    world_end(&world);
    return effect;
}

static void test_the_effect_of_all_attempts_together(void **state)
{
    (void)state;
    struct belay_outcome timeout = error(BELAY_ERROR_TIMEOUT, BELAY_SENT);
    struct belay_outcome nobody = error(BELAY_ERROR_REFUSED, BELAY_UNSENT);
    const struct {
        struct belay_outcome outcomes[2];
        size_t count;
        enum belay_effect effect;
    } cases[] = {
        {{timeout}, 0, BELAY_EFFECT_NONE},
        {{status(201)}, 1, BELAY_EFFECT_DONE},
        {{status(422)}, 1, BELAY_EFFECT_NONE},
        {{timeout, status(201)}, 2, BELAY_EFFECT_DONE},
        {{timeout, status(409)}, 2, BELAY_EFFECT_UNKNOWN},
        {{timeout, nobody}, 2, BELAY_EFFECT_UNKNOWN},
        {{nobody, nobody}, 2, BELAY_EFFECT_NONE},
        {{nobody, status(400)}, 2, BELAY_EFFECT_NONE},
        {{nobody, status(200)}, 2, BELAY_EFFECT_DONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(effect_after(cases[i].outcomes, cases[i].count), cases[i].effect);
    }
}

/* ---- going away ---- */

static void test_the_request_may_become_known_during_the_first_attempt(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &post, 0);
    admitted(&op, 0, 1, 10000);
    belay_operation_on_traits(&op, &get);
    assert_true(belay_operation_decides_at_head(&op, 503));
    decided(record(&op, error(BELAY_ERROR_TIMEOUT, BELAY_SENT), 5), BELAY_DECISION_RETRY,
            BELAY_REASON_BACKOFF);
    assert_int_equal(belay_operation_finish(&op, at(5)).effect, BELAY_EFFECT_NOT_A_WRITE);
    world_end(&world);
}

static void test_cancelled_before_its_first_attempt(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &post, 0);
    belay_operation_cancel(&op, at(5));
    struct belay_ending ending = belay_operation_finish(&op, at(5));
    assert_string_equal(ending.word, "cancelled");
    assert_int_equal(ending.effect, BELAY_EFFECT_NONE);
    assert_int_equal(ending.elapsed.ns, belay_span_ms(5).ns);
    world_end(&world);
}

static void test_cancelled_while_waiting_gives_its_token_back(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.budget = (struct belay_budget_config){.ratio_ppm = 0, .burst = 1};
    world_begin(&world);
    for (int i = 0; i < 5; i++) {
        struct belay_operation op;
        begin(&world, &op, &get, 0);
        admitted(&op, 0, 1, 10000);
        assert_int_equal(record(&op, status(503), 0).decision, BELAY_DECISION_RETRY);
        if (i % 2) belay_operation_cancel(&op, at(10));
        ended(&op, 10, "cancelled", 1);
    }
    world_end(&world);
}

static void test_finished_in_the_middle_of_an_attempt(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &post, 0);
    admitted(&op, 0, 1, 10000);
    struct belay_ending ending = belay_operation_finish(&op, at(7));
    assert_string_equal(ending.word, "cancelled");
    assert_int_equal(ending.effect, BELAY_EFFECT_UNKNOWN);
    assert_int_equal(world_stats(&world).in_flight, 0);
    world_end(&world);
}

static void test_a_cancelled_attempt(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    admitted(&op, 0, 1, 10000);
    decided(record(&op, error(BELAY_ERROR_CANCELLED, BELAY_SENT), 5), BELAY_DECISION_STOP,
            BELAY_REASON_NOT_REPEATABLE);
    ended(&op, 5, "stop", 1);
    begin(&world, &op, &post, 0);
    admitted(&op, 10, 1, 9990);
    decided(record(&op, error(BELAY_ERROR_CANCELLED, BELAY_SENT), 15), BELAY_DECISION_CHECK_STATE,
            BELAY_REASON_EFFECT_UNKNOWN);
    ended(&op, 15, "check_state", 1);
    world_end(&world);
}

static void test_a_clock_that_runs_backwards_makes_nothing_negative(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 1000);
    admitted(&op, 900, 1, 10000);
    struct belay_verdict verdict = record(&op, status(200), 800);
    assert_int_equal(verdict.elapsed.ns, 0);
    struct belay_ending ending = belay_operation_finish(&op, at(1));
    assert_int_equal(ending.elapsed.ns, 0);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_story_first_success),
        cmocka_unit_test(test_story_two_503_then_success),
        cmocka_unit_test(test_story_deadline_used_up),
        cmocka_unit_test(test_story_get_timeout),
        cmocka_unit_test(test_story_post_timeout),
        ROW("DL01 time spent locally is not passed on", test_time_spent_locally_is_not_passed_on),
        cmocka_unit_test(test_what_is_passed_on_is_shorter_by_the_reserve),
        ROW("DL02 no call when the reserve is all that is left",
            test_no_call_when_the_reserve_is_all_that_is_left),
        ROW("H75 no call for a deadline of nothing or less",
            test_no_call_for_a_deadline_of_nothing_or_less),
        ROW("DL06 the deadline is shared by all attempts",
            test_the_deadline_is_shared_by_all_attempts),
        cmocka_unit_test(test_a_wait_that_ended_late_is_refused_and_gives_its_token_back),
        cmocka_unit_test(test_asked_before_the_wait_is_over_it_waits),
        cmocka_unit_test(test_without_attempts_there_is_no_call),
        cmocka_unit_test(test_three_attempts_and_no_more),
        cmocka_unit_test(test_decorrelated_waits_grow_from_the_wait_before),
        ROW("H70 a hint is waited for", test_a_hint_is_waited_for),
        ROW("H71 RA37 a hint past the deadline ends at once",
            test_a_hint_past_the_deadline_ends_at_once),
        ROW("RA39 the next attempt is never earlier than the hint",
            test_the_next_attempt_is_never_earlier_than_the_hint),
        cmocka_unit_test(test_the_jitter_of_a_hint_never_ends_the_operation),
        cmocka_unit_test(test_the_effect_of_all_attempts_together),
        cmocka_unit_test(test_the_request_may_become_known_during_the_first_attempt),
        cmocka_unit_test(test_cancelled_before_its_first_attempt),
        cmocka_unit_test(test_cancelled_while_waiting_gives_its_token_back),
        cmocka_unit_test(test_finished_in_the_middle_of_an_attempt),
        cmocka_unit_test(test_a_cancelled_attempt),
        cmocka_unit_test(test_a_clock_that_runs_backwards_makes_nothing_negative),
    };
    return cmocka_run_group_tests_name("call/operation", tests, NULL, NULL);
}
