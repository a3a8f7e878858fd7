/* proxy.c: the life of one worker's proxy: snapshots in use, memory of operations, the server's and
 * serve's calls. */
#include "proxy/proxy.h"

#include "base/check.h"
#include "proxy/flow.h"

#include <stdlib.h>

#define SPARE_BUF_BYTES_MAX 4096    /* what a spare operation's buffers may keep */
#define HELD_FIELDS_BYTES_MAX 32768 /* a head within its limits, with the lengths */
#define HEAD_BYTES_MAX ((size_t)128 * 1024)
#define BACKLOG_BYTES_MAX ((size_t)64 * 1024)

/* ---- snapshots in use ---- */

static void add_totals(struct client_stats *sum, const struct client_stats *one)
{
    sum->connects += one->connects;
    sum->reuses += one->reuses;
    sum->stale += one->stale;
    sum->discarded += one->discarded;
}

static void setup_destroy(struct setup *setup)
{
    struct proxy *proxy = setup->proxy;
    for (size_t i = 0; setup->clients && i < setup->conf->target_count; i++) {
        if (!setup->clients[i]) continue;
        struct client_stats stats;
        client_stats(setup->clients[i], &stats);
        add_totals(&proxy->stats.clients, &stats);
        client_destroy(setup->clients[i]);
    }
    rt_timer_disarm(proxy->rt, &setup->reaper);
    list_remove(&setup->node);
    conf_give(setup->conf);
    free(setup->clients);
    free(setup->targets);
    free(setup->streamed);
    free(setup);
}

static void on_reaper(struct rt_timer *timer)
{
    setup_destroy(CONTAINER_OF(timer, struct setup, reaper));
}

static void setup_release(struct setup *setup)
{
    struct proxy *proxy = setup->proxy;
    if (setup->users == 0 && setup != proxy->setup)
        rt_timer_arm(proxy->rt, &setup->reaper, rt_now(proxy->rt));
}

static bool setup_add_client(struct setup *setup, size_t index)
{
    const struct conf_target *target = &setup->conf->targets[index];
    struct client_limits limits = {.http1 = http1_limits_default(),
                                   .idle_for = target->policy.idle_for,
                                   .idle_max = target->policy.idle_max};
    if (setup->clients[index]) return true;
    const struct conf_address *address = &target->addresses[0];
    setup->clients[index] =
        client_create(setup->proxy->rt, &limits, belay_slice_z(address->host), address->port);
    return setup->clients[index] != NULL;
}

static bool setup_fill(struct setup *setup, const struct proxy_options *options)
{
    size_t targets = setup->conf->target_count, routes = setup->listener->route_count;
    setup->targets = calloc(targets, sizeof(struct belay_target *));
    setup->clients = calloc(targets, sizeof(struct client *));
    setup->streamed = calloc(routes, sizeof *setup->streamed);
    if (!setup->targets || !setup->clients || !setup->streamed) return false;
    memcpy(setup->targets, options->targets, targets * sizeof(struct belay_target *));
    for (size_t i = 0; i < routes; i++) {
        setup->streamed[i] = setup->listener->routes[i].policy;
        setup->streamed[i].retry_unsafe_refusals = false;
        if (!setup_add_client(setup, setup->listener->routes[i].target)) return false;
    }
    return true;
}

static struct server_limits limits_of(const struct setup *setup,
                                      const struct proxy_options *options)
{
    const struct conf *conf = setup->conf;
    uint32_t connections_max = options->connections_max;
    struct server_limits limits = {.http1 = http1_limits_default(),
                                   .head_for = conf->head_timeout_for,
                                   .idle_for = conf->client_idle_for,
                                   .connections_max =
                                       connections_max ? connections_max : conf->connections_max,
                                   .connections_open = options->connections_open,
                                   .backlog_bytes_max = BACKLOG_BYTES_MAX};
    for (size_t i = 0; i < setup->listener->route_count; i++) {
        struct belay_span silence_for = setup->listener->routes[i].policy.silence_timeout_for;
        limits.silence_for = belay_span_max(limits.silence_for, silence_for);
    }
    return limits;
}

