/* policy.c: the defaults are those that the documents promise. */
#include <belay/policy.h>

#include "test.h"

static void test_defaults(void **state)
{
    (void)state;
    struct belay_policy p = belay_policy_default();
    assert_int_equal(p.deadline_for.ns, belay_span_ms(10000).ns);
    assert_int_equal(p.reserve_for.ns, belay_span_ms(5).ns);
    assert_int_equal(p.connect_timeout_for.ns, belay_span_ms(300).ns);
    assert_int_equal(p.tls_timeout_for.ns, belay_span_ms(1000).ns);
    assert_int_equal(p.silence_timeout_for.ns, belay_span_ms(5000).ns);
    assert_int_equal(p.attempt_timeout_for.ns, 0);
    assert_int_equal(p.attempts_max, 3);
    assert_false(p.retry_unsafe_refusals || p.retry_when_owned);
    assert_int_equal(p.backoff.kind, BELAY_BACKOFF_ADDITIVE);
    assert_int_equal(p.backoff.base.ns, belay_span_ms(200).ns);
    assert_int_equal(p.backoff.max.ns, belay_span_ms(5000).ns);
    assert_int_equal(p.replay_buffer_bytes_max, 262144);
    assert_int_equal(p.held_answer_bytes_max, 16384);
    assert_int_equal(p.idle_for.ns, belay_span_ms(4000).ns);
    assert_int_equal(p.idle_max, 256);
}

static void test_defaults_of_what_a_target_shares(void **state)
{
    (void)state;
    struct belay_policy p = belay_policy_default();
    assert_int_equal(p.budget.ratio_ppm, 100000);
    assert_int_equal(p.budget.burst, 10);
    assert_true(p.breaker.enabled);
    assert_int_equal(p.breaker.window.ns, belay_span_ms(10000).ns);
    assert_int_equal(p.breaker.min_calls, 20);
    assert_int_equal(p.breaker.failure_ppm, 500000);
    assert_int_equal(p.breaker.slow_after.ns, 0);
    assert_int_equal(p.breaker.slow_ppm, 1000000);
    assert_int_equal(p.breaker.consecutive, 10);
    assert_int_equal(p.breaker.open_for.ns, belay_span_ms(5000).ns);
    assert_int_equal(p.breaker.open_max.ns, belay_span_ms(60000).ns);
    assert_int_equal(p.breaker.probes, 1);
    assert_int_equal(p.breaker.probe_successes, 1);
    assert_int_equal(p.breaker.min_timeout.ns, belay_span_ms(100).ns);
    assert_true(p.bulkhead.enabled);
    assert_int_equal(p.bulkhead.max, 64);
    assert_int_equal(p.bulkhead.queue, 0);
    assert_false(p.quota.enabled);
    assert_int_equal(p.hold.max.ns, belay_span_ms(60000).ns);
    assert_int_equal(p.hold.scope, BELAY_HOLD_TARGET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_defaults_of_what_a_target_shares),
    };
    return cmocka_run_group_tests_name("policy/policy", tests, NULL, NULL);
}
