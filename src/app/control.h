/* control.h: the daemon as a whole: its workers, its configuration, its end. Belongs to the main
 * thread. */
#ifndef APP_CONTROL_H
#define APP_CONTROL_H

#include "app/signals.h"
#include "app/targets.h"
#include "app/worker.h"
#include "conf/option.h"
#include "event/sink.h"

enum control_phase { CONTROL_RUNNING, CONTROL_GRACE, CONTROL_DRAINING };

/* A worker, and how its end comes to the control loop. */
struct control_worker {
    struct worker worker;
    struct rt_post drained;
    struct control *control;
};

struct control {
    const char *file; /* of the configuration */
    struct rt *rt;    /* the control loop: signals, the end's clock, the admin listener */
    struct signals signals;
    struct conf *conf;
    char *started[OPTIONS_MAX];       /* the values of those options that only a start takes */
    bool workers_given;               /* on the command line */
    struct belay_instant old_ends_at; /* no operation of an earlier configuration lives longer */
    struct targets targets;
    struct belay_target **in_use; /* one for each of conf.targets */
    struct counters counters;     /* of conf's listeners and targets */
    struct admin *admin;          /* NULL: no admin listener */
    uint64_t reloads, reloads_refused;
    struct event_sink *sink; /* NULL: no events */
    struct control_worker *workers;
    uint32_t worker_count, drained_count;
    atomic_uint connections_open; /* of all workers */
    enum control_phase phase;
    struct rt_timer timer;
    bool cut; /* the end did not wait for everything */
};

/* Starts everything; *control must stay where it is. False: what was wrong has been logged, nothing
 * runs. `workers` 0: as the configuration says. Takes the caller's reference of `conf`, also when
 * it fails. */
bool control_start(struct control *control, const char *file, struct conf *conf, uint32_t workers)
    __attribute__((warn_unused_result));
/* Until it is told to stop and everything has drained. */
void control_run(struct control *control);
/* Returns whether nothing had to be cut. */
bool control_end(struct control *control);

/* gather.c: what the admin listener tells. */
void control_gather(void *control, struct admin_snapshot *out);

/* configure.c: all of `conf` is taken, or nothing of it, and why has been logged. The reference is
 * the control's, if it is taken. */
bool control_configure(struct control *control, struct conf *conf)
    __attribute__((warn_unused_result));
/* Reads the file again. */
void control_reload(struct control *control);

#endif
