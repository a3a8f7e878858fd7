/* target.c: what all calls to one recipient share: the gates in their order, the queues, and the way back. */
#include "world.h"

#include "seed.h"
#include "test.h"

#include <string.h>

static struct belay_admission admit(struct belay_operation *op, int64_t now_ms)
{
    return belay_operation_admit(op, at(now_ms));
}

static void admitted(struct belay_operation *op, int64_t now_ms)
{
    assert_int_equal(admit(op, now_ms).kind, BELAY_ADMITTED);
}

static void waits(struct belay_operation *op, int64_t now_ms, int64_t until_ms)
{
    struct belay_admission admission = admit(op, now_ms);
    assert_int_equal(admission.kind, BELAY_WAIT);
    assert_int_equal(admission.at.ns, at(until_ms).ns);
}

static void refused(struct belay_operation *op, int64_t now_ms, enum belay_terminal terminal)
{
    struct belay_admission admission = admit(op, now_ms);
    assert_int_equal(admission.kind, BELAY_REFUSED);
    assert_string_equal(belay_terminal_name(admission.terminal), belay_terminal_name(terminal));
}

static void done(struct belay_operation *op, int64_t now_ms)
{
    (void)record(op, status(200), now_ms);
    (void)belay_operation_finish(op, at(now_ms));
}

static void gone(struct belay_operation *op, int64_t now_ms)
{
    (void)belay_operation_finish(op, at(now_ms));
}

/* ---- breaker ---- */

/* Failures at `now_ms`, until it opens. */
static void open_breaker(struct world *world, int64_t now_ms)
{
    while (world_stats(world).breaker_state == BELAY_BREAKER_CLOSED) (void)one_call(world, status(500), now_ms);
}

static void test_failures_of_one_recipient_open_its_breaker_alone(void **state)
{
    (void)state;
    struct world world = world_of_defaults(), other = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    world_begin(&other);
    open_breaker(&world, 0);
    begin(&world, &op, &get, 1);
    struct belay_admission admission = admit(&op, 1);
    assert_int_equal(admission.kind, BELAY_REFUSED);
    assert_int_equal(admission.terminal, BELAY_TERMINAL_BREAKER_OPEN);
    assert_true(admission.has_hint && admission.retry_hint.ns >= belay_span_ms(4999).ns);
    assert_string_equal(belay_operation_finish(&op, at(1)).word, "breaker_open");
    assert_int_equal(one_call(&other, status(200), 1), BELAY_DECISION_RETURN);
    assert_int_equal(world_stats(&world).attempts, 10);
    assert_int_equal(world_stats(&world).refused_breaker, 1);
    world_end(&world);
    world_end(&other);
}

static void test_exactly_one_probe_goes_at_a_time(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation ops[5];
    world_begin(&world);
    open_breaker(&world, 0);
    for (int i = 0; i < 5; i++) begin(&world, &ops[i], &get, 6000);
    admitted(&ops[0], 6000);
    for (int i = 1; i < 5; i++) {
        refused(&ops[i], 6000, BELAY_TERMINAL_BREAKER_OPEN);
        gone(&ops[i], 6000);
    }
    done(&ops[0], 6010);
    assert_int_equal(world_stats(&world).breaker_state, BELAY_BREAKER_CLOSED);
    world_end(&world);
}

static void test_the_attempt_that_opens_the_breaker_is_not_retried(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    for (int i = 0; i < 9; i++) (void)one_call(&world, status(500), 0);
    begin(&world, &op, &get, 0);
    admitted(&op, 0);
    struct belay_verdict verdict = record(&op, status(503), 0);
    assert_int_equal(verdict.decision, BELAY_DECISION_BREAKER_OPEN);
    assert_int_equal(verdict.reason, BELAY_REASON_BREAKER_NOT_CLOSED);
    assert_string_equal(belay_operation_finish(&op, at(0)).word, "breaker_open");
    world_end(&world);
}

