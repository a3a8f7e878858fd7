/* backoff.c: every kind of wait stays in its stated bounds, for any n and any luck. */
#include <belay/backoff.h>

#include "seed.h"
#include "test.h"

static const enum belay_backoff_kind kinds[] = {
    BELAY_BACKOFF_ADDITIVE,     BELAY_BACKOFF_FULL, BELAY_BACKOFF_EQUAL,
    BELAY_BACKOFF_DECORRELATED, BELAY_BACKOFF_NONE, BELAY_BACKOFF_CONSTANT,
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static struct belay_backoff_config config_of(enum belay_backoff_kind kind, int64_t base_ms,
                                             int64_t max_ms)
{
    return (struct belay_backoff_config){kind, belay_span_ms(base_ms), belay_span_ms(max_ms)};
}

static int64_t wait_ms(const struct belay_backoff_config *config, uint32_t n, int64_t previous_ms,
                       uint64_t luck)
{
    struct belay_span wait = belay_backoff_decide(config, n, belay_span_ms(previous_ms), luck);
    assert_int_equal(wait.ns % BELAY_NS_PER_MS,
                     wait.ns == INT64_MAX ? INT64_MAX % BELAY_NS_PER_MS : 0);
    return belay_span_floor_ms(wait);
}

static void test_grows_by_doubling_up_to_max(void **state)
{
    (void)state;
    struct belay_backoff_config config = config_of(BELAY_BACKOFF_NONE, 200, 5000);
    const int64_t expected[] = {200, 200, 400, 800, 1600, 3200, 5000, 5000};
    for (uint32_t n = 0; n < 8; n++) assert_int_equal(wait_ms(&config, n, 0, 0), expected[n]);
    assert_int_equal(wait_ms(&config, UINT32_MAX, 0, 0), 5000);
}

static void test_each_kind_reaches_both_of_its_ends(void **state)
{
    (void)state;
    const struct {
        enum belay_backoff_kind kind;
        int64_t least, most;
    } cases[] = {
        {BELAY_BACKOFF_ADDITIVE, 400, 800}, {BELAY_BACKOFF_FULL, 0, 400},
        {BELAY_BACKOFF_EQUAL, 200, 400},    {BELAY_BACKOFF_DECORRELATED, 200, 900},
        {BELAY_BACKOFF_NONE, 400, 400},     {BELAY_BACKOFF_CONSTANT, 200, 200},
    };
    for (size_t i = 0; i < KINDS; i++) {
        struct belay_backoff_config config = config_of(cases[i].kind, 200, 5000);
        assert_int_equal(wait_ms(&config, 2, 300, 0), cases[i].least);
        assert_int_equal(wait_ms(&config, 2, 300, UINT64_MAX), cases[i].most);
    }
}

static void test_equal_jitter_of_an_odd_wait_stays_in_bounds(void **state)
{
    (void)state;
    struct belay_backoff_config config = config_of(BELAY_BACKOFF_EQUAL, 3, 100);
    assert_int_equal(wait_ms(&config, 1, 0, 0), 2);
    assert_int_equal(wait_ms(&config, 1, 0, UINT64_MAX), 3);
}

static void test_jitter_does_not_vanish_at_the_cap(void **state)
{
    (void)state;
    struct rng rng = test_rng("jitter at the cap");
    for (size_t k = 0; k < 4; k++) {
        struct belay_backoff_config config = config_of(kinds[k], 200, 5000);
        int64_t least = INT64_MAX, most = 0;
        for (int i = 0; i < 1000; i++) {
            int64_t ms = wait_ms(&config, 30, 5000, rng_next(&rng));
            least = ms < least ? ms : least;
            most = ms > most ? ms : most;
        }
        assert_true(most - least > 2000);
    }
}

static void test_a_base_of_nothing_waits_for_nothing(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        struct belay_backoff_config config = config_of(kinds[k], 0, 5000);
        assert_int_equal(wait_ms(&config, 9, 0, UINT64_MAX), 0);
    }
}

