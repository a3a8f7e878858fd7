/* test_load.c: a thousand operations over a target that always fails, and chains of belays over a
 * dead bottom. */
#include "test.h"

#include "caller.h"
#include "check.h"
#include "egress.h"
#include "origin.h"

#include <stdlib.h>

/* ---- a thousand operations ---- */

#define OPERATIONS 1000

static size_t retries_in(const struct history *history, int64_t from_ns, int64_t to_ns)
{
    size_t count = 0;
    for (size_t i = 0; i < history->attempts.count; i++) {
        const struct attempt_record *record = history_attempt(history, i);
        int64_t start_ns = record->at.ns - record->elapsed_ms * BELAY_NS_PER_MS;
        count += record->attempt > 1 && start_ns >= from_ns && start_ns < to_ns;
    }
    return count;
}

static void judge_load(const struct history *history, const struct egress *egress, int64_t every_ms)
{
    struct check_rules rules = {.policy = egress->conf->targets[0].policy};
    char why[CHECK_WHY_BYTES];
    const char *broken = check_history(history, &rules, why);
    if (broken) fail_msg("%s: %s", broken, why);
    assert_int_equal(history->operations.count, OPERATIONS);
    size_t retries = retries_in(history, 0, INT64_MAX);
    printf("every %lld ms, breaker %s: %zu retries\n", (long long)every_ms,
           rules.policy.breaker.enabled ? "on" : "off", retries);
    assert_true(retries > 0);
    assert_true(retries <= OPERATIONS / 10 + 10);
    for (size_t i = 0; every_ms == 1000 && i < history->attempts.count; i++) {
        const struct attempt_record *record = history_attempt(history, i);
        int64_t start_ns = record->at.ns - record->elapsed_ms * BELAY_NS_PER_MS;
        assert_true(retries_in(history, start_ns, start_ns + 10 * BELAY_NS_PER_S) <= 11);
    }
}

static void fail_a_thousand_times(const char *policy, int64_t every_ms)
{
    struct rt *rt = rt_create(7);
    struct history history;
    struct egress egress;
    char yaml[512];
    snprintf(yaml, sizeof(yaml),
             "targets: { dead: { addresses: [ 127.0.0.1:9000 ], policy: { %s } } }\n"
             "listeners: [ { listen: 127.0.0.1:8080, kind: egress, target: dead } ]\n",
             policy);
    history_init(&history, rt);
    struct origin *origin = origin_create(&history, "dead", 9000, "503 2ms", ORIGIN_IN_TURN);
    egress_init(&egress, &history, yaml);
    struct caller *callers[OPERATIONS];
    for (int i = 0; i < OPERATIONS; i++) {
        struct caller_plan plan = {
            .to = egress.addr, .count = 1, .starts_after = belay_span_ms(i * every_ms)};
        snprintf(plan.requests[0].operation, HISTORY_ID_BYTES, "op-%d", i);
        callers[i] = caller_create(&history, &plan);
    }
    (void)sim_run_until(
        rt, belay_instant_add(rt_now(rt), belay_span_ms(OPERATIONS * every_ms + 60000)));
    judge_load(&history, &egress, every_ms);
    for (int i = 0; i < OPERATIONS; i++) {
        assert_true(caller_done(callers[i]));
        caller_destroy(callers[i]);
    }
    egress_deinit(&egress);
    origin_destroy(origin);
    history_deinit(&history);
    rt_destroy(rt);
}

static void h73_breaker_off_at_100_a_second(void **state)
{
    (void)state;
    fail_a_thousand_times("breaker: off", 10);
}

static void h73_breaker_off_at_1_a_second(void **state)
{
    (void)state;
    fail_a_thousand_times("breaker: off", 1000);
}

/* Ten failures open it, which at 100 a second is before a first wait of 200 ms is over: a shorter
 * one, so that there are retries at all. */
#define BREAKER_ON "backoff: { base: 20ms }"

static void h73_breaker_on_at_100_a_second(void **state)
{
    (void)state;
    fail_a_thousand_times(BREAKER_ON, 10);
}

static void h73_breaker_on_at_1_a_second(void **state)
{
    (void)state;
    fail_a_thousand_times(BREAKER_ON, 1000);
}

/* ---- chains ---- */

#define LEVELS 3

/* Calls at the bottom for one operation through three belays. */
static size_t calls_at_the_bottom(const char *bottom, const char *policy)
{
    struct rt *rt = rt_create(3);
    struct history history;
    struct egress levels[LEVELS];
    history_init(&history, rt);
    struct origin *origin = origin_create(&history, "bottom", 9000, bottom, ORIGIN_IN_TURN);
    for (int i = LEVELS - 1; i >= 0; i--) {
        char yaml[512];
        snprintf(yaml, sizeof(yaml),
                 "targets: { next: { addresses: [ 127.0.0.1:%d ], policy: { %s } } }\n"
                 "listeners: [ { listen: 127.0.0.1:%d, kind: egress, target: next } ]\n",
                 i == LEVELS - 1 ? 9000 : 8081 + i, policy, 8080 + i);
        egress_init(&levels[i], &history, yaml);
    }
    struct caller_plan plan = {.to = levels[0].addr, .count = 1};
    snprintf(plan.requests[0].operation, HISTORY_ID_BYTES, "op-1");
    struct caller *caller = caller_create(&history, &plan);
    (void)sim_run_until(rt, belay_instant_add(rt_now(rt), belay_span_ms(600000)));
    assert_true(caller_done(caller));
    assert_int_equal(caller_reply(caller, 0)->kind, REPLY_WHOLE);
    size_t calls = origin_calls_of(origin, "op-1");
    caller_destroy(caller);
    for (int i = 0; i < LEVELS; i++) egress_deinit(&levels[i]);
    origin_destroy(origin);
    history_deinit(&history);
    rt_destroy(rt);
    return calls;
}

static void three_belays_call_a_dead_bottom_three_times(void **state)
{
    (void)state;
    assert_int_equal(calls_at_the_bottom("503 5ms", "deadline: 60s"), 3);
}

static void three_belays_over_a_broken_bottom_call_it_at_most_three_times(void **state)
{
    (void)state;
    assert_in_range(calls_at_the_bottom("reset before 5ms", "deadline: 60s"), 1, 3);
    assert_in_range(calls_at_the_bottom("silence", "deadline: 60s, attempt_timeout: 1s"), 1, 3);
}

static void with_the_rule_off_they_call_it_27_times(void **state)
{
    (void)state;
    const char *policy =
        "deadline: 60s, retry_when_owned: true, breaker: off, budget: { ratio: 100%, burst: 100 }";
    assert_int_equal(calls_at_the_bottom("503 5ms", policy), 27);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"H73 breaker off, 100 a second", h73_breaker_off_at_100_a_second, NULL, NULL, NULL},
        {"H73 breaker off, 1 a second", h73_breaker_off_at_1_a_second, NULL, NULL, NULL},
        {"H73 breaker on, 100 a second", h73_breaker_on_at_100_a_second, NULL, NULL, NULL},
        {"H73 breaker on, 1 a second", h73_breaker_on_at_1_a_second, NULL, NULL, NULL},
        cmocka_unit_test(three_belays_call_a_dead_bottom_three_times),
        cmocka_unit_test(three_belays_over_a_broken_bottom_call_it_at_most_three_times),
        cmocka_unit_test(with_the_rule_off_they_call_it_27_times),
    };
    return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
