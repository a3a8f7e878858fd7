/* configure.c: a configuration is taken by all workers as a whole, or not at all (control.h).
 *
 * Addresses are reserved first, on the control loop, which does not turn meanwhile; the workers
 * join the sockets, and only when every one has, the old configuration goes. So a port in use, or
 * no memory, changes nothing.
 */
#include "app/control.h"
#include "app/log.h"
#include "conf/option.h"
#include "conf/value.h"

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

static void commit_all(struct control *control)
{
    for (uint32_t i = 0; i < control->worker_count; i++) worker_commit(&control->workers[i].worker);
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

/* As YAML; NULL without memory. The caller frees it. */
static char *value_of(const struct option *option, const struct conf *conf)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    value_print(option, conf, out);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

/* Not by way of a reference: a configuration that is referred to keeps its targets. */
static void remember_start(struct control *control, const struct conf *conf)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (OPTIONS[i].at_start) control->started[i] = value_of(&OPTIONS[i], conf);
    }
}

static void follow(struct control *control, const struct worker_plan *plan,
                   struct belay_target **targets, const struct counters *counters)
{
    counters_deinit(&control->counters);
    free(control->in_use);
    if (control->conf) {
        /* What runs now began under the old deadlines. */
        control->old_ends_at = belay_instant_max(
            control->old_ends_at,
            belay_instant_add(rt_now(control->rt), conf_longest_deadline(control->conf)));
        conf_give(control->conf);
    } else {
        remember_start(control, plan->conf);
    }
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
    bool room = counters_init(&counters, conf, reserved.addrs) &&
                targets_keep(&control->targets, conf, targets);
    if (!room) log_line("out of memory");
    bool taken = room && prepare_all(control, &plan);
    if (taken) {
        commit_all(control);
        say_listeners(conf, &reserved);
        follow(control, &plan, targets, &counters);
        targets_sweep(&control->targets);
    } else {
        counters_deinit(&counters);
        free(targets);
    }
    release(&reserved);
    return taken;
}

/* What is made once, at the start. A number of workers on the command line outdoes the file's. */
static void say_what_waits(const struct control *control, const struct conf *wanted)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &OPTIONS[i];
        if (!option->at_start || (control->workers_given && strcmp(option->name, "workers") == 0))
            continue;
        const char *now = control->started[i];
        char *then = value_of(option, wanted);
        if (now && then && strcmp(now, then) != 0) {
            log_line("%s: %s stays %s; %s needs a restart", control->file, option->name, now, then);
        }
        free(then);
    }
}

void control_reload(struct control *control)
{
    struct conf *conf = NULL;
    bool taken = conf_read(control->file, stderr, &conf) == CONF_GOOD;
    if (taken) {
        say_what_waits(control, conf);
        taken = control_configure(control, conf);
        if (!taken) conf_give(conf);
    }
    control->reloads += taken;
    control->reloads_refused += !taken;
    log_line("%s is %s", control->file, taken ? "taken" : "not taken; the old configuration stays");
}
