/* conn.c: one inbound connection: bytes in, requests out, in order; clocks, back-pressure and the
 * ways it ends. */
#include "server/conn.h"

#include <stdlib.h>

/* ---- clock and interest ---- */

static struct belay_instant conn_due_at(const struct conn *conn)
{
    const struct server_limits *limits = &conn->server->limits;
    const struct server_exchange *exchange = conn->exchange;
    switch (conn->state) {
    case CONN_IDLE: return belay_instant_add(conn->since, limits->idle_for);
    case CONN_HEAD: return belay_instant_add(conn->since, limits->head_for);
    case CONN_BODY:
        if (conn->blocked || !exchange->paused)
            return belay_instant_add(conn->since, limits->silence_for);
        break;
    case CONN_WHOLE:
        if (conn->blocked) return belay_instant_add(conn->since, limits->silence_for);
        break;
    case CONN_CLOSED: break;
    }
    return belay_instant_never();
}

void conn_settle(struct conn *conn)
{
    if (conn->state == CONN_CLOSED) return;
    const struct server_exchange *exchange = conn->exchange;
    bool room = !exchange || exchange->filled < conn->server->buffer_bytes;
    unsigned interest =
        (!conn->read_ended && room ? RT_READ : 0u) | (conn->blocked ? RT_WRITE : 0u);
    if (interest != conn->interest) {
        conn->interest = (uint8_t)interest;
        rt_conn_interest(conn->io, interest);
    }
    conn->due_at = conn_due_at(conn);
    if (belay_instant_is_never(conn->due_at)) return;
    if (!rt_timer_armed(&conn->timer) || belay_instant_before(conn->due_at, conn->timer.at)) {
        rt_timer_arm(conn->server->rt, &conn->timer, conn->due_at);
    }
}

/* ---- the ways it ends ---- */

void conn_queue(struct conn *conn)
{
    if (list_empty(&conn->due_node)) list_push_back(&conn->server->due, &conn->due_node);
}

static void conn_leave_idle(struct conn *conn)
{
    if (conn->state == CONN_IDLE) conn->server->stats.idle--;
}

void conn_close(struct conn *conn, enum rt_close how)
{
    if (conn->state == CONN_CLOSED) return;
    conn_leave_idle(conn);
    conn->state = CONN_CLOSED;
    rt_timer_disarm(conn->server->rt, &conn->timer);
    rt_conn_close(conn->io, how);
    conn->io = NULL;
    list_remove(&conn->node);
    conn->server->stats.connections--;
    (void)atomic_fetch_sub(conn->server->open, 1);
    conn_queue(conn);
}

void conn_free(struct conn *conn)
{
    list_remove(&conn->due_node);
    if (conn->exchange) exchange_give_back(conn);
    free(conn);
}

/* The handler is told, where it still has the exchange. */
static void conn_tell_gone(struct conn *conn, const struct http1_error *error)
{
    struct server_exchange *exchange = conn->exchange;
    bool given = conn->state == CONN_BODY || conn->state == CONN_WHOLE;
    if (!given || exchange->ended) return;
    exchange->ended = true;
    conn->server->handler->gone(conn->server->owner, exchange, error);
}

static void conn_lost(struct conn *conn)
{
    conn_tell_gone(conn, NULL);
    conn_close(conn, RT_CLOSE_ABORT);
}

/* Bytes that are no request, or too slow: answered here when the handler knows nothing of it. */
static void conn_refuse_head(struct conn *conn, const struct http1_error *error)
{
    struct server_exchange *exchange = conn->exchange;
    conn->server->handler->bad_request(conn->server->owner, error, exchange->began_at);
    conn->state = CONN_WHOLE;
    exchange_refuse(exchange, error);
}

static void conn_refuse_body(struct conn *conn, const struct http1_error *error)
{
    struct server_exchange *exchange = conn->exchange;
    if (exchange->started || exchange->ended) {
        conn_lost(conn);
        return;
    }
    conn_tell_gone(conn, error);
    conn->state = CONN_WHOLE; /* nothing more is looked at */
    exchange_refuse(exchange, error);
}

