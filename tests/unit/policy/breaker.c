/* breaker.c: the breaker's legal changes of state, its window, its probes and its generations. */
#include <belay/breaker.h>
#include <belay/policy.h>

#include "seed.h"
#include "test.h"

#define OPENED_AT_LATEST(open_for_ms) ((open_for_ms) + (open_for_ms) / 10)

static struct belay_instant at(int64_t ms)
{
    return (struct belay_instant){ms * BELAY_NS_PER_MS};
}

static struct belay_breaker_config defaults(void)
{
    return belay_policy_default().breaker;
}

static struct belay_breaker breaker_of(struct belay_breaker_config config)
{
    struct belay_breaker breaker;
    belay_breaker_init(&breaker, &config);
    return breaker;
}

static struct belay_breaker_permit take(struct belay_breaker *breaker, int64_t now_ms)
{
    assert_int_equal(belay_breaker_decide(breaker, at(now_ms), false).kind, BELAY_BREAKER_PASS);
    return belay_breaker_take(breaker, at(now_ms + 60000));
}

static struct belay_breaker_result result_of(enum belay_health health)
{
    return (struct belay_breaker_result){
        .health = health, .allowed = belay_span_ms(1000), .elapsed = belay_span_ms(10)};
}

static void give_result(struct belay_breaker *breaker, struct belay_breaker_permit permit,
                        enum belay_health health, int64_t now_ms)
{
    struct belay_breaker_result result = result_of(health);
    belay_breaker_on_result(breaker, permit, &result, at(now_ms), 0);
}

static void call(struct belay_breaker *breaker, enum belay_health health, int64_t now_ms)
{
    give_result(breaker, take(breaker, now_ms), health, now_ms);
}

/* Open at `now_ms`, for exactly open_for (the dice show no jitter). */
static struct belay_breaker opened(int64_t now_ms)
{
    struct belay_breaker breaker = breaker_of(defaults());
    for (int i = 0; i < 10; i++) call(&breaker, BELAY_HEALTH_BAD, now_ms);
    assert_int_equal(breaker.state, BELAY_BREAKER_OPEN);
    return breaker;
}

static enum belay_breaker_answer_kind ask(const struct belay_breaker *breaker, int64_t now_ms)
{
    return belay_breaker_decide(breaker, at(now_ms), false).kind;
}

static void test_ten_failures_in_a_row_open(void **state)
{
    (void)state;
    struct belay_breaker breaker = breaker_of(defaults());
    for (int i = 0; i < 9; i++) call(&breaker, BELAY_HEALTH_BAD, i);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
    call(&breaker, BELAY_HEALTH_BAD, 9);
    assert_int_equal(breaker.state, BELAY_BREAKER_OPEN);
    assert_int_equal(breaker.opened, 1);
}

static void test_a_success_ends_the_row_and_neutral_does_not(void **state)
{
    (void)state;
    struct belay_breaker breaker = breaker_of(defaults());
    for (int i = 0; i < 9; i++) call(&breaker, BELAY_HEALTH_BAD, 0);
    call(&breaker, BELAY_HEALTH_GOOD, 0);
    for (int i = 0; i < 9; i++) {
        call(&breaker, BELAY_HEALTH_BAD, 0);
        if (breaker.state != BELAY_BREAKER_CLOSED) break;
        call(&breaker, BELAY_HEALTH_NEUTRAL, 0);
        call(&breaker, BELAY_HEALTH_ALIVE, 0);
    }
    assert_int_equal(breaker.total.calls, 19);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
    call(&breaker, BELAY_HEALTH_BAD, 0);
    assert_int_equal(breaker.state, BELAY_BREAKER_OPEN);
}

static void test_half_of_twenty_calls_open(void **state)
{
    (void)state;
    struct belay_breaker breaker = breaker_of(defaults());
    for (int i = 0; i < 19; i++) call(&breaker, i % 2 ? BELAY_HEALTH_GOOD : BELAY_HEALTH_BAD, 0);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED); /* 10 of 19, but 19 calls are too few */
    call(&breaker, BELAY_HEALTH_GOOD, 0);
    assert_int_equal(breaker.state, BELAY_BREAKER_OPEN); /* 10 of 20 */
}

