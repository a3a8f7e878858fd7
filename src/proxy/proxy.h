/* proxy.h: the egress engine: one listener's requests, each carried to its target under its
 * policies.
 *
 * One `proxy` a worker and listener. It owns the inbound server, the outbound pools and every
 * running operation; targets (the shared policies) and the event buffer are its caller's and must
 * outlive it. Everything belongs to the worker's thread; the only thing that other threads do is to
 * wake an operation that waits for a bulkhead slot, which goes through rt_post.
 *
 * Guarantees (semantics 1 to 10, 16): one operation record for each request and for each input that
 * was none; the event of attempt n is handed over before attempt n + 1 starts; an answer is whole,
 * or the client sees that it was cut; at most `connections_max` operations at a time, each within
 * the limits of its route. Where memory or descriptors lack, an operation ends with an honest 503
 * (its answer not having begun), no other one notices, and no target is blamed.
 */
#ifndef PROXY_PROXY_H
#define PROXY_PROXY_H

#include "client/client.h"
#include "conf/conf.h"
#include "rt/rt.h"
#include "server/server.h"

#include <belay/target.h>

struct event_out;
struct proxy;

struct proxy_options {
    size_t listener; /* index into conf.listeners */
    /* One for each of conf.targets, in its order; the array is copied. */
    struct belay_target *const *targets;
    struct event_out *events;      /* NULL: no events */
    uint32_t connections_max;      /* 0: conf.connections_max */
    atomic_uint *connections_open; /* counted over all that share it; NULL: over this one alone */
};

struct proxy_stats {
    uint64_t requests;      /* operations begun */
    uint64_t bad_requests;  /* inputs that were no request: answered by the server, recorded here */
    uint64_t unrouted;      /* 404 and 405 of our own */
    uint64_t passed_on;     /* answers of a target given to the client whole */
    uint64_t honest_errors; /* answers of our own in place of one */
    uint64_t cut;           /* answers that were cut, visibly */
    uint64_t clients_gone;  /* clients that left before their answer's end */
    uint64_t deadlines_ignored; /* incoming deadline fields that did not parse */
    uint64_t overloaded;        /* operations that ended for want of memory or descriptors */
    uint32_t running;           /* operations now */
    struct server_stats server;
    struct client_stats clients; /* the sum over the pools */
};

/* Takes a reference of `conf`. NULL: no memory. */
struct proxy *proxy_create(struct rt *rt, struct conf *conf, const struct proxy_options *options);
/* Makes ready to follow a new snapshot (same listener, and `options.events` and
 * `.connections_open` as they were), in place of what was ready before. False, and nothing is
 * changed, without memory. */
bool proxy_prepare(struct proxy *proxy, struct conf *conf, const struct proxy_options *options)
    __attribute__((warn_unused_result));
/* New requests follow what was prepared; running operations keep the snapshot they began with.
 * Cannot fail. Nothing happens when nothing is prepared. */
void proxy_commit(struct proxy *proxy);
/* Forgets what was prepared. */
void proxy_undo(struct proxy *proxy);
bool proxy_listen(struct proxy *proxy, const struct rt_addr *addr, const char **error)
    __attribute__((warn_unused_result));
void proxy_addr(const struct proxy *proxy, struct rt_addr *out);
void proxy_stats(const struct proxy *proxy, struct proxy_stats *out);
/* Semantics 16, as in server.h. */
void proxy_announce_drain(struct proxy *proxy);
void proxy_drain(struct proxy *proxy, struct belay_span idle_for, void (*drained)(void *owner),
                 void *owner);
/* Cancels what still runs (their records are written) and frees everything. Not from inside a
 * callback. */
void proxy_destroy(struct proxy *proxy);

#endif
