/* counters.h: what the workers and targets have counted, gathered for the admin listener. */
#ifndef APP_COUNTERS_H
#define APP_COUNTERS_H

#include "admin/admin.h"
#include "conf/conf.h"

/* Room for one configuration's listeners and targets. Zero-initialised is empty. */
struct counters {
    struct admin_listener *listeners;
    struct admin_target *targets;
    char (*names)[RT_ADDR_TEXT_MAX]; /* of the listeners: where they are bound */
    size_t listener_count, target_count;
};

/* `addrs`: one for each of conf.listeners. The names of targets are borrowed from `conf`. False
 * without memory. */
bool counters_init(struct counters *counters, const struct conf *conf, const struct rt_addr *addrs)
    __attribute__((warn_unused_result));
void counters_deinit(struct counters *counters);
/* Before a gathering: every listener's counters are zero. */
void counters_clear(struct counters *counters);
/* Adds one worker's share of a listener. */
void counters_add(struct proxy_stats *sum, const struct proxy_stats *one);

#endif
