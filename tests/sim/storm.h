/* storm.h: one random world from one seed: links, an origin, a policy and callers, all with bad
 * habits. */
#ifndef TESTS_SIM_STORM_H
#define TESTS_SIM_STORM_H

#include "check.h"

struct storm {
    struct history history;
    struct check_rules rules;
    struct check_leftovers left;
};

/* Runs it to its end and takes the world down; the history stays until storm_deinit. With `tracing`
 * the history has its text, the configuration and the scripts first. */
void storm_run(struct storm *storm, uint64_t seed, bool tracing);
void storm_deinit(struct storm *storm);

#endif
