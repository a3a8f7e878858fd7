/* worker.c: a worker's thread, its loop, and its listeners through new configurations and the end
 * (worker.h). */
#include "app/worker.h"

#include "base/check.h"

#include <stdlib.h>
#include <sys/random.h>

#define CLOSING_FOR belay_span_ms(4000) /* an idle connection of a listener that is gone */

struct listener {
    struct list node;
    struct worker *worker;
    struct proxy *proxy;
    struct conf_address listen; /* as it was configured; the host is its own copy */
    size_t index;               /* in the configuration that is followed */
    size_t index_next;          /* kept: in the one that is prepared */
    bool kept, draining;
    bool gone; /* the configuration that is followed does not have it any more */
    struct rt_post end;
};

/* ---- calls into the worker's thread ---- */

struct call {
    struct rt_post post;
    struct worker *worker;
    void (*run)(struct worker *worker, void *argument);
    void *argument;
    bool answered;
};

static void run_call(struct rt_post *post)
{
    struct call *call = CONTAINER_OF(post, struct call, post);
    struct worker *worker = call->worker;
    call->run(worker, call->argument);
    (void)pthread_mutex_lock(&worker->mutex);
    call->answered = true;
    (void)pthread_cond_signal(&worker->answered);
    (void)pthread_mutex_unlock(&worker->mutex);
}

/* Runs it in the worker's thread and waits; before the thread has started, here. */
static void call(struct worker *worker, void (*run)(struct worker *, void *), void *argument)
{
    struct call call = {.post.run = run_call, .worker = worker, .run = run, .argument = argument};
    if (!worker->started) {
        run(worker, argument);
        return;
    }
    rt_post(worker->rt, &call.post);
    (void)pthread_mutex_lock(&worker->mutex);
    while (!call.answered) (void)pthread_cond_wait(&worker->answered, &worker->mutex);
    (void)pthread_mutex_unlock(&worker->mutex);
}

/* ---- listeners ---- */

static struct listener *listener_of(struct list *node)
{
    return CONTAINER_OF(node, struct listener, node);
}

static void listener_destroy(struct listener *listener)
{
    list_remove(&listener->node);
    if (listener->proxy) proxy_destroy(listener->proxy);
    free(listener->listen.host);
    free(listener);
}

static void destroy_all(struct list *listeners)
{
    while (!list_empty(listeners)) listener_destroy(listener_of(listeners->next));
}

static void tell_when_drained(struct worker *worker)
{
    if (worker->draining && list_empty(&worker->listeners)) worker->drained(worker);
}

static void end_listener(struct rt_post *post)
{
    struct listener *listener = CONTAINER_OF(post, struct listener, end);
    struct worker *worker = listener->worker;
    listener_destroy(listener);
    tell_when_drained(worker);
}

/* A proxy may not be destroyed inside its own callback. */
static void on_drained(void *owner)
{
    struct listener *listener = owner;
    listener->end.run = end_listener;
    rt_post(listener->worker->rt, &listener->end);
}

static void drain_listener(struct listener *listener, struct belay_span idle_for)
{
    if (listener->draining) return;
    listener->draining = true;
    proxy_drain(listener->proxy, idle_for, on_drained, listener);
}

static bool is_listen(const struct listener *listener, const struct conf_address *listen)
{
    return listener->listen.port == listen->port &&
           strcmp(listener->listen.host, listen->host) == 0;
}

/* The nth in service on that address, which no listener of the plan has taken yet (several may ask
 * for port 0). */
static struct listener *find_listener(struct worker *worker, const struct conf_address *listen,
                                      size_t nth)
{
    for (struct list *node = worker->listeners.next; node != &worker->listeners;
         node = node->next) {
        struct listener *listener = listener_of(node);
        bool fits = !listener->draining && !listener->kept && is_listen(listener, listen);
        if (fits && nth-- == 0) return listener;
    }
    return NULL;
}

static struct proxy_options options_of(const struct worker *worker, const struct worker_plan *plan,
                                       size_t index)
{
    return (struct proxy_options){.listener = index,
                                  .targets = plan->targets,
                                  .events = worker->events,
                                  .connections_max = worker->connections_max,
                                  .connections_open = worker->connections_open};
}

static const char NO_MEMORY[] = "out of memory";

static const char *open_listener(struct worker *worker, const struct worker_plan *plan,
                                 size_t index)
{
    const char *error = NO_MEMORY;
    struct proxy_options options = options_of(worker, plan, index);
    struct listener *listener = calloc(1, sizeof *listener);
    if (!listener) return NO_MEMORY;
    list_push_back(&worker->fresh, &listener->node);
    listener->worker = worker;
    listener->listen = plan->conf->listeners[index].listen;
    listener->listen.host = strdup(listener->listen.host);
    listener->index = index;
    if (listener->listen.host) listener->proxy = proxy_create(worker->rt, plan->conf, &options);
    if (!listener->proxy) return NO_MEMORY;
    return proxy_listen(listener->proxy, &plan->addrs[index], &error) ? NULL : error;
}

static const char *keep_listener(struct listener *listener, const struct worker_plan *plan,
                                 size_t index)
{
    struct proxy_options options = options_of(listener->worker, plan, index);
    listener->kept = true;
    listener->index_next = index;
    return proxy_prepare(listener->proxy, plan->conf, &options) ? NULL : NO_MEMORY;
}

/* ---- a new configuration ---- */

