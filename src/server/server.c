/* server.c: a listener and its connections: accept, count, drain, destroy. */
#include "server/conn.h"

#include <stdlib.h>

#define BODY_ROOM_BYTES ((size_t)16 * 1024)

static void on_turn_end(struct rt_hook *hook)
{
    struct server *server = CONTAINER_OF(hook, struct server, turn_end);
    while (!list_empty(&server->due)) {
        struct conn *conn = CONTAINER_OF(server->due.next, struct conn, due_node);
        list_remove(&conn->due_node);
        conn_at_turn_end(conn);
    }
    if (server->drained && server->listener_done && server->stats.connections == 0) {
        void (*drained)(void *) = server->drained;
        server->drained = NULL;
        drained(server->owner); /* may destroy the server */
    }
}

struct server *server_create(struct rt *rt, const struct server_limits *limits,
                             const struct server_handler *handler, void *owner)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server) return NULL;
    server->rt = rt;
    server->limits = *limits;
    server->open = limits->connections_open ? limits->connections_open : &server->own_open;
    server->handler = handler;
    server->owner = owner;
    server->buffer_bytes = limits->http1.head_bytes_max + BODY_ROOM_BYTES;
    server->date_s = -1;
    server->turn_end.run = on_turn_end;
    list_init(&server->conns);
    list_init(&server->due);
    rt_hook_turn_end(rt, &server->turn_end);
    return server;
}

void server_say_full(struct server *server, struct rt_conn *io)
{
    static const char full[] =
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
        "Content-Length: 0\r\n\r\n";
    struct belay_slice answer = belay_slice(full, sizeof full - 1);
    server->stats.refused_full++;
    (void)rt_conn_write(io, &answer, 1);
}

static void on_accepted(void *owner, struct rt_conn *io)
{
    struct server *server = owner;
    bool fits = atomic_fetch_add(server->open, 1) < server->limits.connections_max;
    if (fits && conn_accept(server, io)) return;
    (void)atomic_fetch_sub(server->open, 1);
    server_say_full(server, io);
    rt_conn_close(io, RT_CLOSE_GRACEFUL);
}

bool server_listen(struct server *server, const struct rt_addr *addr, const char **error)
{
    static const struct rt_listener_events events = {.accepted = on_accepted};
    server->listener = rt_listen(server->rt, addr, &events, server, error);
    return server->listener != NULL;
}

void server_addr(const struct server *server, struct rt_addr *out)
{
    rt_listener_addr(server->listener, out);
}

void server_stats(const struct server *server, struct server_stats *out)
{
    *out = server->stats;
    if (server->listener) out->exhausted = rt_listener_exhausted(server->listener);
}

void server_set_limits(struct server *server, const struct server_limits *limits)
{
    server->limits = *limits;
}

void server_announce_drain(struct server *server)
{
    server->announced = true;
}

static void on_listener_drained(void *owner)
{
    struct server *server = owner;
    rt_listener_close(server->listener);
    server->listener = NULL;
    server->listener_done = true;
}

void server_drain(struct server *server, struct belay_span idle_for, void (*drained)(void *owner))
{
    server->announced = true;
    server->drained = drained;
    server->limits.idle_for = belay_span_min(server->limits.idle_for, idle_for);
    struct belay_instant now = rt_now(server->rt);
    for (struct list *node = server->conns.next; node != &server->conns; node = node->next) {
        struct conn *conn = CONTAINER_OF(node, struct conn, node);
        if (conn->state != CONN_IDLE) continue;
        conn->since = now;
        conn_settle(conn);
    }
    if (server->listener) {
        rt_listener_drain(server->listener, on_listener_drained);
    } else {
        server->listener_done = true;
    }
}

void server_destroy(struct server *server)
{
    if (server->listener) rt_listener_close(server->listener);
    while (!list_empty(&server->conns)) {
        conn_close(CONTAINER_OF(server->conns.next, struct conn, node), RT_CLOSE_ABORT);
    }
    while (!list_empty(&server->due))
        conn_free(CONTAINER_OF(server->due.next, struct conn, due_node));
    while (server->spare) {
        struct server_exchange *exchange = server->spare;
        server->spare = exchange->next;
        buf_deinit(&exchange->out);
        free(exchange);
    }
    rt_hook_remove(server->rt, &server->turn_end);
    free(server);
}