static void test_a_retry_that_waits_while_the_breaker_opens_is_refused(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &get, 0);
    admitted(&op, 0);
    assert_int_equal(record(&op, status(503), 0).decision, BELAY_DECISION_RETRY);
    open_breaker(&world, 10);
    refused(&op, 200, BELAY_TERMINAL_BREAKER_OPEN);
    gone(&op, 200);
    /* Nor does it become the probe when its time has come. */
    begin(&world, &op, &get, 6000);
    admitted(&op, 6000);
    assert_int_equal(record(&op, status(503), 6000).decision, BELAY_DECISION_BREAKER_OPEN);
    gone(&op, 6000);
    world_end(&world);
}

static void test_a_probe_whose_caller_vanished_is_given_back(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    open_breaker(&world, 0);
    for (int way = 0; way < 3; way++) {
        begin(&world, &op, &get, 6000 + way);
        admitted(&op, 6000 + way);
        if (way == 0) (void)record(&op, error(BELAY_ERROR_CANCELLED, BELAY_SENT), 6000);
        if (way == 1) belay_operation_cancel(&op, at(6001));
        gone(&op, 6002);
        assert_int_equal(world_stats(&world).breaker_state, BELAY_BREAKER_HALF_OPEN);
    }
    begin(&world, &op, &get, 6010);
    admitted(&op, 6010);
    done(&op, 6010);
    assert_int_equal(world_stats(&world).breaker_state, BELAY_BREAKER_CLOSED);
    world_end(&world);
}

static void test_the_next_probe_waits_for_the_hint_of_a_429(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.hold.max = belay_span_ms(0); /* the breaker alone */
    struct belay_operation op;
    world_begin(&world);
    open_breaker(&world, 0);
    assert_int_equal(one_call(&world, hinted(429, 2000), 6000), BELAY_DECISION_BREAKER_OPEN);
    begin(&world, &op, &get, 6500);
    waits(&op, 6500, 8000);
    admitted(&op, 8000);
    done(&op, 8000);

    open_breaker(&world, 9000);
    assert_int_equal(one_call(&world, hinted(429, 50000), 15000), BELAY_DECISION_DEADLINE_EXCEEDED);
    begin(&world, &op, &get, 15001);
    refused(&op, 15001, BELAY_TERMINAL_NOT_BEFORE);
    gone(&op, 15001);
    world_end(&world);
}

static void test_429s_slow_the_quota_and_leave_the_breaker_closed(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.quota = (struct belay_quota_config){true, belay_span_ms(20), 50, 0};
    world.policy.attempts_max = 1;
    struct belay_operation op;
    world_begin(&world);
    for (int i = 0; i < 30; i++) (void)one_call(&world, status(429), i * 1000);
    struct belay_target_stats stats = world_stats(&world);
    assert_int_equal(stats.breaker_state, BELAY_BREAKER_CLOSED);
    assert_int_equal(stats.too_many_requests, 30);
    begin(&world, &op, &get, 29001); /* the burst is used up, and the pace is slower */
    refused(&op, 29001, BELAY_TERMINAL_QUOTA_EXCEEDED);
    gone(&op, 29001);
    world_end(&world);
}

/* ---- hold ---- */

static void test_a_hint_holds_back_the_others_and_lets_them_go_one_by_one(void **state)
{
    (void)state;
    static const int codes[] = {429, 503};
    for (int c = 0; c < 2; c++) {
        struct world world = world_of_defaults();
        struct belay_operation first, others[3];
        world_begin(&world);
        begin(&world, &first, &get, 0);
        admitted(&first, 0);
        assert_int_equal(record(&first, hinted(codes[c], 1000), 0).decision, BELAY_DECISION_RETRY);
        for (int i = 0; i < 3; i++) {
            begin(&world, &others[i], &get, 100);
            waits(&others[i], 100, 1000 + 10 * i);
        }
        waits(&others[2], 1005, 1020); /* asked too early, it keeps its turn */
        admitted(&first, 1000);
        done(&first, 1000);
        for (int i = 0; i < 3; i++) {
            admitted(&others[i], 1020);
            done(&others[i], 1020);
        }
        world_end(&world);
    }
}