static struct setup *setup_create(struct proxy *proxy, struct conf *conf,
                                  const struct proxy_options *options)
{
    struct setup *setup = calloc(1, sizeof *setup);
    if (!setup) return NULL;
    CHECK(options->listener < conf->listener_count);
    setup->proxy = proxy;
    setup->conf = conf_take(conf);
    setup->listener = &conf->listeners[options->listener];
    setup->limits = limits_of(setup, options);
    facts_names_init(&setup->names, conf);
    rt_timer_init(&setup->reaper, on_reaper);
    list_push_back(&proxy->setups, &setup->node);
    if (setup_fill(setup, options)) return setup;
    setup_destroy(setup);
    return NULL;
}

/* ---- memory of operations ---- */

/* Never freed before the proxy is: a wake may still be on its way through rt_post when its
 * operation has ended, and then finds whoever has that memory, who is not queued or asks once more.
 */
static struct flow *make_flow(struct proxy *proxy)
{
    struct flow *flow = calloc(1, sizeof *flow);
    if (!flow) return NULL;
    flow->proxy = proxy;
    rt_timer_init(&flow->timer, flow_on_timer);
    flow->post.run = flow_on_post;
    atomic_init(&flow->posted, false);
    buf_init(&flow->head, HEAD_BYTES_MAX);
    buf_init(&flow->upload.body, 0);
    buf_init(&flow->held.fields, HELD_FIELDS_BYTES_MAX);
    buf_init(&flow->held.body, 0);
    list_init(&flow->node);
    return flow;
}

struct flow *proxy_take_flow(struct proxy *proxy)
{
    struct flow *flow;
    if (list_empty(&proxy->spares)) {
        flow = make_flow(proxy);
    } else {
        flow = CONTAINER_OF(proxy->spares.next, struct flow, node);
        list_remove(&flow->node);
    }
    bool starved = flow == NULL;
    if (starved) flow = proxy->reserve;
    flow->starved = starved;
    list_push_back(&proxy->running, &flow->node);
    proxy->stats.running++;
    flow->setup = proxy->setup;
    flow->setup->users++;
    flow->route = NULL;
    flow->state = FLOW_COLLECTING;
    flow->half_closed = false;
    flow->has_op = flow->queued = flow->paused = flow->call_runs = flow->recorded = false;
    flow->terminal = BELAY_TERMINAL_BAD_REQUEST;
    flow->answer = 0;
    flow->held.any = false;
    flow->upload.whole = flow->upload.streaming = flow->upload.chunked = flow->upload.gone = false;
    return flow;
}

static void trim(struct buf *buf)
{
    if (buf->capacity > SPARE_BUF_BYTES_MAX)
        buf_deinit(buf);
    else
        buf_clear(buf);
}

void proxy_give_flow(struct flow *flow)
{
    struct proxy *proxy = flow->proxy;
    trim(&flow->head);
    trim(&flow->upload.body);
    trim(&flow->held.fields);
    trim(&flow->held.body);
    flow->exchange = NULL;
    flow->setup->users--;
    setup_release(flow->setup);
    flow->setup = NULL;
    list_remove(&flow->node);
    if (!flow->starved) list_push_front(&proxy->spares, &flow->node);
    proxy->stats.running--;
}

static void free_flow(struct flow *flow)
{
    list_remove(&flow->node);
    buf_deinit(&flow->head);
    buf_deinit(&flow->upload.body);
    buf_deinit(&flow->held.fields);
    buf_deinit(&flow->held.body);
    free(flow);
}

static void free_flows(struct proxy *proxy)
{
    while (!list_empty(&proxy->spares))
        free_flow(CONTAINER_OF(proxy->spares.next, struct flow, node));
    if (proxy->reserve) free_flow(proxy->reserve);
}

/* ---- what the server tells ---- */

static void on_request(void *owner, struct server_exchange *exchange)
{
    flow_begin(owner, exchange);
}

static void on_body(void *owner, struct server_exchange *exchange, struct belay_slice piece,
                    bool end)
{
    (void)owner;
    struct flow *flow = server_user(exchange);
    if (flow) upload_take(flow, piece, end);
}

static void on_writable(void *owner, struct server_exchange *exchange)
{
    (void)owner;
    struct flow *flow = server_user(exchange);
    if (flow) flow_writable(flow);
}

static void on_half_closed(void *owner, struct server_exchange *exchange)
{
    (void)owner;
    struct flow *flow = server_user(exchange);
    if (flow) flow_half_closed(flow);
}