/* The answer is out: on to the next request, or to an end. */
static void conn_finish(struct conn *conn)
{
    struct server_exchange *exchange = conn->exchange;
    size_t rest = exchange->filled - exchange->at;
    if (conn->shut_after && !conn->shut) {
        conn->shut = true;
        rt_conn_shutdown_write(conn->io);
    }
    if (conn->close_after || (conn->read_ended && rest == 0)) {
        /* rt sees to it that what is still sent to us harms no answer. */
        conn_close(conn, RT_CLOSE_GRACEFUL);
    } else if (rest > 0) {
        exchange_next(exchange);
        conn->state = CONN_HEAD;
        conn->since = rt_now(conn->server->rt); /* while it waited, it was not the client's turn */
    } else {
        exchange_give_back(conn);
        conn->state = CONN_IDLE;
        conn->server->stats.idle++;
        conn->since = rt_now(conn->server->rt);
    }
}

/* ---- moving on ---- */

static void conn_begin_request(struct conn *conn)
{
    struct server *server = conn->server;
    struct server_exchange *exchange = conn->exchange;
    const struct http1_head *head = &exchange->head;
    bool has_body = head->framing != HTTP1_NO_BODY;
    if (has_body) {
        http1_body_init(&exchange->body, &server->limits.http1, head->framing,
                        head->content_length);
    }
    conn->state = has_body ? CONN_BODY : CONN_WHOLE;
    conn->since = rt_now(server->rt);
    conn->requests++;
    server->stats.requests++;
    /* A client that sends its body anyway does not wait for a 100. */
    exchange->expects = has_body && head->expect_continue && head->minor_version >= 1 &&
                        exchange->at == exchange->filled;
    server->handler->request(server->owner, exchange);
    if (conn->state == CONN_BODY && !exchange->paused) exchange_continue(exchange);
}

/* Some clients send an empty line after a body (RFC 9112 2.2): that alone is no request, and nobody
 * waits for an answer to it. */
static bool conn_close_empty(struct conn *conn)
{
    const struct server_exchange *exchange = conn->exchange;
    for (size_t i = 0; i < exchange->filled; i++) {
        if (exchange->in[i] != '\r' && exchange->in[i] != '\n') return false;
    }
    conn_close(conn, RT_CLOSE_GRACEFUL);
    return true;
}

static bool conn_step_head(struct conn *conn)
{
    struct server *server = conn->server;
    struct server_exchange *exchange = conn->exchange;
    struct http1_error error = {0};
    size_t used = 0;
    struct belay_slice bytes = belay_slice(exchange->in, exchange->filled);
    switch (http1_parse_request(&exchange->scan, &server->limits.http1, bytes, &exchange->head,
                                &used, &error)) {
    case HTTP1_MORE:
        if (!conn->read_ended && exchange->filled < server->buffer_bytes) return false;
        if (conn_close_empty(conn)) return false;
        error = (struct http1_error){.status = conn->read_ended ? 400 : 431,
                                     .rule = conn->read_ended ? "the head is cut short"
                                                              : "the head is too long",
                                     .offset = exchange->filled};
        break;
    case HTTP1_DONE:
        exchange->head_bytes = exchange->at = used;
        conn_begin_request(conn);
        return true;
    case HTTP1_BAD: break;
    }
    server->stats.bad_requests++;
    conn_refuse_head(conn, &error);
    return true;
}