static void test_a_part_of_a_millisecond_is_one(void **state)
{
    (void)state;
    struct belay_backoff_config config = {BELAY_BACKOFF_CONSTANT, belay_span_ns(1),
                                          belay_span_ms(5)};
    assert_int_equal(wait_ms(&config, 1, 0, 0), 1);
    config.base = belay_span_ns(2 * BELAY_NS_PER_MS - 1);
    assert_int_equal(wait_ms(&config, 1, 0, 0), 1);
}

/* Any configuration, any n, any luck. */
static void test_every_wait_is_finite_and_within_its_bounds(void **state)
{
    (void)state;
    struct rng rng = test_rng("bounds");
    const int64_t scales[] = {1, 10, 1000, 100000, INT64_C(1) << 40, INT64_MAX / BELAY_NS_PER_MS};
    for (int i = 0; i < 200000; i++) {
        int64_t base = (int64_t)test_below(&rng, (uint64_t)scales[test_below(&rng, 6)]);
        int64_t max = (int64_t)test_below(&rng, (uint64_t)scales[test_below(&rng, 6)]);
        int64_t previous = (int64_t)test_below(&rng, (uint64_t)scales[test_below(&rng, 6)]);
        uint32_t n =
            test_chance(&rng, 50) ? (uint32_t)test_below(&rng, 70) : (uint32_t)rng_next(&rng);
        struct belay_backoff_config config = config_of(kinds[test_below(&rng, KINDS)], base, max);
        int64_t ms = wait_ms(&config, n, previous, rng_next(&rng));
        int64_t b = max;
        uint32_t doublings = n > 0 ? n - 1 : 0;
        if (base == 0) b = 0;
        if (doublings < 62 && base <= max >> doublings) b = base << doublings;
        int64_t least = 0, most = b;
        switch (config.kind) {
        case BELAY_BACKOFF_ADDITIVE: least = b, most = b > INT64_MAX / 2 ? INT64_MAX : 2 * b; break;
        case BELAY_BACKOFF_EQUAL: least = b / 2; break;
        case BELAY_BACKOFF_DECORRELATED: least = base < max ? base : max, most = max; break;
        case BELAY_BACKOFF_NONE: least = b; break;
        case BELAY_BACKOFF_CONSTANT: least = most = base; break;
        case BELAY_BACKOFF_FULL: break;
        }
        int64_t longest = INT64_MAX / BELAY_NS_PER_MS; /* where a span saturates */
        assert_true(ms >= (least < longest ? least : longest) && ms <= most);
    }
}

static int64_t hinted_ms(enum belay_backoff_kind kind, int64_t hint_ms, int64_t spare_ms,
                         uint64_t luck)
{
    struct belay_backoff_config config = config_of(kind, 200, 5000);
    struct belay_span wait =
        belay_backoff_decide_hint(&config, belay_span_ms(hint_ms), belay_span_ms(spare_ms), luck);
    return belay_span_floor_ms(wait);
}

static void test_jitter_on_a_hint_only_adds(void **state)
{
    (void)state;
    assert_int_equal(hinted_ms(BELAY_BACKOFF_FULL, 5000, 60000, 0), 5000);
    assert_int_equal(hinted_ms(BELAY_BACKOFF_FULL, 5000, 60000, UINT64_MAX), 5500);
}

static void test_jitter_on_a_hint_alone_never_ends_an_operation(void **state)
{
    (void)state;
    assert_int_equal(hinted_ms(BELAY_BACKOFF_ADDITIVE, 5000, 5301, UINT64_MAX), 5300);
    assert_int_equal(hinted_ms(BELAY_BACKOFF_ADDITIVE, 5000, 5002, UINT64_MAX), 5001);
    assert_int_equal(hinted_ms(BELAY_BACKOFF_ADDITIVE, 5000, 5001, UINT64_MAX), 5000);
    assert_int_equal(hinted_ms(BELAY_BACKOFF_ADDITIVE, 5000, 5000, UINT64_MAX), 5000);
    assert_int_equal(hinted_ms(BELAY_BACKOFF_ADDITIVE, 5000, 10, UINT64_MAX), 5000);
}

