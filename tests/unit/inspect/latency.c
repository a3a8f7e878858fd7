/* latency.c: every value is in a bucket that is at most a sixteenth too high. */
#include "inspect/report.h"

#include "test.h"

static void buckets(void **state)
{
    (void)state;
    assert_int_equal(inspect_bucket_of(-1), 0);
    assert_int_equal(inspect_bucket_of(INT64_MAX), INSPECT_LATENCY_BUCKETS - 1);
    for (unsigned bucket = 0; bucket < INSPECT_LATENCY_BUCKETS; bucket++) {
        assert_int_equal(inspect_bucket_of(inspect_bucket_top(bucket)), bucket);
    }
    for (int64_t ms = 0; ms < 524288; ms += 1 + ms / 1000) {
        int64_t top = inspect_bucket_top(inspect_bucket_of(ms));
        assert_true(top >= ms && (top - ms) * 16 <= ms);
    }
}

static void quantiles(void **state)
{
    static struct inspect_latency latency;
    (void)state;
    assert_int_equal(inspect_quantile_ms(&latency, 0.5), 0);
    for (int64_t ms = 1; ms <= 15; ms++) inspect_latency_add(&latency, ms);
    inspect_latency_add(&latency, 1000000);
    assert_int_equal(inspect_quantile_ms(&latency, 0.0), 1);
    assert_int_equal(inspect_quantile_ms(&latency, 0.5), 8);
    assert_int_equal(inspect_quantile_ms(&latency, 1.0), 1000000); /* beyond the last bucket */
    assert_int_equal(latency.sum_ms, 1000120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(buckets), cmocka_unit_test(quantiles)};
    return cmocka_run_group_tests_name("latency", tests, NULL, NULL);
}