static bool conn_step_body(struct conn *conn)
{
    struct server *server = conn->server;
    struct server_exchange *exchange = conn->exchange;
    if (exchange->paused && !exchange->ended) return false;
    struct http1_error error = {0};
    struct belay_slice piece = {0};
    size_t used = 0;
    struct belay_slice bytes =
        belay_slice(exchange->in + exchange->at, exchange->filled - exchange->at);
    enum http1_step step = http1_body_step(&exchange->body, bytes, &used, &piece, &error);
    exchange->at += used;
    if (step == HTTP1_BAD) {
        server->stats.bad_requests++;
        conn_refuse_body(conn, &error);
        return true;
    }
    bool end = step == HTTP1_DONE;
    if (end) conn->state = CONN_WHOLE;
    exchange->body_bytes += piece.length;
    if (!exchange->ended && (end || piece.length > 0)) {
        server->handler->body(server->owner, exchange, piece, end);
        if (conn->state == CONN_CLOSED) return false;
    }
    if (exchange->at == exchange->filled) exchange->at = exchange->filled = exchange->head_bytes;
    if (!end && used == 0 && conn->read_ended && !exchange->ended) conn_lost(conn);
    return end || used > 0;
}

static bool conn_step(struct conn *conn)
{
    switch (conn->state) {
    case CONN_HEAD: return conn_step_head(conn);
    case CONN_BODY:
        if (!conn->close_after || !exchange_answered(conn->exchange)) return conn_step_body(conn);
        conn_finish(conn);
        return false;
    case CONN_WHOLE:
        if (!exchange_answered(conn->exchange)) return false;
        conn_finish(conn);
        return conn->state == CONN_HEAD;
    case CONN_IDLE:
    case CONN_CLOSED: break;
    }
    return false;
}

/* What was looked at makes room for what is to come. */
static void conn_make_room(struct conn *conn)
{
    struct server_exchange *exchange = conn->exchange;
    if (!exchange || exchange->filled < conn->server->buffer_bytes ||
        exchange->at == exchange->head_bytes)
        return;
    size_t rest = exchange->filled - exchange->at;
    memmove(exchange->in + exchange->head_bytes, exchange->in + exchange->at, rest);
    exchange->at = exchange->head_bytes;
    exchange->filled = exchange->at + rest;
}

void conn_advance(struct conn *conn)
{
    if (conn->advancing) return;
    conn->advancing = true;
    while (conn_step(conn)) continue;
    conn->advancing = false;
    if (conn->state == CONN_CLOSED) return;
    if (conn->state != CONN_HEAD) conn_make_room(conn);
    conn_settle(conn);
}

void conn_at_turn_end(struct conn *conn)
{
    if (conn->state == CONN_CLOSED) {
        conn_free(conn);
        return;
    }
    if (conn->broken) {
        conn_lost(conn);
        return;
    }
    if (conn->exchange && !conn->blocked) exchange_flush(conn->exchange);
    conn_advance(conn);
}

/* ---- what rt tells ---- */

/* No more will come. What has come is still looked at and answered. */
static void conn_read_end(struct conn *conn)
{
    struct server *server = conn->server;
    conn->read_ended = true;
    if (conn->state == CONN_IDLE) {
        conn_close(conn, RT_CLOSE_GRACEFUL);
        return;
    }
    bool waits = conn->state == CONN_WHOLE && !conn->exchange->ended;
    if (waits && server->handler->half_closed)
        server->handler->half_closed(server->owner, conn->exchange);
    conn_advance(conn);
}

/* No memory to read a request into: whoever sent one is told, and whoever did not is left alone. */
static void conn_refuse_unread(struct conn *conn)
{
    if (!rt_conn_dead(conn->io)) return;
    server_say_full(conn->server, conn->io);
    conn_close(conn, RT_CLOSE_GRACEFUL);
}