static void test_less_than_half_does_not(void **state)
{
    (void)state;
    struct belay_breaker breaker = breaker_of(defaults());
    for (int i = 0; i < 1000; i++)
        call(&breaker, i % 100 < 51 ? BELAY_HEALTH_GOOD : BELAY_HEALTH_NEUTRAL, 0);
    for (int i = 0; i < 400; i++) call(&breaker, i % 2 ? BELAY_HEALTH_GOOD : BELAY_HEALTH_BAD, 0);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
}

static void test_a_rate_of_nothing_opens_at_the_first_failure_and_not_before(void **state)
{
    (void)state;
    struct belay_breaker_config config = defaults();
    config.failure_ppm = 0;
    struct belay_breaker breaker = breaker_of(config);
    for (int i = 0; i < 50; i++) call(&breaker, BELAY_HEALTH_GOOD, 0);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
    call(&breaker, BELAY_HEALTH_BAD, 0);
    assert_int_equal(breaker.state, BELAY_BREAKER_OPEN);
}

static void test_what_has_left_the_window_is_forgotten(void **state)
{
    (void)state;
    struct belay_breaker_config config = defaults();
    config.consecutive = 0;
    struct belay_breaker breaker = breaker_of(config);
    for (int i = 0; i < 19; i++) call(&breaker, BELAY_HEALTH_BAD, 500);
    call(&breaker, BELAY_HEALTH_BAD, 10000); /* the first bucket has just left */
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
    assert_int_equal(breaker.total.calls, 1);
}

static void test_what_is_in_the_window_is_kept(void **state)
{
    (void)state;
    struct belay_breaker_config config = defaults();
    config.consecutive = 0;
    struct belay_breaker breaker = breaker_of(config);
    for (int i = 0; i < 19; i++) call(&breaker, BELAY_HEALTH_BAD, i * 500);
    call(&breaker, BELAY_HEALTH_BAD, 9999);
    assert_int_equal(breaker.state, BELAY_BREAKER_OPEN);
}

static void test_a_clock_that_stands_still_evicts_nothing(void **state)
{
    (void)state;
    struct belay_breaker_config config = defaults();
    config.consecutive = 0;
    config.min_calls = 1000;
    struct belay_breaker breaker = breaker_of(config);
    for (int i = 0; i < 999; i++) call(&breaker, BELAY_HEALTH_BAD, 77777);
    assert_int_equal(breaker.total.failures, 999);
    call(&breaker, BELAY_HEALTH_BAD, 77777);
    assert_int_equal(breaker.state, BELAY_BREAKER_OPEN);
}

static void test_after_a_long_idle_span_it_counts_afresh(void **state)
{
    (void)state;
    struct belay_breaker_config config = defaults();
    config.consecutive = 0;
    struct belay_breaker breaker = breaker_of(config);
    for (int i = 0; i < 10; i++) call(&breaker, BELAY_HEALTH_BAD, 0);
    int64_t later = INT64_C(1000) * 86400 * 400;
    for (int i = 0; i < 19; i++) call(&breaker, BELAY_HEALTH_BAD, later);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
    call(&breaker, BELAY_HEALTH_BAD, later + 1);
    assert_int_equal(breaker.state, BELAY_BREAKER_OPEN);
}

static void test_open_refuses_until_its_time_has_passed(void **state)
{
    (void)state;
    struct belay_breaker breaker = opened(1000);
    assert_int_equal(ask(&breaker, 1000), BELAY_BREAKER_REFUSE);
    assert_int_equal(ask(&breaker, 5999), BELAY_BREAKER_REFUSE);
    assert_int_equal(belay_breaker_decide(&breaker, at(2000), false).at.ns, at(6000).ns);
    assert_int_equal(ask(&breaker, 6000), BELAY_BREAKER_PASS);
}

static void test_a_retry_never_goes_through_a_breaker_that_is_not_closed(void **state)
{
    (void)state;
    struct belay_breaker breaker = opened(0);
    assert_int_equal(belay_breaker_decide(&breaker, at(9999), true).kind, BELAY_BREAKER_REFUSE);
    (void)take(&breaker, 5000);
    assert_int_equal(breaker.state, BELAY_BREAKER_HALF_OPEN);
    assert_int_equal(belay_breaker_decide(&breaker, at(9999), true).kind, BELAY_BREAKER_REFUSE);
}

