/* client.c: the pool of one address: placing a call on a connection, resolving, connecting,
 * keeping, clocks. */
#include "client/client.h"

#include "base/check.h"
#include "client/conn.h"

#include <stdlib.h>

#define HOST_BYTES_MAX 256

static void on_clock(struct rt_timer *timer);
static void on_idle_clock(struct rt_timer *timer);

struct client *client_create(struct rt *rt, const struct client_limits *limits,
                             struct belay_slice host, uint16_t port)
{
    struct client *client = calloc(1, sizeof *client);
    if (!client) return NULL;
    client->rt = rt;
    client->limits = *limits;
    client->port = port;
    buf_init(&client->host, HOST_BYTES_MAX);
    if (!buf_add(&client->host, host.data, host.length) || !buf_add(&client->host, "", 1)) {
        buf_deinit(&client->host);
        free(client);
        return NULL;
    }
    if (rt_addr_parse(host, port, &client->resolved.addrs[0])) {
        client->resolved.count = 1;
        client->resolved_until = belay_instant_never();
    }
    list_init(&client->busy);
    list_init(&client->idle);
    rt_timer_init(&client->clock, on_clock);
    rt_timer_init(&client->idle_clock, on_idle_clock);
    return client;
}

void client_destroy(struct client *client)
{
    if (!client) return;
    CHECK(list_empty(&client->busy));
    client_drop_idle(client);
    rt_timer_disarm(client->rt, &client->clock);
    rt_timer_disarm(client->rt, &client->idle_clock);
    buf_deinit(&client->host);
    free(client);
}

void client_stats(const struct client *client, struct client_stats *out)
{
    *out = client->stats;
}

/* ---- connections of the pool ---- */

void client_conn_discard(struct client_conn *conn, enum rt_close how)
{
    struct client *client = conn->client;
    list_remove(&conn->node);
    if (conn->state == CONN_IDLE) client->stats.idle--;
    if (conn->resolve) rt_resolve_cancel(conn->resolve);
    conn->resolve = NULL;
    if (conn->rt_conn) {
        rt_conn_close(conn->rt_conn, how);
        client->stats.open--;
        client->stats.discarded++;
    }
    conn->rt_conn = NULL;
    conn->state = CONN_GONE;
    conn->call = NULL;
    buf_deinit(&conn->kept);
    if (!conn->entered) free(conn);
}

void client_conn_park(struct client_conn *conn)
{
    struct client *client = conn->client;
    conn->call = NULL;
    buf_deinit(&conn->kept);
    list_remove(&conn->node);
    if (client->limits.idle_max == 0) {
        client_conn_discard(conn, RT_CLOSE_GRACEFUL);
        return;
    }
    if (client->stats.idle >= client->limits.idle_max) {
        struct client_conn *oldest = CONTAINER_OF(client->idle.prev, struct client_conn, node);
        client_conn_discard(oldest, RT_CLOSE_GRACEFUL);
    }
    conn->state = CONN_IDLE;
    conn->active_at = rt_now(client->rt);
    list_push_front(&client->idle, &conn->node);
    client->stats.idle++;
    if (!rt_timer_armed(&client->idle_clock)) {
        rt_timer_arm(client->rt, &client->idle_clock,
                     belay_instant_add(conn->active_at, client->limits.idle_for));
    }
}

void client_drop_idle(struct client *client)
{
    while (!list_empty(&client->idle)) {
        client_conn_discard(CONTAINER_OF(client->idle.next, struct client_conn, node),
                            RT_CLOSE_GRACEFUL);
    }
}

/* The timer is armed for the oldest and not moved while connections come and go: when it fires too
 * early for the oldest of that moment, it is armed again. */