static void test_a_hint_never_waits_less_than_base(void **state)
{
    (void)state;
    assert_int_equal(hinted_ms(BELAY_BACKOFF_ADDITIVE, 0, 60000, 0), 200);
    assert_int_equal(hinted_ms(BELAY_BACKOFF_ADDITIVE, 0, 60000, UINT64_MAX), 220);
    assert_int_equal(hinted_ms(BELAY_BACKOFF_ADDITIVE, 199, 60000, 0), 200);
    assert_int_equal(hinted_ms(BELAY_BACKOFF_ADDITIVE, 201, 60000, 0), 201);
}

static void test_a_constant_wait_has_no_jitter_on_hints(void **state)
{
    (void)state;
    assert_int_equal(hinted_ms(BELAY_BACKOFF_CONSTANT, 5000, 60000, UINT64_MAX), 5000);
    assert_int_equal(hinted_ms(BELAY_BACKOFF_CONSTANT, 10, 60000, UINT64_MAX), 200);
}

static void test_a_huge_hint_saturates(void **state)
{
    (void)state;
    struct belay_backoff_config config = config_of(BELAY_BACKOFF_ADDITIVE, 200, 5000);
    struct belay_span wait = belay_backoff_decide_hint(&config, belay_span_ms(INT64_MAX),
                                                       belay_span_ms(60000), UINT64_MAX);
    assert_int_equal(wait.ns, INT64_MAX);
}

static void test_any_hint_keeps_its_promise(void **state)
{
    (void)state;
    struct rng rng = test_rng("hints");
    for (int i = 0; i < 100000; i++) {
        struct belay_backoff_config config =
            config_of(kinds[test_below(&rng, KINDS)], (int64_t)test_below(&rng, 1000), 5000);
        struct belay_span hint =
            belay_span_ns((int64_t)test_below(&rng, 20000) * BELAY_NS_PER_MS / 2);
        struct belay_span spare = belay_span_ms((int64_t)test_below(&rng, 12000));
        struct belay_span wait = belay_backoff_decide_hint(&config, hint, spare, rng_next(&rng));
        struct belay_span least =
            belay_span_max(belay_span_ms(belay_span_ceil_ms(hint)), config.base);
        assert_true(wait.ns >= least.ns && wait.ns <= least.ns + least.ns / 10);
        if (least.ns < spare.ns) assert_true(wait.ns < spare.ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grows_by_doubling_up_to_max),
        cmocka_unit_test(test_each_kind_reaches_both_of_its_ends),
        cmocka_unit_test(test_equal_jitter_of_an_odd_wait_stays_in_bounds),
        cmocka_unit_test(test_jitter_does_not_vanish_at_the_cap),
        cmocka_unit_test(test_a_base_of_nothing_waits_for_nothing),
        cmocka_unit_test(test_a_part_of_a_millisecond_is_one),
        cmocka_unit_test(test_every_wait_is_finite_and_within_its_bounds),
        cmocka_unit_test(test_jitter_on_a_hint_only_adds),
        cmocka_unit_test(test_jitter_on_a_hint_alone_never_ends_an_operation),
        cmocka_unit_test(test_a_hint_never_waits_less_than_base),
        cmocka_unit_test(test_a_constant_wait_has_no_jitter_on_hints),
        cmocka_unit_test(test_a_huge_hint_saturates),
        cmocka_unit_test(test_any_hint_keeps_its_promise),
    };
    return cmocka_run_group_tests_name("policy/backoff", tests, NULL, NULL);
}