static void test_one_probe_at_a_time_and_its_success_closes(void **state)
{
    (void)state;
    struct belay_breaker breaker = opened(0);
    struct belay_breaker_permit probe = take(&breaker, 5000);
    assert_true(probe.probe);
    assert_int_equal(ask(&breaker, 5000), BELAY_BREAKER_REFUSE);
    give_result(&breaker, probe, BELAY_HEALTH_GOOD, 5010);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
    assert_false(take(&breaker, 5010).probe);
}

static void test_any_answer_below_500_proves_life(void **state)
{
    (void)state;
    struct belay_breaker breaker = opened(0);
    give_result(&breaker, take(&breaker, 5000), BELAY_HEALTH_ALIVE, 5001);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
}

static void test_several_probes_and_successes(void **state)
{
    (void)state;
    struct belay_breaker_config config = defaults();
    config.probes = 2;
    config.probe_successes = 3;
    struct belay_breaker breaker = breaker_of(config);
    for (int i = 0; i < 10; i++) call(&breaker, BELAY_HEALTH_BAD, 0);
    struct belay_breaker_permit a = take(&breaker, 5000), b = take(&breaker, 5000);
    assert_int_equal(ask(&breaker, 5000), BELAY_BREAKER_REFUSE);
    give_result(&breaker, a, BELAY_HEALTH_GOOD, 5001);
    give_result(&breaker, b, BELAY_HEALTH_GOOD, 5002);
    assert_int_equal(breaker.state, BELAY_BREAKER_HALF_OPEN);
    call(&breaker, BELAY_HEALTH_GOOD, 5003);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
}

static void test_each_reopening_lasts_twice_as_long_up_to_a_limit(void **state)
{
    (void)state;
    struct belay_breaker breaker = opened(0);
    const int64_t spans[] = {5000, 10000, 20000, 40000, 60000, 60000, 60000};
    int64_t now = 0;
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        assert_int_equal(ask(&breaker, now + spans[i] - 1), BELAY_BREAKER_REFUSE);
        now += spans[i];
        call(&breaker, BELAY_HEALTH_BAD, now);
        assert_int_equal(breaker.state, BELAY_BREAKER_OPEN);
    }
    call(&breaker, BELAY_HEALTH_GOOD, now + 60000);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
    for (int i = 0; i < 10; i++) call(&breaker, BELAY_HEALTH_BAD, now + 60000);
    assert_int_equal(ask(&breaker, now + 65000),
                     BELAY_BREAKER_PASS); /* closing made it short again */
}

static void test_jitter_lengthens_an_opening_by_at_most_a_tenth(void **state)
{
    (void)state;
    struct rng rng = test_rng("open jitter");
    int64_t least = INT64_MAX, most = 0;
    for (int round = 0; round < 500; round++) {
        struct belay_breaker breaker = breaker_of(defaults());
        struct belay_breaker_result bad = result_of(BELAY_HEALTH_BAD);
        for (int i = 0; i < 10; i++) {
            belay_breaker_on_result(&breaker, take(&breaker, 0), &bad, at(0), rng_next(&rng));
        }
        int64_t open_ms = breaker.retry_at.ns / BELAY_NS_PER_MS;
        assert_in_range(open_ms, 5000, OPENED_AT_LATEST(5000));
        least = open_ms < least ? open_ms : least;
        most = open_ms > most ? open_ms : most;
    }
    assert_true(most - least > 300);
}

static void test_a_429_gives_the_probe_back_and_the_next_waits_for_its_hint(void **state)
{
    (void)state;
    struct belay_breaker breaker = opened(0);
    struct belay_breaker_result too_many = result_of(BELAY_HEALTH_NEUTRAL);
    too_many.hint = belay_span_ms(2000);
    belay_breaker_on_result(&breaker, take(&breaker, 5000), &too_many, at(5010), 0);
    assert_int_equal(breaker.state, BELAY_BREAKER_HALF_OPEN);
    struct belay_breaker_answer answer = belay_breaker_decide(&breaker, at(5020), false);
    assert_int_equal(answer.kind, BELAY_BREAKER_WAIT);
    assert_int_equal(answer.at.ns, at(7010).ns);
    call(&breaker, BELAY_HEALTH_GOOD, 7010);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
}

