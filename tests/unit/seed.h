/* seed.h: where a property test's luck comes from: BELAY_SEED, or a fixed seed; printed, so that a
 * failure can be had again. */
#ifndef TESTS_SEED_H
#define TESTS_SEED_H

#include "base/rng.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline struct rng test_rng(const char *what)
{
    const char *text = getenv("BELAY_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : UINT64_C(20261130);
    struct rng rng;
    printf("%s: BELAY_SEED=%" PRIu64 "\n", what, seed);
    rng_seed(&rng, seed);
    return rng;
}

/* 0..bound-1 */
static inline uint64_t test_below(struct rng *rng, uint64_t bound)
{
    return rng_scale(rng_next(rng), bound);
}

static inline bool test_chance(struct rng *rng, unsigned percent)
{
    return test_below(rng, 100) < percent;
}

#endif
