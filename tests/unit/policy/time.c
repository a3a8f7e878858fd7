/* time.c: instants and spans saturate at their ends, and milliseconds round the way each use needs.
 */
#include <belay/time.h>

#include "seed.h"
#include "test.h"

static void test_sums_saturate(void **state)
{
    (void)state;
    assert_int_equal(belay_ns_add(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(belay_ns_add(INT64_MIN, -1), INT64_MIN);
    assert_int_equal(belay_ns_add(INT64_MAX, INT64_MIN), -1);
    assert_int_equal(belay_ns_sub(INT64_MIN, 1), INT64_MIN);
    assert_int_equal(belay_ns_sub(INT64_MAX, -1), INT64_MAX);
    assert_int_equal(belay_ns_sub(0, INT64_MIN), INT64_MAX);
    assert_int_equal(belay_ns_sub(-1, INT64_MIN), INT64_MAX);
}

static void test_sums_are_right_everywhere(void **state)
{
    (void)state;
    struct rng rng = test_rng("sums");
    for (int i = 0; i < 100000; i++) {
        int64_t a = (int64_t)rng_next(&rng) >> test_below(&rng, 63);
        int64_t b = (int64_t)rng_next(&rng) >> test_below(&rng, 63);
        __int128 sum = (__int128)a + b, difference = (__int128)a - b;
        if (sum > INT64_MAX) sum = INT64_MAX;
        if (sum < INT64_MIN) sum = INT64_MIN;
        if (difference > INT64_MAX) difference = INT64_MAX;
        if (difference < INT64_MIN) difference = INT64_MIN;
        assert_true(belay_ns_add(a, b) == (int64_t)sum);
        assert_true(belay_ns_sub(a, b) == (int64_t)difference);
    }
}

static void test_never_stays_never(void **state)
{
    (void)state;
    struct belay_instant never = belay_instant_never();
    assert_true(belay_instant_is_never(belay_instant_add(never, belay_span_ms(-5))));
    assert_true(belay_instant_is_never(belay_instant_add(never, belay_span_ms(5))));
    assert_true(belay_instant_before((struct belay_instant){0}, never));
}

static void test_milliseconds_round_as_each_use_needs(void **state)
{
    (void)state;
    assert_int_equal(belay_span_floor_ms(belay_span_ns(1999999)), 1);
    assert_int_equal(belay_span_ceil_ms(belay_span_ns(1000001)), 2);
    assert_int_equal(belay_span_ceil_ms(belay_span_ns(1000000)), 1);
    assert_int_equal(belay_span_ceil_ms(belay_span_ns(1)), 1);
    assert_int_equal(belay_span_floor_ms(belay_span_ns(-1)), 0);
    assert_int_equal(belay_span_ceil_ms(belay_span_ns(-1)), 0);
    assert_int_equal(belay_span_ms(INT64_MAX).ns, INT64_MAX);
    assert_int_equal(belay_span_ms(INT64_MIN).ns, INT64_MIN);
    assert_int_equal(belay_span_ceil_ms(belay_span_ns(INT64_MAX)), 9223372036855);
}

static void test_an_instant_of_a_clocks_two_numbers(void **state)
{
    (void)state;
    assert_int_equal(belay_instant_of(3, 7).ns, 3 * BELAY_NS_PER_S + 7);
    assert_int_equal(belay_wall_of(-1, 999999999).ns, -1);
    assert_int_equal(belay_wall_of(INT64_MAX, 0).ns, INT64_MAX);
    assert_int_equal(belay_instant_of(INT64_MIN, 0).ns, INT64_MIN);
    assert_int_equal(belay_instant_of(INT64_MAX / BELAY_NS_PER_S, 999999999).ns, INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_saturate),
        cmocka_unit_test(test_sums_are_right_everywhere),
        cmocka_unit_test(test_never_stays_never),
        cmocka_unit_test(test_milliseconds_round_as_each_use_needs),
        cmocka_unit_test(test_an_instant_of_a_clocks_two_numbers),
    };
    return cmocka_run_group_tests_name("policy/time", tests, NULL, NULL);
}