static void test_a_hint_of_a_post_holds_back_too(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &post, 0);
    admitted(&op, 0);
    assert_int_equal(record(&op, hinted(503, 1000), 0).decision, BELAY_DECISION_STOP);
    gone(&op, 0);
    begin(&world, &op, &get, 1);
    waits(&op, 1, 1000);
    gone(&op, 1);
    world_end(&world);
}

static void test_who_cannot_wait_so_long_ends_at_once(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    assert_int_equal(one_call(&world, hinted(503, 3600000), 0), BELAY_DECISION_DEADLINE_EXCEEDED);
    begin(&world, &op, &get, 100);
    struct belay_admission admission = admit(&op, 100);
    assert_int_equal(admission.kind, BELAY_REFUSED);
    assert_int_equal(admission.terminal, BELAY_TERMINAL_NOT_BEFORE);
    assert_true(admission.has_hint);
    assert_int_equal(admission.retry_hint.ns, belay_span_ms(59900).ns); /* a hold lasts 60 s at most */
    assert_string_equal(belay_operation_finish(&op, at(100)).word, "not_before");
    begin(&world, &op, &get, 60000);
    admitted(&op, 60000);
    done(&op, 60000);
    assert_int_equal(world_stats(&world).refused_hold, 1);
    world_end(&world);
}

static void test_who_is_refused_takes_no_turn(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    (void)one_call(&world, hinted(503, 9000), 0);
    world.policy.deadline_for = belay_span_ms(1000);
    for (int i = 0; i < 10; i++) {
        begin(&world, &op, &get, 10);
        refused(&op, 10, BELAY_TERMINAL_NOT_BEFORE);
        gone(&op, 10);
    }
    world.policy.deadline_for = belay_span_ms(20000);
    begin(&world, &op, &get, 10);
    waits(&op, 10, 9000);
    gone(&op, 10);
    world_end(&world);
}

static void test_a_hint_on_other_statuses_holds_nobody(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world_begin(&world);
    (void)one_call(&world, hinted(502, 1000), 0);
    (void)one_call(&world, hinted(301, 1000), 0);
    assert_int_equal(one_call(&world, status(200), 1), BELAY_DECISION_RETURN);
    world_end(&world);
}

static void test_a_hold_by_route_leaves_other_routes_alone(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.hold.scope = BELAY_HOLD_ROUTE;
    struct belay_traits route = {.safe_method = true, .hold_key = 7}, other = {.safe_method = true, .hold_key = 8};
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &route, 0);
    admitted(&op, 0);
    (void)record(&op, hinted(503, 1000), 0);
    gone(&op, 0);
    begin(&world, &op, &other, 10);
    admitted(&op, 10);
    done(&op, 10);
    begin(&world, &op, &route, 10);
    waits(&op, 10, 1000);
    gone(&op, 10);
    world_end(&world);
}

static void test_the_holds_by_key_are_bounded(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    world.policy.hold.scope = BELAY_HOLD_KEY;
    world.policy.breaker.enabled = false;
    struct belay_operation op;
    world_begin(&world);
    for (uint64_t key = 1; key <= 100; key++) {
        struct belay_traits traits = {.safe_method = true, .hold_key = key};
        begin(&world, &op, &traits, 0);
        admitted(&op, 0);
        (void)record(&op, hinted(503, 1000 + (int64_t)key), 0);
        gone(&op, 0);
    }
    for (uint64_t key = 1; key <= 100; key += 99) {
        struct belay_traits traits = {.safe_method = true, .hold_key = key};
        begin(&world, &op, &traits, 10);
        if (key == 1) admitted(&op, 10); /* it ended first, and made room */
        else waits(&op, 10, 1100);
        gone(&op, 10);
    }
    world_end(&world);
}

