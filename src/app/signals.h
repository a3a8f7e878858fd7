/* signals.h: signals as facts that come to a loop. */
#ifndef APP_SIGNALS_H
#define APP_SIGNALS_H

#include "rt/rt.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

struct signals {
    struct rt_post post;
    struct rt *rt;
    void (*stop)(void *owner);   /* the first SIGTERM or SIGINT; the second ends the process */
    void (*reload)(void *owner); /* SIGHUP; several that come together are one */
    void *owner;
    sigset_t set;
    pthread_t thread;
    atomic_bool posted, stop_seen, reload_seen, ending;
    bool stop_told;
};

/* Blocks them in this thread and those it will start: call it before any is started. */
void signals_block(struct signals *signals);
/* Tells `rt` of them from now on. False without a thread. */
bool signals_start(struct signals *signals, struct rt *rt, void (*stop)(void *),
                   void (*reload)(void *), void *owner) __attribute__((warn_unused_result));
/* No more are told of. The loop no longer runs. */
void signals_end(struct signals *signals);

#endif