static void test_a_hint_of_a_probe_is_capped(void **state)
{
    (void)state;
    struct belay_breaker breaker = opened(0);
    struct belay_breaker_result too_many = result_of(BELAY_HEALTH_NEUTRAL);
    too_many.hint = belay_span_ms(INT64_MAX);
    belay_breaker_on_result(&breaker, take(&breaker, 5000), &too_many, at(5000), 0);
    assert_int_equal(ask(&breaker, 65000), BELAY_BREAKER_PASS);
}

static void test_a_probe_without_a_result_is_given_back(void **state)
{
    (void)state;
    struct belay_breaker breaker = opened(0);
    belay_breaker_give(&breaker, take(&breaker, 5000));
    assert_int_equal(breaker.state, BELAY_BREAKER_HALF_OPEN);
    give_result(&breaker, take(&breaker, 5001), BELAY_HEALTH_NEUTRAL, 5002);
    assert_int_equal(breaker.state, BELAY_BREAKER_HALF_OPEN);
    call(&breaker, BELAY_HEALTH_GOOD, 5003);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
}

static void test_a_probe_that_vanished_blocks_nobody_after_its_lease(void **state)
{
    (void)state;
    struct belay_breaker breaker = opened(0);
    struct belay_breaker_permit lost = take(&breaker, 5000); /* leased until 65000 */
    assert_int_equal(ask(&breaker, 65000), BELAY_BREAKER_REFUSE);
    struct belay_breaker_permit next = take(&breaker, 65001);
    assert_int_equal(ask(&breaker, 65002), BELAY_BREAKER_REFUSE);
    give_result(&breaker, lost, BELAY_HEALTH_BAD, 65003); /* too late to matter */
    belay_breaker_give(&breaker, lost);
    assert_int_equal(breaker.state, BELAY_BREAKER_HALF_OPEN);
    assert_int_equal(ask(&breaker, 65004), BELAY_BREAKER_REFUSE); /* `next` is still out */
    give_result(&breaker, next, BELAY_HEALTH_GOOD, 65004);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
}

static void test_a_late_result_of_an_older_generation_changes_nothing(void **state)
{
    (void)state;
    struct belay_breaker breaker = breaker_of(defaults());
    struct belay_breaker_permit old = take(&breaker, 0);
    for (int i = 0; i < 10; i++) call(&breaker, BELAY_HEALTH_BAD, 0);
    struct belay_breaker before = breaker;
    give_result(&breaker, old, BELAY_HEALTH_GOOD, 1);
    give_result(&breaker, old, BELAY_HEALTH_BAD, 1);
    belay_breaker_give(&breaker, old);
    assert_memory_equal(&before, &breaker, sizeof breaker);
    struct belay_breaker_permit probe = take(&breaker, 5000);
    give_result(&breaker, old, BELAY_HEALTH_BAD, 5001);
    assert_int_equal(breaker.state, BELAY_BREAKER_HALF_OPEN);
    give_result(&breaker, probe, BELAY_HEALTH_GOOD, 5002);
    give_result(&breaker, probe, BELAY_HEALTH_BAD, 5003);
    assert_int_equal(breaker.total.calls, 0);
}

static void test_a_timeout_of_a_tiny_attempt_is_neutral(void **state)
{
    (void)state;
    struct belay_breaker breaker = breaker_of(defaults());
    struct belay_breaker_result timeout = result_of(BELAY_HEALTH_BAD);
    timeout.timed_out = true;
    timeout.allowed = belay_span_ns(belay_span_ms(100).ns - 1);
    for (int i = 0; i < 50; i++)
        belay_breaker_on_result(&breaker, take(&breaker, 0), &timeout, at(0), 0);
    assert_int_equal(breaker.total.calls, 0);
    timeout.allowed = belay_span_ms(100);
    for (int i = 0; i < 10; i++)
        belay_breaker_on_result(&breaker, take(&breaker, 0), &timeout, at(0), 0);
    assert_int_equal(breaker.state, BELAY_BREAKER_OPEN);
}