/* ---- quota ---- */

static struct world world_with_quota(uint32_t queue)
{
    struct world world = world_of_defaults();
    world.policy.quota = (struct belay_quota_config){true, belay_span_ms(100), 2, queue};
    return world;
}

static void test_over_the_quota_the_caller_is_refused(void **state)
{
    (void)state;
    struct world world = world_with_quota(0);
    struct belay_operation op;
    world_begin(&world);
    for (int i = 0; i < 2; i++) (void)one_call(&world, status(200), 0);
    begin(&world, &op, &get, 0);
    struct belay_admission admission = admit(&op, 0);
    assert_int_equal(admission.terminal, BELAY_TERMINAL_QUOTA_EXCEEDED);
    assert_int_equal(admission.retry_hint.ns, belay_span_ms(100).ns);
    gone(&op, 0);
    (void)one_call(&world, status(200), 100);
    assert_int_equal(world_stats(&world).refused_quota, 1);
    world_end(&world);
}

static void test_or_waits_its_turn_in_a_bounded_queue(void **state)
{
    (void)state;
    struct world world = world_with_quota(2);
    struct belay_operation a, b, c;
    world_begin(&world);
    for (int i = 0; i < 2; i++) (void)one_call(&world, status(200), 0);
    begin(&world, &a, &get, 0);
    begin(&world, &b, &get, 0);
    begin(&world, &c, &get, 0);
    waits(&a, 0, 100);
    waits(&b, 0, 200);
    refused(&c, 0, BELAY_TERMINAL_QUOTA_EXCEEDED);
    assert_int_equal(world_stats(&world).waiting, 2);
    waits(&b, 100, 200); /* asked early: the one before it goes first */
    admitted(&a, 100);
    admitted(&b, 200);
    assert_int_equal(world_stats(&world).waiting, 0);
    done(&a, 200);
    done(&b, 200);
    gone(&c, 200);
    world_end(&world);
}

static void test_who_leaves_the_quota_queue_makes_room(void **state)
{
    (void)state;
    struct world world = world_with_quota(3);
    struct belay_operation ops[3], late;
    world_begin(&world);
    for (int i = 0; i < 2; i++) (void)one_call(&world, status(200), 0);
    for (int i = 0; i < 3; i++) {
        begin(&world, &ops[i], &get, 0);
        waits(&ops[i], 0, 100 * (i + 1));
    }
    gone(&ops[0], 50);
    waits(&ops[2], 60, 200);
    gone(&ops[1], 60);
    waits(&ops[2], 60, 100);
    begin(&world, &late, &get, 70);
    waits(&late, 70, 200);
    gone(&ops[2], 80);
    admitted(&late, 100);
    done(&late, 100);
    world_end(&world);
}

static void test_a_turn_past_the_deadline_is_refused_at_once(void **state)
{
    (void)state;
    struct world world = world_with_quota(10);
    world.policy.deadline_for = belay_span_ms(205); /* with 5 in reserve, 200 is too late by a hair */
    struct belay_operation a, b;
    world_begin(&world);
    for (int i = 0; i < 2; i++) (void)one_call(&world, status(200), 0);
    begin(&world, &a, &get, 0);
    begin(&world, &b, &get, 0);
    waits(&a, 0, 100);
    refused(&b, 0, BELAY_TERMINAL_QUOTA_EXCEEDED);
    gone(&a, 0);
    gone(&b, 0);
    world_end(&world);
}

static void test_rate_limit_fields_lower_the_pace(void **state)
{
    (void)state;
    struct world world = world_with_quota(1);
    struct belay_operation op;
    world_begin(&world);
    belay_target_on_limit(world.target, at(0), 0, belay_span_ms(3000));
    begin(&world, &op, &get, 0);
    waits(&op, 0, 3000);
    gone(&op, 0);
    world_end(&world);
}

