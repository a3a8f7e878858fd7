/* target.c: what all calls to one recipient share: the gates in their order, the queues, and the
 * way back. */
#include "world.h"

/* ---- breaker ---- */

/* Failures at `now_ms`, until it opens. */
static void open_breaker(struct world *world, int64_t now_ms)
{
    while (world_stats(world).breaker_state == BELAY_BREAKER_CLOSED)
        (void)one_call(world, status(500), now_ms);
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
    goes(&ops[0], 6000);
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
    goes(&op, 0);
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
    goes(&op, 0);
    assert_int_equal(record(&op, status(503), 0).decision, BELAY_DECISION_RETRY);
    open_breaker(&world, 10);
    refused(&op, 200, BELAY_TERMINAL_BREAKER_OPEN);
    gone(&op, 200);
    /* Nor does it become the probe when its time has come. */
    begin(&world, &op, &get, 6000);
    goes(&op, 6000);
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
        goes(&op, 6000 + way);
        if (way == 0) (void)record(&op, error(BELAY_ERROR_CANCELLED, BELAY_SENT), 6000);
        if (way == 1) belay_operation_cancel(&op, at(6001));
        gone(&op, 6002);
        assert_int_equal(world_stats(&world).breaker_state, BELAY_BREAKER_HALF_OPEN);
    }
    begin(&world, &op, &get, 6010);
    goes(&op, 6010);
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
    goes(&op, 8000);
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
        goes(&first, 0);
        assert_int_equal(record(&first, hinted(codes[c], 1000), 0).decision, BELAY_DECISION_RETRY);
        for (int i = 0; i < 3; i++) {
            begin(&world, &others[i], &get, 100);
            waits(&others[i], 100, 1000 + 10 * i);
        }
        waits(&others[2], 1005, 1020); /* asked too early, it keeps its turn */
        goes(&first, 1000);
        done(&first, 1000);
        for (int i = 0; i < 3; i++) {
            goes(&others[i], 1020);
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
    goes(&op, 0);
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
    assert_int_equal(admission.retry_hint.ns,
                     belay_span_ms(59900).ns); /* a hold lasts 60 s at most */
    assert_string_equal(belay_operation_finish(&op, at(100)).word, "not_before");
    begin(&world, &op, &get, 60000);
    goes(&op, 60000);
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
    struct belay_traits route = {.safe_method = true, .hold_key = 7},
                        other = {.safe_method = true, .hold_key = 8};
    struct belay_operation op;
    world_begin(&world);
    begin(&world, &op, &route, 0);
    goes(&op, 0);
    (void)record(&op, hinted(503, 1000), 0);
    gone(&op, 0);
    begin(&world, &op, &other, 10);
    goes(&op, 10);
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
        goes(&op, 0);
        (void)record(&op, hinted(503, 1000 + (int64_t)key), 0);
        gone(&op, 0);
    }
    for (uint64_t key = 1; key <= 100; key += 99) {
        struct belay_traits traits = {.safe_method = true, .hold_key = key};
        begin(&world, &op, &traits, 10);
        if (key == 1)
            goes(&op, 10); /* it ended first, and made room */
        else
            waits(&op, 10, 1100);
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
    goes(&a, 100);
    goes(&b, 200);
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
    goes(&late, 100);
    done(&late, 100);
    world_end(&world);
}

static void test_a_turn_past_the_deadline_is_refused_at_once(void **state)
{
    (void)state;
    struct world world = world_with_quota(10);
    world.policy.deadline_for =
        belay_span_ms(205); /* with 5 in reserve, 200 is too late by a hair */
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
    goes(&blocker, 0);
    begin(&world, &op, &get, 0);
    refused(&op, 0, BELAY_TERMINAL_BULKHEAD_FULL);
    gone(&op, 0);
    gone(&blocker, 0);

    begin(&world, &blocker, &get,
          0); /* uses up the quota; its 429 holds the target; then it fails */
    goes(&blocker, 0);
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

static uint64_t retries_of(bool breaker, int64_t period_ms, int operations, int64_t span_ms,
                           uint64_t *most_in_span)
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
        cmocka_unit_test(test_the_first_gate_that_says_no_names_the_reason),
        cmocka_unit_test(test_time_from_a_slower_thread_does_not_turn_the_target_back),
        ROW("H73 a thousand operations over a dead recipient",
            test_a_thousand_operations_over_a_dead_recipient),
    };
    return cmocka_run_group_tests_name("call/target", tests, NULL, NULL);
}
