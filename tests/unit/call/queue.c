/* queue.c: callers that wait for a slot of a target, and what comes back when they are cut off. */
#include "world.h"

#include "seed.h"

/* ---- bulkhead ---- */

enum { CALLERS = 24 };

struct caller {
    struct belay_operation op;
    unsigned wakes;
};

static void wake(struct belay_waiter *waiter)
{
    CONTAINER_OF(belay_operation_of(waiter), struct caller, op)->wakes++;
}

static void begin_caller(struct world *world, struct caller *caller, int64_t now_ms)
{
    struct belay_instant deadline_at = belay_instant_add(at(now_ms), world->policy.deadline_for);
    belay_operation_init(&caller->op, &world->policy, world->target, &get, at(now_ms), deadline_at,
                         wake);
    caller->wakes = 0;
}

static void test_twenty_go_and_the_twenty_first_is_refused_at_once(void **state)
{
    (void)state;
    struct world world = world_with_slots(20, 0), other = world_with_slots(20, 0);
    struct belay_operation ops[21];
    world_begin(&world);
    world_begin(&other);
    for (int i = 0; i < 21; i++) begin(&world, &ops[i], &get, 0);
    for (int i = 0; i < 20; i++) goes(&ops[i], 0);
    refused(&ops[20], 0, BELAY_TERMINAL_BULKHEAD_FULL);
    assert_int_equal(one_call(&other, status(200), 0), BELAY_DECISION_RETURN);
    assert_int_equal(world_stats(&world).refused_bulkhead, 1);
    assert_int_equal(world_stats(&world).in_flight, 20);
    for (int i = 0; i < 21; i++) gone(&ops[i], 5);
    assert_int_equal(world_stats(&world).in_flight, 0);
    assert_int_equal(world_stats(&world).in_flight_peak, 20);
    world_end(&world);
    world_end(&other);
}

static void test_a_slot_is_held_by_an_attempt_and_not_by_a_wait(void **state)
{
    (void)state;
    struct world world = world_with_slots(1, 0);
    struct belay_operation a, b;
    world_begin(&world);
    begin(&world, &a, &get, 0);
    begin(&world, &b, &get, 0);
    goes(&a, 0);
    assert_int_equal(record(&a, status(503), 0).decision, BELAY_DECISION_RETRY);
    goes(&b, 0);
    refused(&a, 200, BELAY_TERMINAL_BULKHEAD_FULL); /* the slot is somebody else's now */
    struct belay_ending ending = belay_operation_finish(&a, at(200));
    assert_string_equal(ending.word, "bulkhead_full");
    assert_int_equal(ending.attempts, 1);
    done(&b, 200);
    world_end(&world);
}

static void test_waiters_get_slots_in_the_order_of_their_coming(void **state)
{
    (void)state;
    struct world world = world_with_slots(1, 2);
    struct caller callers[4];
    world_begin(&world);
    for (int i = 0; i < 4; i++) begin_caller(&world, &callers[i], 0);
    goes(&callers[0].op, 0);
    for (int i = 1; i < 3; i++) {
        struct belay_admission admission = admit(&callers[i].op, 0);
        assert_int_equal(admission.kind, BELAY_QUEUED);
        assert_int_equal(admission.at.ns, at(9995).ns);
    }
    refused(&callers[3].op, 0, BELAY_TERMINAL_BULKHEAD_FULL);
    gone(&callers[3].op, 0);
    assert_int_equal(admit(&callers[2].op, 5).kind, BELAY_QUEUED); /* asking again does not help */
    done(&callers[0].op, 10);
    assert_int_equal(callers[1].wakes, 1);
    assert_int_equal(callers[2].wakes, 0);
    begin_caller(&world, &callers[3], 10);
    assert_int_equal(admit(&callers[3].op, 10).kind, BELAY_QUEUED); /* the slot is promised */
    goes(&callers[1].op, 11);
    done(&callers[1].op, 12);
    goes(&callers[2].op, 13);
    gone(&callers[2].op, 14);
    goes(&callers[3].op, 15);
    done(&callers[3].op, 15);
    for (int i = 1; i < 4; i++) assert_int_equal(callers[i].wakes, 1);
    world_end(&world);
}

static void test_what_waited_past_its_deadline_makes_no_call(void **state)
{
    (void)state;
    struct world world = world_with_slots(1, 1);
    world.policy.deadline_for = belay_span_ms(100);
    struct caller callers[2];
    struct belay_operation after;
    world_begin(&world);
    for (int i = 0; i < 2; i++) begin_caller(&world, &callers[i], 0);
    goes(&callers[0].op, 0);
    struct belay_admission admission = admit(&callers[1].op, 0);
    assert_int_equal(admission.at.ns, at(95).ns);
    gone(&callers[0].op, 95); /* the slot comes free, but too late */
    assert_int_equal(callers[1].wakes, 1);
    refused(&callers[1].op, 95, BELAY_TERMINAL_DEADLINE_EXCEEDED);
    gone(&callers[1].op, 95);
    begin(&world, &after, &get, 95);
    goes(&after, 95);
    done(&after, 95);
    assert_int_equal(world_stats(&world).attempts, 2);
    world_end(&world);
}

