/* series.c: counts over time fit in their points, and do not depend on the order they came in. */
#include "inspect/series.h"

#include "seed.h"
#include "test.h"

static void one_point(void **state)
{
    static struct series series;
    (void)state;
    assert_true(series_peak(&series) == 0.0);
    series_add(&series, -7, 0, BELAY_DECISION_RETURN, false);
    assert_int_equal(series.shown.count, 1);
    assert_int_equal(series.shown.start_ms, -7);
    assert_int_equal(series.shown.width_ms, 1);
    assert_int_equal(series.shown.decisions[0][BELAY_DECISION_RETURN], 1);
    assert_int_equal(series.firsts[0], 1);
}

static void busy(void **state)
{
    static struct series series;
    (void)state;
    series_add(&series, 100, 50, SERIES_NO_DECISION, true);
    series_add(&series, 120, 10, SERIES_NO_DECISION, true);
    assert_int_equal(series.shown.count, 50);
    assert_true(series_peak(&series) == 2.0);
    assert_int_equal(series.retries[20], 1);
    assert_int_equal(series.shown.busy_ms[19], 1);
    assert_int_equal(series.shown.busy_ms[20], 2);
    assert_int_equal(series.shown.busy_ms[30], 1);
}

static void any_order(void **state)
{
    struct rng rng = test_rng("any_order");
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        static struct series forth, back;
        int64_t starts[40], elapsed[40];
        int64_t span = INT64_C(1) << test_below(&rng, 40);
        uint64_t total = 0, sum = 0, count = 0;
        forth = back = (struct series){0};
        for (unsigned i = 0; i < 40; i++) {
            starts[i] = (int64_t)test_below(&rng, (uint64_t)span) - span / 2;
            elapsed[i] = (int64_t)test_below(&rng, 5000);
            total += (uint64_t)elapsed[i];
            series_add(&forth, starts[i], elapsed[i], i % BELAY_DECISION_COUNT, i % 3 == 0);
        }
        for (unsigned i = 40; i-- > 0;) {
            series_add(&back, starts[i], elapsed[i], i % BELAY_DECISION_COUNT, i % 3 == 0);
        }
        assert_memory_equal(&forth, &back, sizeof forth);
        for (size_t point = 0; point < forth.shown.count; point++) {
            sum += forth.shown.busy_ms[point];
            count += forth.firsts[point] + forth.retries[point];
        }
        assert_int_equal(sum, total);
        assert_int_equal(count, 40);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_point), cmocka_unit_test(busy),
                                       cmocka_unit_test(any_order)};
    return cmocka_run_group_tests_name("series", tests, NULL, NULL);
}
