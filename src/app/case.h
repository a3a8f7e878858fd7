/* case.h: one operation as `belay replay` reads it: what the request is, its policy, and what is
 * observed. */
#ifndef APP_CASE_H
#define APP_CASE_H

#include "app/input.h"

#include <belay/operation.h>

struct observation {
    struct belay_outcome outcome;
    struct belay_span elapsed;
};

/* Texts belong to the input's object. */
struct replay_case {
    const char *operation_id, *method, *target; /* target NULL: stands alone */
    struct belay_traits traits;
    struct belay_policy policy;
    bool has_start, has_seed;
    struct belay_span start;
    uint64_t seed;
    struct observation *observations;
    size_t observation_count;
};

/* The policy of a replay when nothing is said: 3 attempts, 400 ms, a constant wait of 40 ms, no
 * reserve. */
struct belay_policy case_policy_default(void);

/* `shared` is the policy of the case's target when an earlier case has named it, or NULL: what all
 * calls to a target share may not be changed any more. False: an error was written. */
bool case_read(const struct input *input, const struct belay_policy *shared,
               struct replay_case *out) __attribute__((warn_unused_result));
void case_deinit(struct replay_case *replay_case);

/* The option names of a configuration's `policy`, with its units; `path` is where the object
 * stands. */
bool case_read_policy(const struct input *input, const json_t *object, struct belay_policy *policy)
    __attribute__((warn_unused_result));

#endif