static void test_who_goes_away_hands_the_promise_on(void **state)
{
    (void)state;
    struct world world = world_with_slots(1, 2);
    struct caller callers[3];
    world_begin(&world);
    for (int i = 0; i < 3; i++) begin_caller(&world, &callers[i], 0);
    goes(&callers[0].op, 0);
    assert_int_equal(admit(&callers[1].op, 0).kind, BELAY_QUEUED);
    assert_int_equal(admit(&callers[2].op, 0).kind, BELAY_QUEUED);
    done(&callers[0].op, 10);
    belay_operation_cancel(&callers[1].op, at(11)); /* it had been told, and did not come */
    gone(&callers[1].op, 11);
    assert_int_equal(callers[2].wakes, 1);
    goes(&callers[2].op, 12);
    done(&callers[2].op, 12);
    world_end(&world);
}

static void test_no_promised_slot_sleeps_in_another_gate(void **state)
{
    (void)state;
    struct world world = world_with_slots(1, 2);
    struct caller callers[3];
    world_begin(&world);
    for (int i = 0; i < 3; i++) begin_caller(&world, &callers[i], 0);
    goes(&callers[0].op, 0);
    assert_int_equal(admit(&callers[1].op, 0).kind, BELAY_QUEUED);
    assert_int_equal(admit(&callers[2].op, 0).kind, BELAY_QUEUED);
    (void)record(&callers[0].op, hinted(503, 1000), 10);
    assert_int_equal(callers[1].wakes, 1);
    waits(&callers[1].op, 11,
          1010); /* held back now: the slot goes to the next, who is held back too */
    assert_int_equal(callers[2].wakes, 1);
    waits(&callers[2].op, 12, 1020);
    goes(&callers[1].op, 1010);
    done(&callers[1].op, 1011);
    goes(&callers[2].op, 1020);
    done(&callers[2].op, 1021);
    gone(&callers[0].op, 1021);
    world_end(&world);
}

static void test_nobody_queues_who_cannot_be_told(void **state)
{
    (void)state;
    struct world world = world_with_slots(1, 5);
    struct belay_operation a, b;
    world_begin(&world);
    begin(&world, &a, &get, 0);
    begin(&world, &b, &get, 0);
    goes(&a, 0);
    refused(&b, 0, BELAY_TERMINAL_BULKHEAD_FULL);
    gone(&a, 0);
    gone(&b, 0);
    world_end(&world);
}

static void test_concurrency_is_shown(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world_begin(&world);
    for (int i = 0; i < 10; i++) { /* 10 a second, 200 ms each: 2 */
        struct belay_operation op;
        begin(&world, &op, &get, i * 100);
        goes(&op, i * 100);
        done(&op, i * 100 + 200);
    }
    assert_int_equal(world_stats(&world).in_flight_ms, 2000);
    world_end(&world);
}

/* ---- everything comes back ---- */

enum { IDLE, ASKING, CALLING };

struct storm {
    struct rng *rng;
    struct world world;
    struct caller callers[CALLERS];
    int doing[CALLERS];
    int64_t now, earned, highest; /* earned: of the budget, less what retries have spent */
};

static void storm_begin(struct storm *storm, struct rng *rng)
{
    *storm = (struct storm){.rng = rng, .world = world_of_defaults()};
    struct belay_policy *policy = &storm->world.policy;
    policy->bulkhead = (struct belay_bulkhead_config){true, 1 + (uint32_t)test_below(rng, 4),
                                                      (uint32_t)test_below(rng, 6)};
    policy->quota =
        (struct belay_quota_config){test_chance(rng, 50), belay_span_ms(5),
                                    1 + (uint32_t)test_below(rng, 5), (uint32_t)test_below(rng, 5)};
    policy->budget = (struct belay_budget_config){300000, 4};
    policy->breaker.consecutive = 4;
    policy->breaker.open_for = belay_span_ms(50);
    policy->breaker.open_max = belay_span_ms(200);
    policy->backoff =
        (struct belay_backoff_config){BELAY_BACKOFF_FULL, belay_span_ms(20), belay_span_ms(100)};
    policy->deadline_for = belay_span_ms(600);
    world_begin(&storm->world);
}

static void storm_leave(struct storm *storm, size_t i)
{
    gone(&storm->callers[i].op, storm->now);
    storm->doing[i] = IDLE;
}

static void storm_ask(struct storm *storm, size_t i)
{
    struct belay_operation *op = &storm->callers[i].op;
    struct belay_admission admission = admit(op, storm->now);
    switch (admission.kind) {
    case BELAY_ADMITTED:
        storm->doing[i] = CALLING;
        storm->earned += admission.attempt == 1 ? 300000 : -1000000;
        break;
    case BELAY_WAIT:
        assert_true(admission.at.ns > at(storm->now).ns);
        assert_true(admission.at.ns < op->deadline_at.ns);
        break;
    case BELAY_QUEUED: assert_true(admission.at.ns < op->deadline_at.ns); break;
    case BELAY_REFUSED: storm_leave(storm, i);
    }
}