struct change {
    const struct worker_plan *plan;
    const char *error;
};

static void prepare(struct worker *worker, void *argument)
{
    struct change *change = argument;
    for (size_t i = 0; i < change->plan->conf->listener_count && !change->error; i++) {
        struct listener *listener =
            find_listener(worker, &change->plan->conf->listeners[i].listen, 0);
        change->error = listener ? keep_listener(listener, change->plan, i)
                                 : open_listener(worker, change->plan, i);
    }
}

static void undo(struct worker *worker, void *argument)
{
    (void)argument;
    destroy_all(&worker->fresh);
    for (struct list *node = worker->listeners.next; node != &worker->listeners;
         node = node->next) {
        listener_of(node)->kept = false;
        proxy_undo(listener_of(node)->proxy);
    }
}

static void commit(struct worker *worker, void *argument)
{
    (void)argument;
    for (struct list *node = worker->listeners.next; node != &worker->listeners;
         node = node->next) {
        struct listener *listener = listener_of(node);
        if (listener->kept) {
            listener->kept = false;
            listener->index = listener->index_next;
            proxy_commit(listener->proxy);
        } else if (!listener->draining) {
            listener->gone = true;
            proxy_announce_drain(listener->proxy);
            drain_listener(listener, CLOSING_FOR);
        }
    }
    while (!list_empty(&worker->fresh)) {
        struct list *node = worker->fresh.next;
        list_remove(node);
        list_push_back(&worker->listeners, node);
    }
}

bool worker_prepare(struct worker *worker, const struct worker_plan *plan, const char **error)
{
    struct change change = {.plan = plan};
    call(worker, prepare, &change);
    *error = change.error;
    return !change.error;
}

void worker_undo(struct worker *worker)
{
    call(worker, undo, NULL);
}

void worker_commit(struct worker *worker)
{
    call(worker, commit, NULL);
}

struct place {
    const struct conf_address *listen;
    size_t nth;
    struct rt_addr *addr;
    bool found;
};

static void find_place(struct worker *worker, void *argument)
{
    struct place *place = argument;
    struct listener *listener = find_listener(worker, place->listen, place->nth);
    place->found = listener != NULL;
    if (listener) proxy_addr(listener->proxy, place->addr);
}

bool worker_listens(struct worker *worker, const struct conf_address *listen, size_t nth,
                    struct rt_addr *addr)
{
    struct place place = {listen, nth, addr, false};
    call(worker, find_place, &place);
    return place.found;
}

/* ---- the end ---- */

static void announce(struct worker *worker, void *argument)
{
    (void)argument;
    for (struct list *node = worker->listeners.next; node != &worker->listeners;
         node = node->next) {
        proxy_announce_drain(listener_of(node)->proxy);
    }
}

static void drain(struct worker *worker, void *argument)
{
    const struct belay_span *idle_for = argument;
    worker->draining = true;
    for (struct list *node = worker->listeners.next, *next; node != &worker->listeners;
         node = next) {
        next = node->next;
        drain_listener(listener_of(node), *idle_for);
    }
    tell_when_drained(worker);
}

void worker_announce_drain(struct worker *worker)
{
    call(worker, announce, NULL);
}

void worker_drain(struct worker *worker, struct belay_span idle_for)
{
    call(worker, drain, &idle_for);
}

/* ---- what it has done ---- */

static void add_counters(struct worker *worker, void *argument)
{
    struct counters *counters = argument;
    for (struct list *node = worker->listeners.next; node != &worker->listeners;
         node = node->next) {
        struct listener *listener = listener_of(node);
        struct proxy_stats stats;
        if (listener->gone || listener->index >= counters->listener_count) continue;
        proxy_stats(listener->proxy, &stats);
        counters_add(&counters->listeners[listener->index].stats, &stats);
    }
}

void worker_count(struct worker *worker, struct counters *counters)
{
    call(worker, add_counters, counters);
}

/* ---- life ---- */

bool worker_init(struct worker *worker, struct event_out *events, uint32_t connections_max,
                 atomic_uint *connections_open)
{
    uint64_t seed;
    *worker = (struct worker){
        .events = events, .connections_max = connections_max, .connections_open = connections_open};
    list_init(&worker->listeners);
    list_init(&worker->fresh);
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) return false;
    worker->rt = rt_create(seed);
    if (!worker->rt) return false;
    (void)pthread_mutex_init(&worker->mutex, NULL);
    (void)pthread_cond_init(&worker->answered, NULL);
    return true;
}

static void *run(void *argument)
{
    struct worker *worker = argument;
    rt_run(worker->rt);
    return NULL;
}

bool worker_start(struct worker *worker)
{
    worker->started = pthread_create(&worker->thread, NULL, run, worker) == 0;
    return worker->started;
}

static void stop(struct worker *worker, void *argument)
{
    (void)argument;
    rt_stop(worker->rt);
}

void worker_stop(struct worker *worker)
{
    if (!worker->started) return;
    call(worker, stop, NULL);
    (void)pthread_join(worker->thread, NULL);
    worker->started = false;
}

/* Not in the loop: a wake for what is destroyed may still wait there. */
void worker_deinit(struct worker *worker)
{
    if (!worker->rt) return;
    destroy_all(&worker->fresh);
    destroy_all(&worker->listeners);
    rt_destroy(worker->rt);
    (void)pthread_cond_destroy(&worker->answered);
    (void)pthread_mutex_destroy(&worker->mutex);
}
