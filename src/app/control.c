/* control.c: starts the daemon's parts, and ends them without losing a request (control.h,
 * semantics 16). */
#include "app/control.h"

#include "app/log.h"
#include "base/check.h"

#include <belay/version.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

#define CLIENT_SHARE 4                /* of the descriptors, the part that clients may hold */
#define IDLE_FOR belay_span_ms(4000)  /* an idle connection waits so long for its last request */
#define CUT_AFTER belay_span_ms(5000) /* past the longest deadline nothing is left to wait for */

/* ---- the end ---- */

/* Every operation has ended by then, and its connection has had time for a last request. */
static struct belay_instant cut_at(const struct control *control)
{
    struct belay_instant now = rt_now(control->rt);
    struct belay_instant ends_at = belay_instant_max(
        control->old_ends_at, belay_instant_add(now, conf_longest_deadline(control->conf)));
    return belay_instant_add(ends_at, belay_span_add(IDLE_FOR, CUT_AFTER));
}

static void on_timer(struct rt_timer *timer)
{
    struct control *control = CONTAINER_OF(timer, struct control, timer);
    if (control->phase == CONTROL_GRACE) {
        control->phase = CONTROL_DRAINING;
        rt_timer_arm(control->rt, &control->timer, cut_at(control));
        for (uint32_t i = 0; i < control->worker_count; i++)
            worker_drain(&control->workers[i].worker, IDLE_FOR);
        return;
    }
    control->cut = true;
    log_line("some connections did not end by their deadlines and are cut");
    rt_stop(control->rt);
}

static void on_stop(void *owner)
{
    struct control *control = owner;
    control->phase = CONTROL_GRACE;
    log_line("stopping: running operations end, a second signal cuts them");
    if (control->admin) admin_announce_drain(control->admin);
    for (uint32_t i = 0; i < control->worker_count; i++)
        worker_announce_drain(&control->workers[i].worker);
    rt_timer_arm(control->rt, &control->timer,
                 belay_instant_add(rt_now(control->rt), control->conf->drain_grace_for));
}

static void on_reload(void *owner)
{
    struct control *control = owner;
    if (control->sink) event_sink_reopen(control->sink);
    if (control->phase == CONTROL_RUNNING) control_reload(control);
}

/* From the worker's thread. */
static void on_worker_drained(struct worker *worker)
{
    struct control_worker *own = worker->owner;
    rt_post(own->control->rt, &own->drained);
}

static void count_drained(struct rt_post *post)
{
    struct control *control = CONTAINER_OF(post, struct control_worker, drained)->control;
    if (++control->drained_count == control->worker_count) rt_stop(control->rt);
}

/* ---- the start ---- */

/* Connections need descriptors; what the system allows is taken. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* A client's connection may need a second one to its target: when clients could take every
 * descriptor, no request of theirs would go through, and the targets would be blamed for it. */
static uint32_t connections_max(const struct conf *conf)
{
    struct rlimit limit;
    uint32_t wanted = conf->connections_max;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / CLIENT_SHARE >= wanted)
        return wanted;
    uint32_t possible = (uint32_t)(limit.rlim_cur / CLIENT_SHARE);
    log_line("%u client connections at once instead of %u: the system gives %u descriptors",
             possible, wanted, (unsigned)limit.rlim_cur);
    return possible;
}

static uint32_t cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? (uint32_t)count : 1;
}

static bool open_sink(struct control *control, const struct conf *conf)
{
    const char *error;
    if (!conf->events_file) return true;
    control->sink = event_sink_create(conf->events_file, conf->events_buffer_bytes,
                                      control->worker_count, log_text, &error);
    if (!control->sink) {
        log_line("cannot write events to %s: %s", conf->events_file, error);
        return false;
    }
    if (event_sink_start(control->sink)) return true;
    log_line("no thread for events can be made");
    return false;
}

