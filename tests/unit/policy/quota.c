/* quota.c: calls taken stay within burst + span / per_call, and what the recipient says only slows
 * them. */
#include <belay/quota.h>

#include "seed.h"
#include "test.h"

static struct belay_instant at(int64_t ms)
{
    return (struct belay_instant){ms * BELAY_NS_PER_MS};
}

static struct belay_quota quota_of(int64_t per_call_ms, uint32_t burst)
{
    struct belay_quota quota;
    struct belay_quota_config config = {true, belay_span_ms(per_call_ms), burst, 0};
    belay_quota_init(&quota, &config);
    return quota;
}

static int64_t next_ms(const struct belay_quota *quota, int64_t now_ms, uint32_t ahead)
{
    struct belay_instant next_at = belay_quota_next_at(quota, at(now_ms), ahead);
    return next_at.ns <= at(now_ms).ns ? now_ms : next_at.ns / BELAY_NS_PER_MS;
}

static void test_a_burst_goes_at_once_and_then_the_pace(void **state)
{
    (void)state;
    struct belay_quota quota = quota_of(20, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(next_ms(&quota, 1000, 0), 1000);
        belay_quota_take(&quota, at(1000));
    }
    assert_int_equal(next_ms(&quota, 1000, 0), 1020);
    assert_int_equal(next_ms(&quota, 1019, 0), 1020);
    assert_int_equal(next_ms(&quota, 1020, 0), 1020);
}

static void test_who_waits_behind_others_waits_longer(void **state)
{
    (void)state;
    struct belay_quota quota = quota_of(20, 1);
    belay_quota_take(&quota, at(1000));
    for (uint32_t ahead = 0; ahead < 5; ahead++)
        assert_int_equal(next_ms(&quota, 1000, ahead), 1020 + 20 * ahead);
}

static void test_idle_time_earns_no_more_than_the_burst(void **state)
{
    (void)state;
    struct belay_quota quota = quota_of(20, 2);
    belay_quota_take(&quota, at(0));
    belay_quota_take(&quota, at(1000000));
    belay_quota_take(&quota, at(1000000));
    assert_int_equal(next_ms(&quota, 1000000, 0), 1000020);
}

static void test_switched_off_it_never_waits(void **state)
{
    (void)state;
    struct belay_quota quota;
    belay_quota_init(&quota, &(struct belay_quota_config){false, belay_span_ms(1000), 1, 0});
    for (int i = 0; i < 10; i++) {
        assert_int_equal(next_ms(&quota, 5, 9), 5);
        belay_quota_take(&quota, at(5));
        belay_quota_on_too_many(&quota, at(5));
        belay_quota_on_limit(&quota, at(5), 0, belay_span_ms(1000));
    }
}

static void test_a_burst_of_none_is_one(void **state)
{
    (void)state;
    struct belay_quota quota = quota_of(20, 0);
    assert_int_equal(next_ms(&quota, 1000, 0), 1000);
    belay_quota_take(&quota, at(1000));
    assert_int_equal(next_ms(&quota, 1000, 0), 1020);
}

static void test_a_429_uses_up_the_burst_and_doubles_the_pace(void **state)
{
    (void)state;
    struct belay_quota quota = quota_of(20, 5);
    belay_quota_on_too_many(&quota, at(1000));
    assert_int_equal(next_ms(&quota, 1000, 0), 1040);
    belay_quota_take(&quota, at(1040));
    assert_int_equal(next_ms(&quota, 1040, 0), 1080);
    for (int i = 0; i < 10; i++) belay_quota_on_too_many(&quota, at(1040));
    belay_quota_take(&quota, at(2000));
    assert_true(next_ms(&quota, 2000, 6) - next_ms(&quota, 2000, 5) == 8 * 20);
}

static void test_the_pace_recovers_step_by_step(void **state)
{
    (void)state;
    struct belay_quota quota = quota_of(20, 1);
    belay_quota_on_too_many(&quota, at(0));
    belay_quota_on_too_many(&quota, at(0));
    belay_quota_take(&quota, at(9999));
    assert_int_equal(next_ms(&quota, 9999, 0), 9999 + 80);
    belay_quota_take(&quota, at(10200));
    assert_int_equal(next_ms(&quota, 10200, 0), 10200 + 40);
    belay_quota_take(&quota, at(20000));
    assert_int_equal(next_ms(&quota, 20000, 0), 20000 + 20);
}