static void test_a_tiny_attempt_that_was_reset_is_a_failure(void **state)
{
    (void)state;
    struct belay_breaker breaker = breaker_of(defaults());
    struct belay_breaker_result reset = result_of(BELAY_HEALTH_BAD);
    reset.allowed = belay_span_ms(1);
    for (int i = 0; i < 10; i++)
        belay_breaker_on_result(&breaker, take(&breaker, 0), &reset, at(0), 0);
    assert_int_equal(breaker.state, BELAY_BREAKER_OPEN);
}

static void slow_calls(struct belay_breaker *breaker, struct belay_breaker_result result,
                       int64_t elapsed_ms, int n)
{
    result.elapsed = belay_span_ms(elapsed_ms);
    for (int i = 0; i < n; i++)
        belay_breaker_on_result(breaker, take(breaker, 0), &result, at(0), 0);
}

static void test_slow_calls_open(void **state)
{
    (void)state;
    struct belay_breaker_config config = defaults();
    config.slow_after = belay_span_ms(1000);
    struct belay_breaker breaker = breaker_of(config);
    slow_calls(&breaker, result_of(BELAY_HEALTH_GOOD), 1000, 100); /* not longer than the limit */
    assert_int_equal(breaker.total.slow, 0);
    breaker = breaker_of(config);
    slow_calls(&breaker, result_of(BELAY_HEALTH_GOOD), 1001, 19);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
    slow_calls(&breaker, result_of(BELAY_HEALTH_GOOD), 1001, 1);
    assert_int_equal(breaker.state, BELAY_BREAKER_OPEN);
}

static void test_a_slow_rate_below_all(void **state)
{
    (void)state;
    struct belay_breaker_config config = defaults();
    config.slow_after = belay_span_ms(1000);
    config.slow_ppm = 300000;
    struct belay_breaker breaker = breaker_of(config);
    slow_calls(&breaker, result_of(BELAY_HEALTH_GOOD), 10, 14);
    slow_calls(&breaker, result_of(BELAY_HEALTH_GOOD), 2000, 5);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
    slow_calls(&breaker, result_of(BELAY_HEALTH_GOOD), 2000, 1);
    assert_int_equal(breaker.state, BELAY_BREAKER_OPEN);
}

static void test_a_cancelled_call_counts_only_when_it_was_slow(void **state)
{
    (void)state;
    struct belay_breaker_config config = defaults();
    config.slow_after = belay_span_ms(1000);
    struct belay_breaker breaker = breaker_of(config);
    struct belay_breaker_result cancelled = result_of(BELAY_HEALTH_NEUTRAL);
    cancelled.cancelled = true;
    slow_calls(&breaker, cancelled, 500, 50);
    assert_int_equal(breaker.total.calls, 0);
    slow_calls(&breaker, cancelled, 1500, 20);
    assert_int_equal(breaker.state, BELAY_BREAKER_OPEN);
}

static void test_neutral_calls_leave_no_trace(void **state)
{
    (void)state;
    struct belay_breaker_config config = defaults();
    config.slow_after = belay_span_ms(1000);
    struct belay_breaker breaker = breaker_of(config), before = breaker;
    slow_calls(&breaker, result_of(BELAY_HEALTH_NEUTRAL), 9000, 50);
    slow_calls(&breaker, result_of(BELAY_HEALTH_ALIVE), 9000, 50);
    assert_memory_equal(&before, &breaker, sizeof breaker);
}

static void test_switched_off_it_never_opens(void **state)
{
    (void)state;
    struct belay_breaker_config config = defaults();
    config.enabled = false;
    struct belay_breaker breaker = breaker_of(config);
    for (int i = 0; i < 1000; i++) call(&breaker, BELAY_HEALTH_BAD, 0);
    assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
}