/* ---- bulkhead ---- */

enum { CALLERS = 24 };

struct caller {
    struct belay_operation op;
    unsigned wakes;
};

static void wake(struct belay_waiter *waiter)
{
    CONTAINER_OF(waiter, struct caller, op.waiter)->wakes++;
}

static void begin_caller(struct world *world, struct caller *caller, int64_t now_ms)
{
    struct belay_instant deadline_at = belay_instant_add(at(now_ms), world->policy.deadline_for);
    belay_operation_init(&caller->op, &world->policy, world->target, &get, at(now_ms), deadline_at, wake);
    caller->wakes = 0;
}

static struct world world_with_slots(uint32_t max, uint32_t queue)
{
    struct world world = world_of_defaults();
    world.policy.bulkhead = (struct belay_bulkhead_config){true, max, queue};
    return world;
}

static void test_twenty_go_and_the_twenty_first_is_refused_at_once(void **state)
{
    (void)state;
    struct world world = world_with_slots(20, 0), other = world_with_slots(20, 0);
    struct belay_operation ops[21];
    world_begin(&world);
    world_begin(&other);
    for (int i = 0; i < 21; i++) begin(&world, &ops[i], &get, 0);
    for (int i = 0; i < 20; i++) admitted(&ops[i], 0);
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
    admitted(&a, 0);
    assert_int_equal(record(&a, status(503), 0).decision, BELAY_DECISION_RETRY);
    admitted(&b, 0);
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
    admitted(&callers[0].op, 0);
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
    admitted(&callers[1].op, 11);
    done(&callers[1].op, 12);
    admitted(&callers[2].op, 13);
    gone(&callers[2].op, 14);
    admitted(&callers[3].op, 15);
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
    admitted(&callers[0].op, 0);
    struct belay_admission admission = admit(&callers[1].op, 0);
    assert_int_equal(admission.at.ns, at(95).ns);
    gone(&callers[0].op, 95); /* the slot comes free, but too late */
    assert_int_equal(callers[1].wakes, 1);
    refused(&callers[1].op, 95, BELAY_TERMINAL_DEADLINE_EXCEEDED);
    gone(&callers[1].op, 95);
    begin(&world, &after, &get, 95);
    admitted(&after, 95);
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
    admitted(&callers[0].op, 0);
    assert_int_equal(admit(&callers[1].op, 0).kind, BELAY_QUEUED);
    assert_int_equal(admit(&callers[2].op, 0).kind, BELAY_QUEUED);
    done(&callers[0].op, 10);
    belay_operation_cancel(&callers[1].op, at(11)); /* it had been told, and did not come */
    gone(&callers[1].op, 11);
    assert_int_equal(callers[2].wakes, 1);
    admitted(&callers[2].op, 12);
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
    admitted(&callers[0].op, 0);
    assert_int_equal(admit(&callers[1].op, 0).kind, BELAY_QUEUED);
    assert_int_equal(admit(&callers[2].op, 0).kind, BELAY_QUEUED);
    (void)record(&callers[0].op, hinted(503, 1000), 10);
    assert_int_equal(callers[1].wakes, 1);
    waits(&callers[1].op, 11, 1010); /* held back now: the slot goes to the next, who is held back too */
    assert_int_equal(callers[2].wakes, 1);
    waits(&callers[2].op, 12, 1020);
    admitted(&callers[1].op, 1010);
    done(&callers[1].op, 1011);
    admitted(&callers[2].op, 1020);
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
    admitted(&a, 0);
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
        admitted(&op, i * 100);
        done(&op, i * 100 + 200);
    }
    assert_int_equal(world_stats(&world).in_flight_ms, 2000);
    world_end(&world);
}

/* ---- the gates, in their order ---- */

