/* targets.h: the targets of a daemon: made once a name, shared by all workers, kept over a new
 * configuration. */
#ifndef APP_TARGETS_H
#define APP_TARGETS_H

#include "base/list.h"
#include "conf/conf.h"

#include <belay/target.h>

struct targets {
    struct list kept;
    struct list taken; /* configurations that may still be in use */
};

void targets_init(struct targets *targets);
/* Everything that ever used them must have ended. */
void targets_deinit(struct targets *targets);
/* Fills `out`, one for each of conf.targets: the one of that name, with all it has learnt, unless
 * what its operations share has changed; then, and for a new name, a fresh one. False without
 * memory. */
bool targets_of(struct targets *targets, const struct conf *conf, struct belay_target **out)
    __attribute__((warn_unused_result));
/* Before `conf` is taken with these: they stay while anybody else has a reference of it. False
 * without memory. */
bool targets_keep(struct targets *targets, struct conf *conf, struct belay_target *const *used)
    __attribute__((warn_unused_result));
/* Frees the targets of configurations that nobody has any more. What is no longer named so stays
 * for the operations that still run, and no longer. */
void targets_sweep(struct targets *targets);

#endif
