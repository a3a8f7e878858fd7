/* latency.c: a histogram of milliseconds whose buckets grow with the value (report.h).
 *
 * Values below 16 have a bucket each; above, every power of two is cut in sixteen.
 */
#include "inspect/report.h"

#define EXACT 16
#define EXACT_BITS 4
#define VALUE_MAX ((INT64_C(1) << (EXACT_BITS + INSPECT_LATENCY_BUCKETS / EXACT - 1)) - 1)

unsigned inspect_bucket_of(int64_t ms)
{
    if (ms < EXACT) return ms < 0 ? 0 : (unsigned)ms;
    if (ms > VALUE_MAX) ms = VALUE_MAX;
    unsigned octave = 63U - (unsigned)__builtin_clzll((unsigned long long)ms) - EXACT_BITS;
    return EXACT * octave + (unsigned)(ms >> octave);
}

int64_t inspect_bucket_top(unsigned bucket)
{
    if (bucket < EXACT) return bucket;
    unsigned octave = bucket / EXACT - 1;
    return (((int64_t)(bucket % EXACT) + EXACT + 1) << octave) - 1;
}

void inspect_latency_add(struct inspect_latency *latency, int64_t ms)
{
    latency->count++;
    latency->sum_ms += (uint64_t)ms;
    if (ms > latency->max_ms) latency->max_ms = ms;
    latency->bucket[inspect_bucket_of(ms)]++;
}

int64_t inspect_quantile_ms(const struct inspect_latency *latency, double share)
{
    double wanted = share * (double)latency->count;
    uint64_t passed = 0;
    for (unsigned bucket = 0; bucket < INSPECT_LATENCY_BUCKETS; bucket++) {
        passed += latency->bucket[bucket];
        if (passed == 0 || (double)passed < wanted) continue;
        int64_t top = inspect_bucket_top(bucket);
        bool is_last = bucket == INSPECT_LATENCY_BUCKETS - 1;
        return is_last || top > latency->max_ms ? latency->max_ms : top;
    }
    return latency->max_ms;
}
