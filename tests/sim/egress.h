/* egress.h: one belay of the simulated world: the proxy itself, from a configuration's text. */
#ifndef TESTS_SIM_EGRESS_H
#define TESTS_SIM_EGRESS_H

#include "history.h"
#include "proxy/proxy.h"

struct breaker_seen {
    enum belay_breaker_state state;
    uint64_t opened;
};

struct egress {
    struct history *history;
    struct conf *conf;
    struct belay_target **targets;
    struct breaker_seen *breakers; /* what the history knows of each target's */
    struct proxy *proxy;
    struct rt_addr addr;
    struct rt_hook watch;
};

/* Loads the text and listens where its first listener says. Aborts, and says why, when that cannot
 * be. */
void egress_init(struct egress *egress, struct history *history, const char *yaml);
void egress_target_stats(const struct egress *egress, size_t target,
                         struct belay_target_stats *out);
void egress_deinit(struct egress *egress);

#endif