static void test_the_first_gate_that_says_no_names_the_reason(void **state)
{
    (void)state;
    struct world world = world_with_slots(1, 0);
    world.policy.quota = (struct belay_quota_config){true, belay_span_ms(100000), 2, 0};
    world.policy.breaker.consecutive = 1;
    struct belay_operation blocker, op;
    world_begin(&world);
    begin(&world, &blocker, &get, 0);
    admitted(&blocker, 0);
    begin(&world, &op, &get, 0);
    refused(&op, 0, BELAY_TERMINAL_BULKHEAD_FULL);
    gone(&op, 0);
    gone(&blocker, 0);

    begin(&world, &blocker, &get, 0); /* uses up the quota; its 429 holds the target; then it fails */
    admitted(&blocker, 0);
    begin(&world, &op, &get, 0);
    refused(&op, 0, BELAY_TERMINAL_QUOTA_EXCEEDED);
    gone(&op, 0);
    (void)record(&blocker, hinted(503, 60000), 0);
    gone(&blocker, 0);
    begin(&world, &op, &get, 0);
    refused(&op, 0, BELAY_TERMINAL_BREAKER_OPEN);
    gone(&op, 0);
    begin(&world, &op, &get, 6000);
    refused(&op, 6000, BELAY_TERMINAL_NOT_BEFORE);
    gone(&op, 6000);
    begin(&world, &op, &get, 6000);
    refused(&op, 16000, BELAY_TERMINAL_DEADLINE_EXCEEDED);
    gone(&op, 16000);
    world_end(&world);
}

static void test_time_from_a_slower_thread_does_not_turn_the_target_back(void **state)
{
    (void)state;
    struct world world = world_of_defaults();
    struct belay_operation op;
    world_begin(&world);
    (void)one_call(&world, hinted(503, 1000), 5000);
    begin(&world, &op, &get, 0); /* a clock five seconds behind */
    waits(&op, 0, 6000);
    gone(&op, 0);
    world_end(&world);
}

/* ---- the budget's promise on virtual time ---- */

static uint64_t retries_of(bool breaker, int64_t period_ms, int operations, int64_t span_ms, uint64_t *most_in_span)
{
    struct world world = world_of_defaults();
    world.policy.breaker.enabled = breaker;
    world_begin(&world);
    int64_t sent[4096];
    size_t count = 0;
    for (int i = 0; i < operations; i++) {
        struct belay_operation op;
        int64_t now = i * period_ms;
        begin(&world, &op, &get, now);
        while (belay_operation_admit(&op, at(now)).kind == BELAY_ADMITTED) {
            if (op.attempts > 1) sent[count++] = now;
            struct belay_verdict verdict = record(&op, status(503), now);
            if (verdict.decision != BELAY_DECISION_RETRY) break;
            now = verdict.retry_at.ns / BELAY_NS_PER_MS;
        }
        gone(&op, now);
    }
    *most_in_span = 0;
    for (size_t i = 0, j = 0; i < count; i++) {
        while (sent[i] - sent[j] >= span_ms) j++;
        if (i - j + 1 > *most_in_span) *most_in_span = i - j + 1;
    }
    uint64_t retries = world_stats(&world).retries;
    assert_int_equal(retries, count);
    world_end(&world);
    return retries;
}

static void test_a_thousand_operations_over_a_dead_recipient(void **state)
{
    (void)state;
    for (int breaker = 0; breaker < 2; breaker++) {
        uint64_t most = 0;
        uint64_t retries = retries_of(breaker, 10, 1000, 10000, &most);
        assert_in_range(retries, 1, 110);
        retries = retries_of(breaker, 1000, 1000, 10000, &most);
        assert_in_range(retries, 1, 110);
        assert_in_range(most, 1, 11);
    }
}

/* ---- everything comes back ---- */

/* Whatever the callers do, and wherever they are cut off: no slot, place, permit or token is lost, and who was told
 * gets in or hands it on. */
