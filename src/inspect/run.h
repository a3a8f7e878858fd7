/* run.h: the attempts of an operation in their order, ready to be judged and counted.
 *
 * One operationId may stand for several runs: belay passes its id on, so that the next daemon of a
 * chain uses it too, and whoever owns the retries asks it again. Such runs differ in spanId. They
 * are told apart by target; where they cannot be, the run is `tangled`, and nothing is concluded
 * from the order of its attempts.
 */
#ifndef INSPECT_RUN_H
#define INSPECT_RUN_H

#include "inspect/operation.h"

struct run {
    const struct operation *operation;
    const struct entry *attempts[OPERATION_ENTRIES_MAX]; /* by number, then time, then line */
    size_t count;
    const struct entry *ending; /* NULL: none; the first of several */
    size_t endings;
    uint32_t uncounted; /* attempts past OPERATION_ENTRIES_MAX: the first run has them all */
    uint16_t target;
    bool tangled;
};

/* Calls `visit` for each run of the operation; an operation without entries has none. */
void run_each(const struct operation *operation, void (*visit)(void *context, const struct run *),
              void *context);
/* Two attempts of one number that are calls of two spans. */
bool run_is_rerun(const struct entry *a, const struct entry *b);
/* The highest number known, from the attempts or the ending; else how many there are. */
unsigned run_made(const struct run *run);

#endif