static void conn_read(struct conn *conn)
{
    struct server *server = conn->server;
    if (!conn->exchange && !exchange_borrow(conn)) {
        conn_refuse_unread(conn);
        return;
    }
    struct server_exchange *exchange = conn->exchange;
    size_t room = server->buffer_bytes - exchange->filled;
    if (room == 0) return; /* a spurious signal: reading has stopped */
    struct rt_io io = rt_conn_read(conn->io, exchange->in + exchange->filled, room);
    switch (io.kind) {
    case RT_IO_OK:
        exchange->read_at = rt_now(server->rt);
        if (conn->state == CONN_IDLE) {
            conn_leave_idle(conn);
            conn->state = CONN_HEAD;
            exchange->began_at = conn->since = exchange->read_at;
        }
        if (conn->state == CONN_BODY) conn->since = exchange->read_at;
        exchange->filled += io.count;
        conn_advance(conn);
        break;
    case RT_IO_AGAIN:
        if (conn->state == CONN_IDLE) exchange_give_back(conn);
        break;
    case RT_IO_END: conn_read_end(conn); break;
    case RT_IO_ERROR: conn_lost(conn); break;
    }
}

static void conn_write(struct conn *conn)
{
    struct server_exchange *exchange = conn->exchange;
    exchange_flush(exchange);
    if (conn->broken) return; /* told at the turn's end */
    size_t low = conn->server->limits.backlog_bytes_max / 2;
    if (exchange->wants_writable && !exchange->ended && buf_length(&exchange->out) <= low) {
        exchange->wants_writable = false;
        conn->server->handler->writable(conn->server->owner, exchange);
    }
    conn_advance(conn);
}

static void on_ready(void *owner, unsigned ready)
{
    struct conn *conn = owner;
    if ((ready & RT_WRITE) && conn->blocked) conn_write(conn);
    if (!(ready & RT_READ) || conn->state == CONN_CLOSED || conn->read_ended || conn->broken)
        return;
    conn_read(conn);
}

/* rt tells this only of connecting sockets; an accepted one that has it is simply lost. */
static void on_failed(void *owner, enum belay_error_class error)
{
    (void)error;
    conn_lost(owner);
}

/* ---- clocks that ran out ---- */

static void conn_timed_out(struct conn *conn)
{
    static const struct http1_error slow_head = {.status = 408, .rule = "the head took too long"};
    static const struct http1_error slow_body = {.status = 408, .rule = "the body fell silent"};
    struct server *server = conn->server;
    uint64_t requests = conn->requests;
    switch (conn->state) {
    case CONN_IDLE:
        /* A request may have come in this very turn: nothing on an accepted connection is lost by
         * closing it. */
        conn_read(conn);
        if (conn->state == CONN_IDLE && conn->requests == requests)
            conn_close(conn, RT_CLOSE_GRACEFUL);
        return;
    case CONN_HEAD:
        if (conn_close_empty(conn)) return;
        server->stats.head_timeouts++;
        conn_refuse_head(conn, &slow_head);
        break;
    case CONN_BODY:
        server->stats.silent_clients++;
        conn_refuse_body(conn, &slow_body);
        break;
    case CONN_WHOLE:
        server->stats.silent_clients++;
        conn_lost(conn);
        break;
    case CONN_CLOSED: break;
    }
    conn_advance(conn);
}

static void on_timer(struct rt_timer *timer)
{
    struct conn *conn = CONTAINER_OF(timer, struct conn, timer);
    if (belay_instant_is_never(conn->due_at)) return;
    if (belay_instant_before(rt_now(conn->server->rt), conn->due_at)) {
        rt_timer_arm(conn->server->rt, &conn->timer, conn->due_at);
        return;
    }
    conn_timed_out(conn);
}

bool conn_accept(struct server *server, struct rt_conn *io)
{
    static const struct rt_conn_events events = {.ready = on_ready, .failed = on_failed};
    struct conn *conn = calloc(1, sizeof *conn);
    if (!conn) return false;
    conn->server = server;
    conn->io = io;
    conn->interest = RT_READ;
    conn->since = rt_now(server->rt);
    rt_timer_init(&conn->timer, on_timer);
    list_init(&conn->due_node);
    list_push_back(&server->conns, &conn->node);
    server->stats.accepted++;
    server->stats.connections++;
    server->stats.idle++;
    rt_conn_own(io, &events, conn);
    conn_settle(conn);
    return true;
}