static void storm(struct rng *rng)
{
    struct world world = world_of_defaults();
    world.policy.bulkhead = (struct belay_bulkhead_config){true, 1 + (uint32_t)test_below(rng, 4),
                                                           (uint32_t)test_below(rng, 6)};
    world.policy.quota = (struct belay_quota_config){test_chance(rng, 50), belay_span_ms(5),
                                                     1 + (uint32_t)test_below(rng, 5), (uint32_t)test_below(rng, 5)};
    world.policy.budget = (struct belay_budget_config){300000, 4};
    world.policy.breaker.consecutive = 4;
    world.policy.breaker.open_for = belay_span_ms(50);
    world.policy.breaker.open_max = belay_span_ms(200);
    world.policy.backoff = (struct belay_backoff_config){BELAY_BACKOFF_FULL, belay_span_ms(20), belay_span_ms(100)};
    world.policy.deadline_for = belay_span_ms(600);
    world_begin(&world);
    static const int codes[] = {200, 200, 200, 503, 429, 404, 500, 502};
    enum { IDLE, ASKING, CALLING } doing[CALLERS] = {IDLE};
    struct caller callers[CALLERS];
    int64_t now = 0, earned = 0, highest = 0;
    for (int step = 0; step < 3000; step++) {
        size_t i = (size_t)test_below(rng, CALLERS);
        struct caller *caller = &callers[i];
        now += (int64_t)test_below(rng, 3);
        if (doing[i] == IDLE) {
            begin_caller(&world, caller, now);
            doing[i] = ASKING;
        } else if (test_chance(rng, 10)) {
            if (test_chance(rng, 50)) belay_operation_cancel(&caller->op, at(now));
            gone(&caller->op, now);
            doing[i] = IDLE;
        } else if (doing[i] == ASKING) {
            struct belay_admission admission = admit(&caller->op, now);
            if (admission.kind == BELAY_ADMITTED) doing[i] = CALLING;
            if (admission.kind == BELAY_ADMITTED) earned += admission.attempt == 1 ? 300000 : -1000000;
            if (admission.kind == BELAY_WAIT) assert_true(admission.at.ns > at(now).ns);
            if (admission.kind == BELAY_WAIT || admission.kind == BELAY_QUEUED) {
                assert_true(admission.at.ns < caller->op.deadline_at.ns);
            }
            if (admission.kind == BELAY_REFUSED) {
                gone(&caller->op, now);
                doing[i] = IDLE;
            }
        } else {
            struct belay_outcome outcome = status(codes[test_below(rng, 8)]);
            if (test_chance(rng, 15)) outcome = error(BELAY_ERROR_TIMEOUT, BELAY_SENT);
            if (test_chance(rng, 5)) outcome = error(BELAY_ERROR_CANCELLED, BELAY_SENT);
            outcome.stale = outcome.error == BELAY_ERROR_TIMEOUT && test_chance(rng, 30);
            outcome.has_retry_after = outcome.status >= 429 && test_chance(rng, 30);
            outcome.retry_after_ms = (int64_t)test_below(rng, 100);
            struct belay_verdict verdict = belay_operation_record(&caller->op, &outcome, at(now), rng_next(rng));
            doing[i] = verdict.decision == BELAY_DECISION_RETRY ? ASKING : IDLE;
            if (doing[i] == IDLE) gone(&caller->op, now);
        }
        highest = earned > highest ? earned : highest;
        assert_true(highest - earned <= 4 * 1000000);
        struct belay_target_stats stats = world_stats(&world);
        assert_true(stats.in_flight <= world.policy.bulkhead.max);
        assert_true(stats.waiting <= world.policy.bulkhead.queue + world.policy.quota.queue);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        if (doing[i] != IDLE) gone(&callers[i].op, now);
    }
    struct belay_target_stats stats = world_stats(&world);
    assert_int_equal(stats.in_flight, 0);
    assert_int_equal(stats.waiting, 0);
    assert_true(stats.attempts > 10);

    /* Long after: the whole budget is there again, and every slot. */
    now += 1000000;
    for (int i = 0; i < 100; i++) (void)one_call(&world, status(200), now + i * 1000);
    now += 1000000;
    for (int i = 0; i < 4; i++) {
        begin_caller(&world, &callers[i], now + i * 1000);
        admitted(&callers[i].op, now + i * 1000);
        (void)record(&callers[i].op, status(504), now + i * 1000);
        assert_int_equal(callers[i].op.last_decision,
                         i < 3 ? BELAY_DECISION_RETRY : BELAY_DECISION_BREAKER_OPEN);
    }
    for (int i = 0; i < 4; i++) gone(&callers[i].op, now + 5000);
    world_end(&world);
}