static void test_extreme_settings_stay_finite(void **state)
{
    (void)state;
    struct belay_breaker_config config = defaults();
    config.window = belay_span_ns(0);
    config.open_for = config.open_max = belay_span_ns(INT64_MAX);
    struct belay_breaker breaker = breaker_of(config);
    for (int i = 0; i < 10; i++) call(&breaker, BELAY_HEALTH_BAD, i);
    assert_true(belay_instant_is_never(breaker.retry_at));
    config.open_for = belay_span_ns(-1);
    breaker = breaker_of(config);
    for (int i = 0; i < 10; i++) call(&breaker, BELAY_HEALTH_BAD, i);
    assert_int_equal(ask(&breaker, 9), BELAY_BREAKER_PASS);
}

static void test_counts_saturate(void **state)
{
    (void)state;
    struct belay_breaker_config config = defaults();
    config.consecutive = 0;
    struct belay_breaker breaker = breaker_of(config);
    breaker.total.calls = breaker.buckets[breaker.newest].calls = UINT32_MAX;
    call(&breaker, BELAY_HEALTH_GOOD, 0);
    assert_int_equal(breaker.total.calls, UINT32_MAX);
}

static void test_states_have_names(void **state)
{
    (void)state;
    assert_string_equal(belay_breaker_state_name(BELAY_BREAKER_CLOSED), "closed");
    assert_string_equal(belay_breaker_state_name(BELAY_BREAKER_OPEN), "open");
    assert_string_equal(belay_breaker_state_name(BELAY_BREAKER_HALF_OPEN), "half_open");
    assert_null(belay_breaker_state_name(BELAY_BREAKER_STATE_COUNT));
    assert_null(belay_breaker_state_name((enum belay_breaker_state) - 1));
}

/* Every change is one of the four edges and begins a new generation; probes never exceed their
 * number; counts are the sum of the buckets; nothing passes before its time. */
static void check_step(const struct belay_breaker *before, const struct belay_breaker *after)
{
    static const bool legal[3][3] = {
        [BELAY_BREAKER_CLOSED] = {[BELAY_BREAKER_CLOSED] = true, [BELAY_BREAKER_OPEN] = true},
        [BELAY_BREAKER_OPEN] = {[BELAY_BREAKER_OPEN] = true, [BELAY_BREAKER_HALF_OPEN] = true},
        [BELAY_BREAKER_HALF_OPEN] = {true, true, true},
    };
    assert_true(legal[before->state][after->state]);
    assert_true(after->generation >= before->generation);
    if (before->state != after->state) assert_int_equal(after->generation, before->generation + 1);
    assert_true(after->probes_out <= after->config.probes);
    if (after->state != BELAY_BREAKER_HALF_OPEN) assert_int_equal(after->probes_out, 0);
    struct belay_breaker_counts sum = {0};
    for (int i = 0; i < BELAY_BREAKER_BUCKETS; i++) {
        sum.calls += after->buckets[i].calls;
        sum.failures += after->buckets[i].failures;
        sum.slow += after->buckets[i].slow;
    }
    assert_memory_equal(&sum, &after->total, sizeof sum);
    assert_true(sum.failures <= sum.calls && sum.slow <= sum.calls);
}

