/* configure.c: a configuration is taken by all workers as a whole, or not at all (control.h).
 *
 * Addresses are reserved first, on the control loop, which does not turn meanwhile; the workers
 * join the sockets, and only when every one has, the old configuration goes. So a port in use, or
 * no memory, changes nothing.
 */
#include "app/control.h"
#include "app/log.h"

#include <stdlib.h>

struct reservations {
    struct rt_addr *addrs;          /* one for each listener */
    struct rt_listener **listeners; /* NULL where one is in service already */
    size_t count;
};

/* A reservation is given up before the loop turns, so nothing is ever accepted on it. */
static void refuse(void *owner, struct rt_conn *conn)
{
    (void)owner;
    rt_conn_close(conn, RT_CLOSE_ABORT);
}

static void release(struct reservations *reserved)
{
    for (size_t i = 0; i < reserved->count; i++) {
        if (reserved->listeners && reserved->listeners[i])
            rt_listener_close(reserved->listeners[i]);
    }
    free(reserved->listeners);
    free(reserved->addrs);
}

/* How many listeners before this one are configured alike: asking for any free port, they stand for
 * different ones. */
static size_t alike_before(const struct conf *conf, size_t index)
{
    const struct conf_address *listen = &conf->listeners[index].listen;
    size_t count = 0;
    for (size_t i = 0; i < index; i++) {
        const struct conf_address *other = &conf->listeners[i].listen;
        count += other->port == listen->port && strcmp(other->host, listen->host) == 0;
    }
    return count;
}

static bool reserve(struct control *control, const struct conf *conf, size_t index,
                    struct rt_addr *addr, struct rt_listener **listener)
{
    const struct conf_address *listen = &conf->listeners[index].listen;
    static const struct rt_listener_events events = {.accepted = refuse};
    const char *error = "no literal address";
    if (worker_listens(&control->workers[0].worker, listen, alike_before(conf, index), addr))
        return true;
    if (rt_addr_parse(belay_slice_z(listen->host), listen->port, addr)) {
        *listener = rt_listen(control->rt, addr, &events, NULL, &error);
    }
    if (!*listener) {
        log_line("cannot listen on %s port %u: %s", listen->host, (unsigned)listen->port, error);
        return false;
    }
    rt_listener_addr(*listener, addr);
    return true;
}

static bool reserve_all(struct control *control, const struct conf *conf,
                        struct reservations *reserved)
{
    *reserved = (struct reservations){.count = conf->listener_count};
    reserved->addrs = calloc(conf->listener_count + 1, sizeof *reserved->addrs);
    reserved->listeners = calloc(conf->listener_count + 1, sizeof(struct rt_listener *));
    bool good = reserved->addrs && reserved->listeners;
    if (!good) log_line("out of memory");
    for (size_t i = 0; i < conf->listener_count && good; i++) {
        good = reserve(control, conf, i, &reserved->addrs[i], &reserved->listeners[i]);
    }
    if (!good) release(reserved);
    return good;
}

static bool prepare_all(struct control *control, const struct worker_plan *plan)
{
    for (uint32_t i = 0; i < control->worker_count; i++) {
        const char *error;
        if (worker_prepare(&control->workers[i].worker, plan, &error)) continue;
        log_line("cannot take the configuration: %s", error);
        for (uint32_t j = 0; j <= i; j++) worker_undo(&control->workers[j].worker);
        return false;
    }
    return true;
}

static void commit_all(struct control *control, const struct worker_plan *plan)
{
    bool complete = true;
    for (uint32_t i = 0; i < control->worker_count; i++) {
        complete &= worker_commit(&control->workers[i].worker, plan);
    }
    if (!complete) log_line("out of memory: some listeners still follow the old configuration");
}

static void say_listeners(const struct conf *conf, const struct reservations *reserved)
{
    for (size_t i = 0; i < conf->listener_count; i++) {
        const struct conf_listener *listener = &conf->listeners[i];
        char text[RT_ADDR_TEXT_MAX];
        if (!reserved->listeners[i]) continue;
        (void)rt_addr_format(&reserved->addrs[i], text);
        if (listener->route_count == 1) {
            log_line("egress on http://%s to %s", text,
                     conf->targets[listener->routes[0].target].name);
        } else {
            log_line("egress on http://%s, %zu routes", text, listener->route_count);
        }
    }
}

static void follow(struct control *control, const struct worker_plan *plan,
                   struct belay_target **targets, const struct counters *counters)
{
    counters_deinit(&control->counters);
    free(control->in_use);
    if (control->conf) conf_give(control->conf);
    control->conf = plan->conf;
    control->in_use = targets;
    control->counters = *counters;
}

bool control_configure(struct control *control, struct conf *conf)
{
    struct reservations reserved;
    struct belay_target **targets = calloc(conf->target_count + 1, sizeof(struct belay_target *));
    if (!targets || !targets_of(&control->targets, conf, targets)) {
        log_line("out of memory");
        free(targets);
        return false;
    }
    if (!reserve_all(control, conf, &reserved)) {
        free(targets);
        return false;
    }
    struct worker_plan plan = {.conf = conf, .targets = targets, .addrs = reserved.addrs};
    struct counters counters;
    bool taken = counters_init(&counters, conf, reserved.addrs);
    if (taken && !prepare_all(control, &plan)) {
        counters_deinit(&counters);
        taken = false;
    }
    if (taken) {
        commit_all(control, &plan);
        say_listeners(conf, &reserved);
        follow(control, &plan, targets, &counters);
    } else {
        free(targets);
    }
    release(&reserved);
    return taken;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* What is made once, at the start. */
static void say_what_waits(const struct conf *old, const struct conf *new)
{
    bool same_events = same_text(old->events_file, new->events_file) &&
                       old->events_buffer_bytes == new->events_buffer_bytes;
    bool same_admin =
        same_text(old->admin.host, new->admin.host) && old->admin.port == new->admin.port;
    bool same_sizes = old->workers == new->workers && old->connections_max == new->connections_max;
    if (!same_events || !same_admin || !same_sizes)
        log_line("events, workers, admin and connection limits change with the next start");
}

void control_reload(struct control *control)
{
    struct conf *conf = NULL;
    bool taken = conf_read(control->file, stderr, &conf) == CONF_GOOD;
    if (taken) {
        say_what_waits(control->conf, conf);
        taken = control_configure(control, conf);
        if (!taken) conf_give(conf);
    }
    control->reloads += taken;
    control->reloads_refused += !taken;
    log_line("%s is %s", control->file, taken ? "taken" : "not taken; the old configuration stays");
}