static void test_a_storm_leaves_nothing_behind(void **state)
{
    (void)state;
    struct rng rng = test_rng("storm");
    for (int round = 0; round < 60; round++) storm(&rng);
}

#define ROW(name, function) {name, function, NULL, NULL, NULL}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW("H77 failures of one recipient open its breaker alone",
            test_failures_of_one_recipient_open_its_breaker_alone),
        ROW("H77 exactly one probe goes at a time", test_exactly_one_probe_goes_at_a_time),
        cmocka_unit_test(test_the_attempt_that_opens_the_breaker_is_not_retried),
        cmocka_unit_test(test_a_retry_that_waits_while_the_breaker_opens_is_refused),
        cmocka_unit_test(test_a_probe_whose_caller_vanished_is_given_back),
        cmocka_unit_test(test_the_next_probe_waits_for_the_hint_of_a_429),
        ROW("H78 429s slow the quota and leave the breaker closed",
            test_429s_slow_the_quota_and_leave_the_breaker_closed),
        cmocka_unit_test(test_a_hint_holds_back_the_others_and_lets_them_go_one_by_one),
        cmocka_unit_test(test_a_hint_of_a_post_holds_back_too),
        cmocka_unit_test(test_who_cannot_wait_so_long_ends_at_once),
        cmocka_unit_test(test_who_is_refused_takes_no_turn),
        cmocka_unit_test(test_a_hint_on_other_statuses_holds_nobody),
        cmocka_unit_test(test_a_hold_by_route_leaves_other_routes_alone),
        cmocka_unit_test(test_the_holds_by_key_are_bounded),
        cmocka_unit_test(test_over_the_quota_the_caller_is_refused),
        cmocka_unit_test(test_or_waits_its_turn_in_a_bounded_queue),
        cmocka_unit_test(test_who_leaves_the_quota_queue_makes_room),
        cmocka_unit_test(test_a_turn_past_the_deadline_is_refused_at_once),
        cmocka_unit_test(test_rate_limit_fields_lower_the_pace),
        cmocka_unit_test(test_twenty_go_and_the_twenty_first_is_refused_at_once),
        cmocka_unit_test(test_a_slot_is_held_by_an_attempt_and_not_by_a_wait),
        cmocka_unit_test(test_waiters_get_slots_in_the_order_of_their_coming),
        ROW("DL08 what waited past its deadline makes no call", test_what_waited_past_its_deadline_makes_no_call),
        cmocka_unit_test(test_who_goes_away_hands_the_promise_on),
        cmocka_unit_test(test_no_promised_slot_sleeps_in_another_gate),
        cmocka_unit_test(test_nobody_queues_who_cannot_be_told),
        cmocka_unit_test(test_concurrency_is_shown),
        cmocka_unit_test(test_the_first_gate_that_says_no_names_the_reason),
        cmocka_unit_test(test_time_from_a_slower_thread_does_not_turn_the_target_back),
        ROW("H73 a thousand operations over a dead recipient", test_a_thousand_operations_over_a_dead_recipient),
        cmocka_unit_test(test_a_storm_leaves_nothing_behind),
    };
    return cmocka_run_group_tests_name("call/target", tests, NULL, NULL);
}