static bool make_workers(struct control *control, const struct conf *conf)
{
    uint32_t clients_max = connections_max(conf);
    control->workers = calloc(control->worker_count, sizeof *control->workers);
    for (uint32_t i = 0; control->workers && i < control->worker_count; i++) {
        struct control_worker *own = &control->workers[i];
        struct event_out *events = control->sink ? event_sink_out(control->sink, i) : NULL;
        if (!worker_init(&own->worker, events, clients_max, &control->connections_open))
            return false;
        own->worker.drained = on_worker_drained;
        own->worker.owner = own;
        own->drained.run = count_drained;
        own->control = control;
    }
    return control->workers != NULL;
}

static bool start_workers(struct control *control)
{
    for (uint32_t i = 0; i < control->worker_count; i++) {
        if (!worker_start(&control->workers[i].worker)) return false;
    }
    return true;
}

static bool open_admin(struct control *control)
{
    const struct conf_address *listen = &control->conf->admin;
    const char *error = "out of memory";
    char text[RT_ADDR_TEXT_MAX];
    struct rt_addr addr;
    if (!listen->host) return true;
    control->admin = admin_create(control->rt, control_gather, control);
    bool good = control->admin && rt_addr_parse(belay_slice_z(listen->host), listen->port, &addr) &&
                admin_listen(control->admin, &addr, &error);
    if (!good) {
        log_line("cannot listen on %s port %u for admin: %s", listen->host, (unsigned)listen->port,
                 error);
        return false;
    }
    admin_addr(control->admin, &addr);
    (void)rt_addr_format(&addr, text);
    log_line("admin on http://%s", text);
    return true;
}

static bool start(struct control *control, struct conf *conf)
{
    if (!open_sink(control, conf)) return false;
    control->rt = rt_create(0); /* draws no dice */
    if (!control->rt || !make_workers(control, conf)) {
        log_line("out of memory or descriptors");
        return false;
    }
    rt_timer_init(&control->timer, on_timer);
    if (!control_configure(control, conf) || !open_admin(control)) return false;
    if (start_workers(control) &&
        signals_start(&control->signals, control->rt, on_stop, on_reload, control)) {
        return true;
    }
    log_line("no thread can be made");
    return false;
}

static void release(struct control *control)
{
    for (uint32_t i = 0; control->workers && i < control->worker_count; i++) {
        worker_stop(&control->workers[i].worker);
    }
    /* Only now: a worker that runs may wake what waits in another. */
    for (uint32_t i = 0; control->workers && i < control->worker_count; i++) {
        worker_deinit(&control->workers[i].worker);
    }
    free(control->workers);
    if (control->admin) admin_destroy(control->admin);
    counters_deinit(&control->counters);
    if (control->sink) {
        uint64_t untold = event_sink_destroy(control->sink);
        if (untold)
            log_line("%llu event records were lost, unsaid in the file",
                     (unsigned long long)untold);
    }
    targets_deinit(&control->targets);
    free(control->in_use);
    if (control->rt) rt_destroy(control->rt);
    if (control->conf) conf_give(control->conf);
    for (size_t i = 0; i < OPTIONS_MAX; i++) free(control->started[i]);
}

bool control_start(struct control *control, const char *file, struct conf *conf, uint32_t workers)
{
    *control = (struct control){.file = file, .workers_given = workers != 0};
    targets_init(&control->targets);
    control->worker_count = workers ? workers : conf->workers ? conf->workers : cores();
    raise_descriptor_limit();
    signals_block(&control->signals);
    if (start(control, conf)) {
        const char *plural = control->worker_count == 1 ? "" : "s";
        log_line("%s runs with %u worker%s", BELAY_VERSION, control->worker_count, plural);
        return true;
    }
    if (control->conf != conf) conf_give(conf);
    release(control);
    return false;
}

void control_run(struct control *control)
{
    rt_run(control->rt);
}

bool control_end(struct control *control)
{
    signals_end(&control->signals);
    release(control);
    return !control->cut;
}