static void storm_answer(struct storm *storm, size_t i)
{
    static const int codes[] = {200, 200, 200, 503, 429, 404, 500, 502};
    struct rng *rng = storm->rng;
    struct belay_outcome outcome = status(codes[test_below(rng, 8)]);
    if (test_chance(rng, 15)) outcome = error(BELAY_ERROR_TIMEOUT, BELAY_SENT);
    if (test_chance(rng, 5)) outcome = error(BELAY_ERROR_CANCELLED, BELAY_SENT);
    outcome.stale = outcome.error == BELAY_ERROR_TIMEOUT && test_chance(rng, 30);
    outcome.has_retry_after = outcome.status >= 429 && test_chance(rng, 30);
    outcome.retry_after_ms = (int64_t)test_below(rng, 100);
    struct belay_verdict verdict =
        belay_operation_record(&storm->callers[i].op, &outcome, at(storm->now), rng_next(rng));
    storm->doing[i] = ASKING;
    if (verdict.decision != BELAY_DECISION_RETRY) storm_leave(storm, i);
}

static void storm_step(struct storm *storm)
{
    size_t i = (size_t)test_below(storm->rng, CALLERS);
    storm->now += (int64_t)test_below(storm->rng, 3);
    if (storm->doing[i] == IDLE) {
        begin_caller(&storm->world, &storm->callers[i], storm->now);
        storm->doing[i] = ASKING;
    } else if (test_chance(storm->rng, 10)) {
        if (test_chance(storm->rng, 50)) {
            belay_operation_cancel(&storm->callers[i].op, at(storm->now));
        }
        storm_leave(storm, i);
    } else if (storm->doing[i] == ASKING) {
        storm_ask(storm, i);
    } else {
        storm_answer(storm, i);
    }
}

static void storm_check(struct storm *storm)
{
    const struct belay_policy *policy = &storm->world.policy;
    struct belay_target_stats stats = world_stats(&storm->world);
    storm->highest = storm->earned > storm->highest ? storm->earned : storm->highest;
    assert_true(storm->highest - storm->earned <= 4 * 1000000);
    assert_true(stats.in_flight <= policy->bulkhead.max);
    assert_true(stats.waiting <= policy->bulkhead.queue + policy->quota.queue);
}

/* Long after, the whole budget is there again: three retries, and the fourth opens the breaker. */
static void storm_end(struct storm *storm)
{
    struct world *world = &storm->world;
    struct belay_target_stats stats = world_stats(world);
    assert_int_equal(stats.in_flight, 0);
    assert_int_equal(stats.waiting, 0);
    assert_true(stats.attempts > 10);
    int64_t now = storm->now + 1000000;
    for (int i = 0; i < 100; i++) (void)one_call(world, status(200), now + i * 1000);
    now += 1000000;
    for (int i = 0; i < 4; i++) {
        struct belay_operation *op = &storm->callers[i].op;
        begin(world, op, &get, now + i * 1000);
        goes(op, now + i * 1000);
        (void)record(op, status(504), now + i * 1000);
        assert_int_equal(op->last_decision,
                         i < 3 ? BELAY_DECISION_RETRY : BELAY_DECISION_BREAKER_OPEN);
    }
    for (int i = 0; i < 4; i++) gone(&storm->callers[i].op, now + 5000);
    world_end(world);
}

/* Whatever the callers do, and wherever they are cut off: no slot, place, permit or token is lost,
 * and who was told gets in or hands it on. */
static void run_storm(struct rng *rng)
{
    struct storm storm;
    storm_begin(&storm, rng);
    for (int step = 0; step < 3000; step++) {
        storm_step(&storm);
        storm_check(&storm);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        if (storm.doing[i] != IDLE) storm_leave(&storm, i);
    }
    storm_end(&storm);
}

static void test_a_storm_leaves_nothing_behind(void **state)
{
    (void)state;
    struct rng rng = test_rng("storm");
    for (int round = 0; round < 60; round++) run_storm(&rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twenty_go_and_the_twenty_first_is_refused_at_once),
        cmocka_unit_test(test_a_slot_is_held_by_an_attempt_and_not_by_a_wait),
        cmocka_unit_test(test_waiters_get_slots_in_the_order_of_their_coming),
        ROW("DL08 what waited past its deadline makes no call",
            test_what_waited_past_its_deadline_makes_no_call),
        cmocka_unit_test(test_who_goes_away_hands_the_promise_on),
        cmocka_unit_test(test_no_promised_slot_sleeps_in_another_gate),
        cmocka_unit_test(test_nobody_queues_who_cannot_be_told),
        cmocka_unit_test(test_concurrency_is_shown),
        cmocka_unit_test(test_a_storm_leaves_nothing_behind),
    };
    return cmocka_run_group_tests_name("call/queue", tests, NULL, NULL);
}
