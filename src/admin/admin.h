/* admin.h: the admin listener: is it alive, is it ready, what has it counted.
 *
 *   GET /livez    200 while the loop turns
 *   GET /readyz   200, or 503 from admin_announce_drain on
 *   GET /metrics  the Prometheus text format 0.0.4; labels are names of listeners and targets
 *   GET /targets  the targets' counters and states as JSON
 *
 * Belongs to one worker's thread. What it tells comes as a snapshot of plain values from the
 * callback, asked for once a request.
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "event/sink.h"
#include "proxy/proxy.h"

#include <belay/target.h>

struct admin;

struct admin_listener {
    struct belay_slice name;
    struct proxy_stats stats; /* the sum over the workers */
};

struct admin_target {
    struct belay_slice name;
    struct belay_target_stats stats;
};

/* Borrows from who gives it, until the callback is called again. */
struct admin_snapshot {
    const struct admin_listener *listeners;
    size_t listener_count;
    const struct admin_target *targets;
    size_t target_count;
    struct event_sink_stats sink;
    uint32_t workers;
    uint64_t reloads, reloads_refused; /* of the configuration */
};

/* `snapshot` fills *out, which is zero. NULL: no memory. */
struct admin *admin_create(struct rt *rt, void (*snapshot)(void *owner, struct admin_snapshot *out),
                           void *owner);
/* False, and *error, when the address cannot be had. */
bool admin_listen(struct admin *admin, const struct rt_addr *addr, const char **error)
    __attribute__((warn_unused_result));
void admin_addr(const struct admin *admin, struct rt_addr *out);
/* Semantics 16: readiness fails at once; all else goes on. */
void admin_announce_drain(struct admin *admin);
void admin_destroy(struct admin *admin); /* not from inside a callback */

#endif