static void test_what_is_left_is_spread_until_the_reset(void **state)
{
    (void)state;
    struct belay_quota quota = quota_of(20, 1);
    belay_quota_on_limit(&quota, at(0), 10, belay_span_ms(1000));
    belay_quota_take(&quota, at(0));
    assert_int_equal(next_ms(&quota, 0, 0), 100);
    belay_quota_take(&quota, at(1000)); /* after the reset */
    assert_int_equal(next_ms(&quota, 1000, 0), 1020);
}

static void test_nothing_left_waits_for_the_reset(void **state)
{
    (void)state;
    struct belay_quota quota = quota_of(20, 4);
    belay_quota_on_limit(&quota, at(0), 0, belay_span_ms(700));
    assert_int_equal(next_ms(&quota, 0, 0), 700);
}

static void test_no_recipient_stops_us_for_longer_than_a_minute(void **state)
{
    (void)state;
    struct belay_quota quota = quota_of(20, 1);
    belay_quota_on_limit(&quota, at(0), 0, belay_span_ms(INT64_MAX));
    assert_int_equal(next_ms(&quota, 0, 0), 60000);
}

static void test_more_left_than_our_own_pace_changes_nothing(void **state)
{
    (void)state;
    struct belay_quota quota = quota_of(20, 1);
    belay_quota_on_limit(&quota, at(0), UINT64_MAX, belay_span_ms(1000));
    belay_quota_on_limit(&quota, at(0), 1, belay_span_ms(-5));
    belay_quota_take(&quota, at(0));
    assert_int_equal(next_ms(&quota, 0, 0), 20);
}

static void test_extreme_numbers_saturate(void **state)
{
    (void)state;
    struct belay_quota quota;
    belay_quota_init(&quota, &(struct belay_quota_config){true, {INT64_MAX}, UINT32_MAX, 0});
    for (int i = 0; i < 5; i++) {
        belay_quota_take(&quota, at(i));
        belay_quota_on_too_many(&quota, at(i));
        assert_true(belay_quota_next_at(&quota, at(i), UINT32_MAX).ns >=
                    belay_quota_next_at(&quota, at(i), 0).ns);
    }
}

/* As with the budget: burst + span / per_call over every span is a bound on a draw-down. */
static void test_calls_stay_within_the_pace_over_every_span(void **state)
{
    (void)state;
    struct rng rng = test_rng("quota");
    int64_t total = 0;
    for (int round = 0; round < 200; round++) {
        int64_t per_call = 1 + (int64_t)test_below(&rng, 50);
        uint32_t burst = 1 + (uint32_t)test_below(&rng, 8);
        struct belay_quota quota = quota_of(per_call, burst);
        int64_t now = 0, taken = 0, highest = 0;
        for (int i = 0; i < 1000; i++) {
            now += (int64_t)test_below(&rng, (uint64_t)per_call * 2);
            int64_t level = now - taken * per_call; /* earned less spent */
            highest = level > highest ? level : highest;
            if (test_chance(&rng, 2)) belay_quota_on_too_many(&quota, at(now));
            if (test_chance(&rng, 2))
                belay_quota_on_limit(&quota, at(now), test_below(&rng, 5), belay_span_ms(100));
            while (next_ms(&quota, now, (uint32_t)test_below(&rng, 2)) <= now) {
                belay_quota_take(&quota, at(now));
                taken++;
            }
            assert_true(highest - (now - taken * per_call) <= (int64_t)burst * per_call);
        }
        total += taken;
    }
    assert_true(total > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_burst_goes_at_once_and_then_the_pace),
        cmocka_unit_test(test_who_waits_behind_others_waits_longer),
        cmocka_unit_test(test_idle_time_earns_no_more_than_the_burst),
        cmocka_unit_test(test_switched_off_it_never_waits),
        cmocka_unit_test(test_a_burst_of_none_is_one),
        cmocka_unit_test(test_a_429_uses_up_the_burst_and_doubles_the_pace),
        cmocka_unit_test(test_the_pace_recovers_step_by_step),
        cmocka_unit_test(test_what_is_left_is_spread_until_the_reset),
        cmocka_unit_test(test_nothing_left_waits_for_the_reset),
        cmocka_unit_test(test_no_recipient_stops_us_for_longer_than_a_minute),
        cmocka_unit_test(test_more_left_than_our_own_pace_changes_nothing),
        cmocka_unit_test(test_extreme_numbers_saturate),
        cmocka_unit_test(test_calls_stay_within_the_pace_over_every_span),
    };
    return cmocka_run_group_tests_name("policy/quota", tests, NULL, NULL);
}
