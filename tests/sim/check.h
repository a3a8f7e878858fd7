/* check.h: what must hold of every history, whatever the world did. Each checker is proved in
 * test_checkers.c. */
#ifndef TESTS_SIM_CHECK_H
#define TESTS_SIM_CHECK_H

#include "history.h"
#include "world.h"

#include <belay/policy.h>

#define CHECK_WHY_BYTES 400

/* What the world and the target promised each other. */
struct check_rules {
    struct belay_policy policy;    /* of the only target; its deadline is also the routes' */
    struct belay_span latency_max; /* one way, between proxy and origin */
    bool draining;                 /* the proxy was told to stop while callers were at it */
    bool short_of_memory; /* a request may be answered 503 before anything is known of it */
};

/* What is left when everything was taken down. */
struct check_leftovers {
    struct sim_open open;
    uint32_t in_flight, waiting, running;
    size_t callers_waiting; /* when nothing could happen any more */
};

struct checker {
    const char *name;
    /* False, and why, when the history breaks the rule. */
    bool (*holds)(const struct history *history, const struct check_rules *rules,
                  char why[CHECK_WHY_BYTES]);
};
extern const struct checker CHECKERS[];
extern const size_t CHECKER_COUNT;

const struct checker *check_find(const char *name);
/* All of them; the name of the first that does not hold, NULL when all do. */
const char *check_history(const struct history *history, const struct check_rules *rules,
                          char why[CHECK_WHY_BYTES]);
/* The same: "stuck", "leak" or NULL. */
const char *check_leftovers(const struct check_leftovers *left, char why[CHECK_WHY_BYTES]);

#endif