static void on_idle_clock(struct rt_timer *timer)
{
    struct client *client = CONTAINER_OF(timer, struct client, idle_clock);
    struct belay_instant now = rt_now(client->rt);
    while (!list_empty(&client->idle)) {
        struct client_conn *oldest = CONTAINER_OF(client->idle.prev, struct client_conn, node);
        struct belay_instant ends_at =
            belay_instant_add(oldest->active_at, client->limits.idle_for);
        if (belay_instant_before(now, ends_at)) {
            rt_timer_arm(client->rt, timer, ends_at);
            return;
        }
        client_conn_discard(oldest, RT_CLOSE_GRACEFUL);
    }
}

/* ---- silence and connect clocks: one timer for all of them ---- */

static struct belay_instant ends_at(const struct client_conn *conn)
{
    const struct client_call *call = conn->call;
    if (conn->state != CONN_BUSY)
        return belay_instant_add(conn->active_at, call->options.connect_for);
    bool owed =
        !call->body_ends && call->head.length + call->body.length == 0 && !call->wants_writable;
    if (conn->paused || owed || call->options.silence_for.ns == 0) return belay_instant_never();
    return belay_instant_add(conn->active_at, call->options.silence_for);
}

void client_conn_watch(struct client_conn *conn)
{
    struct client *client = conn->client;
    struct belay_instant at = ends_at(conn);
    if (belay_instant_is_never(at)) return;
    if (rt_timer_armed(&client->clock) && !belay_instant_before(at, client->clock.at)) return;
    rt_timer_arm(client->rt, &client->clock, at);
}

/* Bytes only move `active_at`; the timer finds out when it fires. Callbacks may start and cancel
 * calls, so those whose time is up are first put aside. */
static void on_clock(struct rt_timer *timer)
{
    struct client *client = CONTAINER_OF(timer, struct client, clock);
    struct belay_instant now = rt_now(client->rt), next = belay_instant_never();
    struct list over;
    list_init(&over);
    for (struct list *node = client->busy.next, *after; node != &client->busy; node = after) {
        after = node->next;
        struct belay_instant at = ends_at(CONTAINER_OF(node, struct client_conn, node));
        if (belay_instant_before(now, at)) {
            next = belay_instant_min(next, at);
            continue;
        }
        list_remove(node);
        list_push_back(&over, node);
    }
    if (!belay_instant_is_never(next)) rt_timer_arm(client->rt, timer, next);
    while (!list_empty(&over)) {
        client_conn_fail(CONTAINER_OF(over.next, struct client_conn, node), BELAY_ERROR_TIMEOUT);
    }
}

/* ---- a fresh connection ---- */

static void connect_to(struct client_conn *conn)
{
    struct client *client = conn->client;
    conn->state = CONN_CONNECTING;
    conn->rt_conn = rt_connect(client->rt, &client->resolved.addrs[conn->address],
                               &client_conn_events, conn, &conn->connect_error);
    if (conn->rt_conn) {
        client->stats.open++;
        client->stats.connects++;
        return;
    }
    rt_timer_arm(client->rt, &conn->call->soon, rt_now(client->rt));
}

void client_conn_next_address(struct client_conn *conn, enum belay_error_class error)
{
    struct client *client = conn->client;
    if (conn->rt_conn) {
        rt_conn_close(conn->rt_conn, RT_CLOSE_ABORT);
        client->stats.open--;
        client->stats.discarded++;
        conn->rt_conn = NULL;
    }
    if (++conn->address < client->resolved.count) {
        connect_to(conn);
        return;
    }
    if (!belay_instant_is_never(client->resolved_until))
        client->resolved_until = (struct belay_instant){0};
    client_conn_fail(conn, error);
}

static void on_resolved(void *owner, const struct rt_resolved *result)
{
    struct client_conn *conn = owner;
    conn->resolve = NULL;
    if (result->error != BELAY_ERROR_NONE || result->count == 0) {
        client_conn_fail(conn, result->error ? result->error : BELAY_ERROR_DNS);
        return;
    }
    conn->client->resolved = *result;
    conn->client->resolved_until = belay_instant_add(rt_now(conn->client->rt), result->ttl);
    connect_to(conn);
}