static void on_gone(void *owner, struct server_exchange *exchange, const struct http1_error *error)
{
    (void)owner;
    struct flow *flow = server_user(exchange);
    if (flow) flow_gone(flow, error ? error->status : 0);
}

static void on_bad_request(void *owner, const struct http1_error *error,
                           struct belay_instant began_at)
{
    struct proxy *proxy = owner;
    proxy->stats.bad_requests++;
    record_bad_request(proxy, error, began_at);
}

static void on_drained(void *owner)
{
    struct proxy *proxy = owner;
    if (proxy->drained) proxy->drained(proxy->drained_owner);
}

/* ---- what serve calls ---- */

static struct server *make_server(struct proxy *proxy)
{
    static const struct server_handler handler = {.request = on_request,
                                                  .body = on_body,
                                                  .writable = on_writable,
                                                  .gone = on_gone,
                                                  .half_closed = on_half_closed,
                                                  .bad_request = on_bad_request};
    return server_create(proxy->rt, &proxy->setup->limits, &handler, proxy);
}

struct proxy *proxy_create(struct rt *rt, struct conf *conf, const struct proxy_options *options)
{
    struct proxy *proxy = calloc(1, sizeof *proxy);
    if (!proxy) return NULL;
    proxy->rt = rt;
    proxy->events = options->events;
    list_init(&proxy->setups);
    list_init(&proxy->running);
    list_init(&proxy->spares);
    proxy->setup = setup_create(proxy, conf, options);
    proxy->reserve = proxy->setup ? make_flow(proxy) : NULL;
    proxy->server = proxy->reserve ? make_server(proxy) : NULL;
    if (proxy->server) return proxy;
    free_flows(proxy);
    if (proxy->setup) setup_destroy(proxy->setup);
    free(proxy);
    return NULL;
}

bool proxy_prepare(struct proxy *proxy, struct conf *conf, const struct proxy_options *options)
{
    struct setup *fresh = setup_create(proxy, conf, options);
    if (!fresh) return false;
    proxy_undo(proxy);
    proxy->prepared = fresh;
    return true;
}

void proxy_commit(struct proxy *proxy)
{
    struct setup *before = proxy->setup;
    if (!proxy->prepared) return;
    proxy->setup = proxy->prepared;
    proxy->prepared = NULL;
    setup_release(before);
    server_set_limits(proxy->server, &proxy->setup->limits);
}

void proxy_undo(struct proxy *proxy)
{
    if (proxy->prepared) setup_destroy(proxy->prepared);
    proxy->prepared = NULL;
}

bool proxy_listen(struct proxy *proxy, const struct rt_addr *addr, const char **error)
{
    return server_listen(proxy->server, addr, error);
}

void proxy_addr(const struct proxy *proxy, struct rt_addr *out)
{
    server_addr(proxy->server, out);
}

void proxy_stats(const struct proxy *proxy, struct proxy_stats *out)
{
    *out = proxy->stats;
    server_stats(proxy->server, &out->server);
    for (struct list *node = proxy->setups.next; node != &proxy->setups; node = node->next) {
        const struct setup *setup = CONTAINER_OF(node, struct setup, node);
        for (size_t i = 0; i < setup->conf->target_count; i++) {
            if (!setup->clients[i]) continue;
            struct client_stats stats;
            client_stats(setup->clients[i], &stats);
            add_totals(&out->clients, &stats);
            out->clients.open += stats.open;
            out->clients.idle += stats.idle;
        }
    }
}

void proxy_announce_drain(struct proxy *proxy)
{
    server_announce_drain(proxy->server);
}

void proxy_drain(struct proxy *proxy, struct belay_span idle_for, void (*drained)(void *owner),
                 void *owner)
{
    proxy->drained = drained;
    proxy->drained_owner = owner;
    server_drain(proxy->server, idle_for, on_drained);
}

void proxy_destroy(struct proxy *proxy)
{
    if (!proxy) return;
    while (!list_empty(&proxy->running)) {
        struct flow *flow = CONTAINER_OF(proxy->running.next, struct flow, node);
        struct server_exchange *exchange = flow->exchange;
        flow_gone(flow, 0);
        server_abort(exchange);
    }
    server_destroy(proxy->server);
    proxy->setup = NULL;
    while (!list_empty(&proxy->setups))
        setup_destroy(CONTAINER_OF(proxy->setups.next, struct setup, node));
    free_flows(proxy);
    free(proxy);
}
