/* timers.c: order by (instant, sequence), moving, disarming, and one turn's barrier. */
#include "test.h"

#include "base/check.h"
#include "base/rng.h"
#include "rt/timers.h"

#include <stdio.h>

static struct timers timers;
static int fired[1000];
static int fired_count;

struct numbered {
    struct rt_timer timer;
    int number;
};

static void record(struct rt_timer *timer)
{
    fired[fired_count++] = CONTAINER_OF(timer, struct numbered, timer)->number;
}

static struct belay_instant at_ns(int64_t ns)
{
    return (struct belay_instant){ns};
}

static void setup(struct numbered *numbered, int count, void (*fire)(struct rt_timer *))
{
    fired_count = 0;
    timers_init(&timers);
    for (int i = 0; i < count; i++) {
        numbered[i].number = i;
        rt_timer_init(&numbered[i].timer, fire);
    }
}

static void the_same_instant_fires_in_the_order_of_arming(void **state)
{
    (void)state;
    struct numbered n[4];
    setup(n, 4, record);
    timers_arm(&timers, &n[2].timer, at_ns(5));
    timers_arm(&timers, &n[0].timer, at_ns(5));
    timers_arm(&timers, &n[3].timer, at_ns(4));
    timers_arm(&timers, &n[1].timer, at_ns(5));
    timers_fire(&timers, at_ns(5));
    assert_int_equal(fired_count, 4);
    const int order[] = {3, 2, 0, 1};
    assert_memory_equal(fired, order, sizeof(order));
    timers_deinit(&timers);
}

static void never_early_by_one_nanosecond(void **state)
{
    (void)state;
    struct numbered n[1];
    setup(n, 1, record);
    timers_arm(&timers, &n[0].timer, at_ns(1000));
    timers_fire(&timers, at_ns(999));
    assert_int_equal(fired_count, 0);
    assert_true(rt_timer_armed(&n[0].timer));
    timers_fire(&timers, at_ns(1000));
    assert_int_equal(fired_count, 1);
    assert_false(rt_timer_armed(&n[0].timer));
    timers_deinit(&timers);
}

static void arming_again_moves_and_goes_behind_its_equals(void **state)
{
    (void)state;
    struct numbered n[3];
    setup(n, 3, record);
    for (int i = 0; i < 3; i++) timers_arm(&timers, &n[i].timer, at_ns(10));
    timers_arm(&timers, &n[0].timer, at_ns(10));
    timers_arm(&timers, &n[1].timer, at_ns(30));
    assert_int_equal(timers_next_at(&timers).ns, 10);
    timers_fire(&timers, at_ns(20));
    const int order[] = {2, 0};
    assert_int_equal(fired_count, 2);
    assert_memory_equal(fired, order, sizeof(order));
    assert_int_equal(timers_next_at(&timers).ns, 30);
    timers_disarm(&timers, &n[1].timer);
    timers_disarm(&timers, &n[1].timer);
    assert_true(belay_instant_is_never(timers_next_at(&timers)));
    timers_deinit(&timers);
}

static void arm_again_in_the_past(struct rt_timer *timer)
{
    record(timer);
    timers_arm(&timers, timer, at_ns(1));
}

static void one_that_arms_itself_in_the_past_waits_a_turn(void **state)
{
    (void)state;
    struct numbered n[1];
    setup(n, 1, arm_again_in_the_past);
    timers_arm(&timers, &n[0].timer, at_ns(1));
    timers_fire(&timers, at_ns(5));
    assert_int_equal(fired_count, 1);
    timers_fire(&timers, at_ns(5));
    assert_int_equal(fired_count, 2);
    timers_disarm(&timers, &n[0].timer);
    timers_deinit(&timers);
}

static struct numbered pair[2];

static void disarm_the_other(struct rt_timer *timer)
{
    record(timer);
    timers_disarm(&timers, &pair[1].timer);
}

static void none_comes_after_disarm(void **state)
{
    (void)state;
    setup(pair, 2, disarm_the_other);
    timers_arm(&timers, &pair[0].timer, at_ns(1));
    timers_arm(&timers, &pair[1].timer, at_ns(1));
    timers_fire(&timers, at_ns(1));
    assert_int_equal(fired_count, 1);
    timers_deinit(&timers);
}

/* Against a plain search of the earliest, over random arming and disarming. */
static void random_sequences_fire_in_order(void **state)
{
    (void)state;
    const uint64_t seed = 20240611;
    printf("seed %llu\n", (unsigned long long)seed);
    struct rng rng;
    rng_seed(&rng, seed);
    static struct numbered n[200];
    setup(n, 200, record);
    for (int i = 0; i < 1000; i++) {
        struct rt_timer *timer = &n[rng_scale(rng_next(&rng), 200)].timer;
        if (rng_scale(rng_next(&rng), 4) == 0) {
            timers_disarm(&timers, timer);
        } else {
            timers_arm(&timers, timer, at_ns((int64_t)rng_scale(rng_next(&rng), 50)));
        }
    }
    int armed = 0;
    for (int i = 0; i < 200; i++) armed += rt_timer_armed(&n[i].timer);
    timers_fire(&timers, at_ns(100));
    assert_int_equal(fired_count, armed);
    for (int i = 1; i < fired_count; i++) {
        const struct rt_timer *a = &n[fired[i - 1]].timer, *b = &n[fired[i]].timer;
        assert_true(a->at.ns < b->at.ns || (a->at.ns == b->at.ns && a->sequence < b->sequence));
    }
    timers_deinit(&timers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_instant_fires_in_the_order_of_arming),
        cmocka_unit_test(never_early_by_one_nanosecond),
        cmocka_unit_test(arming_again_moves_and_goes_behind_its_equals),
        cmocka_unit_test(one_that_arms_itself_in_the_past_waits_a_turn),
        cmocka_unit_test(none_comes_after_disarm),
        cmocka_unit_test(random_sequences_fire_in_order),
    };
    return cmocka_run_group_tests_name("timers", tests, NULL, NULL);
}