static void test_random_sequences_take_only_legal_edges(void **state)
{
    (void)state;
    struct rng rng = test_rng("breaker");
    for (int round = 0; round < 200; round++) {
        enum { N = 32 };
        struct belay_breaker_config config = defaults();
        config.probes = 1 + (uint32_t)test_below(&rng, 3);
        config.probe_successes = 1 + (uint32_t)test_below(&rng, 3);
        config.min_calls = 1 + (uint32_t)test_below(&rng, 20);
        config.consecutive = (uint32_t)test_below(&rng, 8);
        config.slow_after = belay_span_ms((int64_t)test_below(&rng, 40));
        struct belay_breaker breaker = breaker_of(config);
        struct belay_breaker_permit permits[N];
        bool out[N] = {false};
        int64_t now = 0;
        for (int step = 0; step < 2000; step++) {
            struct belay_breaker before = breaker;
            size_t i = (size_t)test_below(&rng, N);
            now += test_chance(&rng, 2) ? (int64_t)test_below(&rng, 70000)
                                        : (int64_t)test_below(&rng, 50);
            if (!out[i]) {
                bool is_retry = test_chance(&rng, 30);
                struct belay_breaker_answer answer =
                    belay_breaker_decide(&breaker, at(now), is_retry);
                assert_memory_equal(&before, &breaker, sizeof breaker);
                if (answer.kind != BELAY_BREAKER_PASS) continue;
                if (is_retry) assert_int_equal(breaker.state, BELAY_BREAKER_CLOSED);
                if (breaker.state == BELAY_BREAKER_OPEN)
                    assert_true(at(now).ns >= breaker.retry_at.ns);
                permits[i] = belay_breaker_take(&breaker, at(now + 1000));
                assert_int_equal(permits[i].probe, breaker.state == BELAY_BREAKER_HALF_OPEN);
                out[i] = true;
            } else if (test_chance(&rng, 20)) {
                belay_breaker_give(&breaker, permits[i]);
                out[i] = false;
            } else {
                struct belay_breaker_result result = {
                    .health = (enum belay_health)test_below(&rng, BELAY_HEALTH_BAD + 1),
                    .timed_out = test_chance(&rng, 20),
                    .cancelled = test_chance(&rng, 20),
                    .allowed = belay_span_ms((int64_t)test_below(&rng, 200)),
                    .elapsed = belay_span_ms((int64_t)test_below(&rng, 80)),
                    .hint =
                        belay_span_ms(test_chance(&rng, 50) ? (int64_t)test_below(&rng, 3000) : 0),
                };
                belay_breaker_on_result(&breaker, permits[i], &result, at(now), rng_next(&rng));
                if (permits[i].generation != before.generation) {
                    assert_memory_equal(&before, &breaker, sizeof breaker);
                }
                out[i] = false;
            }
            check_step(&before, &breaker);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ten_failures_in_a_row_open),
        cmocka_unit_test(test_a_success_ends_the_row_and_neutral_does_not),
        cmocka_unit_test(test_half_of_twenty_calls_open),
        cmocka_unit_test(test_less_than_half_does_not),
        cmocka_unit_test(test_a_rate_of_nothing_opens_at_the_first_failure_and_not_before),
        cmocka_unit_test(test_what_has_left_the_window_is_forgotten),
        cmocka_unit_test(test_what_is_in_the_window_is_kept),
        cmocka_unit_test(test_a_clock_that_stands_still_evicts_nothing),
        cmocka_unit_test(test_after_a_long_idle_span_it_counts_afresh),
        cmocka_unit_test(test_open_refuses_until_its_time_has_passed),
        cmocka_unit_test(test_a_retry_never_goes_through_a_breaker_that_is_not_closed),
        cmocka_unit_test(test_one_probe_at_a_time_and_its_success_closes),
        cmocka_unit_test(test_any_answer_below_500_proves_life),
        cmocka_unit_test(test_several_probes_and_successes),
        cmocka_unit_test(test_each_reopening_lasts_twice_as_long_up_to_a_limit),
        cmocka_unit_test(test_jitter_lengthens_an_opening_by_at_most_a_tenth),
        cmocka_unit_test(test_a_429_gives_the_probe_back_and_the_next_waits_for_its_hint),
        cmocka_unit_test(test_a_hint_of_a_probe_is_capped),
        cmocka_unit_test(test_a_probe_without_a_result_is_given_back),
        cmocka_unit_test(test_a_probe_that_vanished_blocks_nobody_after_its_lease),
        cmocka_unit_test(test_a_late_result_of_an_older_generation_changes_nothing),
        cmocka_unit_test(test_a_timeout_of_a_tiny_attempt_is_neutral),
        cmocka_unit_test(test_a_tiny_attempt_that_was_reset_is_a_failure),
        cmocka_unit_test(test_slow_calls_open),
        cmocka_unit_test(test_a_slow_rate_below_all),
        cmocka_unit_test(test_a_cancelled_call_counts_only_when_it_was_slow),
        cmocka_unit_test(test_neutral_calls_leave_no_trace),
        cmocka_unit_test(test_switched_off_it_never_opens),
        cmocka_unit_test(test_extreme_settings_stay_finite),
        cmocka_unit_test(test_counts_saturate),
        cmocka_unit_test(test_states_have_names),
        cmocka_unit_test(test_random_sequences_take_only_legal_edges),
    };
    return cmocka_run_group_tests_name("policy/breaker", tests, NULL, NULL);
}