static void connect_fresh(struct client_call *call)
{
    struct client *client = call->client;
    struct client_conn *conn = calloc(1, sizeof *conn);
    struct belay_instant now = rt_now(client->rt);
    if (!conn) {
        rt_timer_arm(client->rt, &call->soon, now);
        return;
    }
    conn->client = client;
    conn->call = call;
    conn->active_at = now;
    buf_init(&conn->kept, client->limits.http1.head_bytes_max + CLIENT_READ_BYTES);
    call->conn = conn;
    call->reused = false;
    list_push_back(&client->busy, &conn->node);
    if (client->resolved.count > 0 && belay_instant_before(now, client->resolved_until)) {
        connect_to(conn);
    } else {
        struct belay_slice host = buf_slice(&client->host);
        conn->state = CONN_RESOLVING;
        conn->resolve = rt_resolve(client->rt, belay_slice(host.data, host.length - 1),
                                   client->port, on_resolved, conn);
        if (!conn->resolve) rt_timer_arm(client->rt, &call->soon, now);
    }
    client_conn_watch(conn);
}

/* ---- calls ---- */

static bool place_on_pooled(struct client_call *call)
{
    struct client *client = call->client;
    while (!list_empty(&client->idle)) {
        struct client_conn *conn = CONTAINER_OF(client->idle.next, struct client_conn, node);
        if (call->options.probe_first && rt_conn_dead(conn->rt_conn)) {
            client_conn_discard(conn, RT_CLOSE_GRACEFUL);
            continue;
        }
        list_remove(&conn->node);
        client->stats.idle--;
        list_push_back(&client->busy, &conn->node);
        conn->call = call;
        call->conn = conn;
        call->reused = true;
        if (client_conn_send(conn)) {
            client->stats.reuses++;
            return true;
        }
        call->conn = NULL;
        client_conn_discard(conn, RT_CLOSE_GRACEFUL);
    }
    return false;
}

void client_call_place(struct client_call *call)
{
    if (!call->options.fresh && place_on_pooled(call)) return;
    connect_fresh(call);
}

/* What could not be told from inside a call into the client. */
static void on_soon(struct rt_timer *timer)
{
    struct client_call *call = CONTAINER_OF(timer, struct client_call, soon);
    struct client_conn *conn = call->conn;
    if (!conn) {
        struct client_failure failure = {.error = BELAY_ERROR_CANCELLED,
                                         .phase = BELAY_PHASE_CONNECT};
        call->events->failed(call, &failure);
    } else if (conn->state == CONN_RESOLVING && !conn->resolve) {
        client_conn_fail(conn, BELAY_ERROR_CANCELLED);
    } else if (conn->state == CONN_CONNECTING && !conn->rt_conn) {
        client_conn_next_address(conn, conn->connect_error);
    } else if (conn->state == CONN_BUSY) {
        client_conn_soon(conn);
    }
}

void client_call_start(struct client *client, struct client_call *call,
                       const struct client_events *events, const struct client_options *options,
                       struct belay_slice head, struct belay_slice body, bool body_ends)
{
    call->reused = false;
    call->events = events;
    call->options = *options;
    call->client = client;
    call->conn = NULL;
    call->head = head;
    call->body = body;
    call->body_ends = body_ends;
    call->wants_writable = !body_ends;
    rt_timer_init(&call->soon, on_soon);
    client_call_place(call);
}

void client_call_cancel(struct client_call *call)
{
    rt_timer_disarm(call->client->rt, &call->soon);
    if (!call->conn) return;
    struct client_conn *conn = call->conn;
    call->conn = NULL;
    client_conn_discard(conn, RT_CLOSE_ABORT);
}

bool client_call_bytes_accepted(const struct client_call *call)
{
    return call->conn && client_conn_accepted(call->conn);
}

enum belay_phase client_call_phase(const struct client_call *call)
{
    return call->conn ? client_conn_phase(call->conn) : BELAY_PHASE_CONNECT;
}
