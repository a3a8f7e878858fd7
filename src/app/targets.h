/* targets.h: the targets of a daemon: made once a name, shared by all workers, kept over a new
 * configuration. */
#ifndef APP_TARGETS_H
#define APP_TARGETS_H

#include "base/list.h"
#include "conf/conf.h"

#include <belay/target.h>

struct targets {
    struct list kept;
};

void targets_init(struct targets *targets);
/* Everything that ever used them must have ended. */
void targets_deinit(struct targets *targets);
/* Fills `out`, one for each of conf.targets: the one of that name, with all it has learnt, unless
 * what its operations share has changed; then, and for a new name, a fresh one. What is no longer
 * named is kept for operations that still run, until the end. False without memory. */
bool targets_of(struct targets *targets, const struct conf *conf, struct belay_target **out)
    __attribute__((warn_unused_result));

#endif
