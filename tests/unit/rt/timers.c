/* timers.c: order by (instant, sequence), moving, disarming, one turn's barrier; and any calls
 * against a plain search. */
#include "test.h"

#include "base/check.h"
#include "rt/timers.h"
#include "seed.h"

#include <string.h>

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
}

/* ---- against a plain search of the earliest ---- */

#define MODEL_TIMERS 200

static struct numbered many[MODEL_TIMERS];
static struct rng luck;

/* What the timers should do: the same calls, without a heap. */
static struct {
    struct belay_instant at;
    uint64_t sequence;
    bool armed;
} model[MODEL_TIMERS];
static uint64_t model_sequence;

static void arm_both(int number)
{
    struct belay_instant at = at_ns((int64_t)test_below(&luck, 50));
    model[number].at = at;
    model[number].sequence = model_sequence++;
    model[number].armed = true;
    timers_arm(&timers, &many[number].timer, at);
}

static void disarm_both(int number)
{
    model[number].armed = false;
    timers_disarm(&timers, &many[number].timer);
}

/* -1: none is armed. */
static int model_first(void)
{
    int first = -1;
    for (int i = 0; i < MODEL_TIMERS; i++) {
        if (!model[i].armed) continue;
        bool before =
            first < 0 || model[i].at.ns < model[first].at.ns ||
            (model[i].at.ns == model[first].at.ns && model[i].sequence < model[first].sequence);
        if (before) first = i;
    }
    return first;
}

/* Whoever fires is the model's first, and may arm and disarm any, itself too. */
static void fire_and_meddle(struct rt_timer *timer)
{
    int number = CONTAINER_OF(timer, struct numbered, timer)->number;
    assert_int_equal(number, model_first());
    assert_false(rt_timer_armed(timer));
    model[number].armed = false;
    if (test_chance(&luck, 20)) arm_both(number);
    if (test_chance(&luck, 20)) arm_both((int)test_below(&luck, MODEL_TIMERS));
    if (test_chance(&luck, 20)) disarm_both((int)test_below(&luck, MODEL_TIMERS));
}

static void any_calls_fire_what_a_plain_search_would(void **state)
{
    (void)state;
    luck = test_rng("timers");
    setup(many, MODEL_TIMERS, fire_and_meddle);
    memset(model, 0, sizeof model);
    model_sequence = 0;
    for (int step = 0; step < 20000; step++) {
        int number = (int)test_below(&luck, MODEL_TIMERS);
        if (test_chance(&luck, 25))
            disarm_both(number);
        else
            arm_both(number);
        if (test_chance(&luck, 2)) {
            uint64_t before = model_sequence;
            struct belay_instant now = at_ns((int64_t)test_below(&luck, 60));
            timers_fire(&timers, now);
            int first = model_first(); /* what is due stayed only if it was armed meanwhile */
            assert_true(first < 0 || model[first].at.ns > now.ns ||
                        model[first].sequence >= before);
        }
        int first = model_first();
        int64_t next_ns = timers_next_at(&timers).ns;
        assert_int_equal(next_ns, first < 0 ? belay_instant_never().ns : model[first].at.ns);
        assert_int_equal(rt_timer_armed(&many[number].timer), model[number].armed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_instant_fires_in_the_order_of_arming),
        cmocka_unit_test(never_early_by_one_nanosecond),
        cmocka_unit_test(arming_again_moves_and_goes_behind_its_equals),
        cmocka_unit_test(one_that_arms_itself_in_the_past_waits_a_turn),
        cmocka_unit_test(none_comes_after_disarm),
        cmocka_unit_test(any_calls_fire_what_a_plain_search_would),
    };
    return cmocka_run_group_tests_name("timers", tests, NULL, NULL);
}
