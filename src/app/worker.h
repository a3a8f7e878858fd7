/* worker.h: one thread, one loop, one proxy a listener.
 *
 * Made, configured and destroyed by the control thread; what touches the loop runs in the worker's
 * thread while control waits for it, so that a change is one step for both.
 */
#ifndef APP_WORKER_H
#define APP_WORKER_H

#include "app/counters.h"
#include "base/list.h"
#include "proxy/proxy.h"

#include <pthread.h>

struct worker {
    struct rt *rt;
    struct event_out *events;
    uint32_t connections_max;
    atomic_uint *connections_open; /* of all workers */
    struct list listeners;         /* those in service, and those that drain */
    struct list fresh;             /* listening for a configuration that is not yet taken */
    bool started, draining;
    /* From its thread, once, when the last listener is gone. */
    void (*drained)(struct worker *worker);
    void *owner;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t answered;
};

/* A configuration on its way to the workers. */
struct worker_plan {
    struct conf *conf;
    struct belay_target *const *targets; /* one for each of conf.targets */
    const struct rt_addr *addrs;         /* where each of conf.listeners is bound */
};

/* False: no memory or descriptors. */
bool worker_init(struct worker *worker, struct event_out *events, uint32_t connections_max,
                 atomic_uint *connections_open) __attribute__((warn_unused_result));
/* Stopped, or never started; so is every other that shares targets. Cancels what still runs. */
void worker_deinit(struct worker *worker);
bool worker_start(struct worker *worker) __attribute__((warn_unused_result));
/* Ends the thread. */
void worker_stop(struct worker *worker);

/* A new configuration in two steps. First: listen where it is new, and take all the memory that it
 * needs. False, with *error, when that fails: undo then. */
bool worker_prepare(struct worker *worker, const struct worker_plan *plan, const char **error)
    __attribute__((warn_unused_result));
void worker_undo(struct worker *worker);
/* Second, which takes it and cannot fail: new requests follow it, and listeners that it does not
 * have any more drain. */
void worker_commit(struct worker *worker);

/* Is this listener in service, and where? `nth`: of those configured alike (port 0), from 0. */
bool worker_listens(struct worker *worker, const struct conf_address *listen, size_t nth,
                    struct rt_addr *addr);

/* Section 16, in two steps. */
void worker_announce_drain(struct worker *worker);
void worker_drain(struct worker *worker, struct belay_span idle_for);

/* Adds what its listeners have counted. */
void worker_count(struct worker *worker, struct counters *counters);

#endif
