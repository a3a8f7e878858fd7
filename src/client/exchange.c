/* exchange.c: one exchange on one connection: the request goes out, the answer comes in, the
 * connection is kept or not (RFC 9112 section 9). */
#include "base/check.h"
#include "client/conn.h"

#include <stdlib.h>

static void touch(struct client_conn *conn)
{
    conn->active_at = rt_now(conn->client->rt);
}

/* Freed here when it went while this function's caller stood on it. */
static void leave(struct client_conn *conn)
{
    conn->entered = false;
    if (conn->state == CONN_GONE) free(conn);
}

enum belay_phase client_conn_phase(const struct client_conn *conn)
{
    if (conn->state == CONN_RESOLVING) return BELAY_PHASE_DNS;
    if (conn->state == CONN_CONNECTING) return BELAY_PHASE_CONNECT;
    if (conn->head_read) return BELAY_PHASE_BODY;
    bool sending = conn->call->head.length + conn->call->body.length > 0 || !conn->call->body_ends;
    return sending && !conn->answer_bytes ? BELAY_PHASE_SEND : BELAY_PHASE_HEADERS;
}

void client_conn_fail(struct client_conn *conn, enum belay_error_class error)
{
    struct client_call *call = conn->call;
    struct client *client = conn->client;
    bool lost = error == BELAY_ERROR_RESET || error == BELAY_ERROR_CLOSED;
    struct client_failure failure = {.error = error,
                                     .phase = client_conn_phase(conn),
                                     .bytes_accepted = client_conn_accepted(conn),
                                     .head_read = conn->head_read};
    failure.stale = call->reused && lost && failure.bytes_accepted && !conn->answer_bytes;
    rt_timer_disarm(client->rt, &call->soon);
    call->conn = NULL;
    client_conn_discard(conn, RT_CLOSE_ABORT);
    /* The pooled connection was dead and took nothing: that was no attempt. */
    if (call->reused && lost && !failure.bytes_accepted) {
        client_call_place(call);
        return;
    }
    if (failure.stale) client->stats.stale++;
    call->events->failed(call, &failure);
}

void client_conn_want(struct client_conn *conn)
{
    const struct client_call *call = conn->call;
    bool writing =
        !conn->write_failed && (call->head.length + call->body.length > 0 || call->wants_writable);
    rt_conn_interest(conn->rt_conn, (conn->paused ? 0u : RT_READ) | (writing ? RT_WRITE : 0u));
}

/* ---- the request ---- */

static void advance(struct belay_slice *slice, size_t *count)
{
    size_t step = *count < slice->length ? *count : slice->length;
    slice->data += step;
    slice->length -= step;
    *count -= step;
}

/* One write of what the call still has. */
static struct rt_io flush(struct client_conn *conn)
{
    struct client_call *call = conn->call;
    struct belay_slice pieces[2];
    size_t count = 0;
    if (call->head.length > 0) pieces[count++] = call->head;
    if (call->body.length > 0) pieces[count++] = call->body;
    if (count == 0) return (struct rt_io){.kind = RT_IO_AGAIN};
    struct rt_io io = rt_conn_write(conn->rt_conn, pieces, count);
    if (io.kind == RT_IO_OK) {
        size_t left = io.count;
        advance(&call->head, &left);
        advance(&call->body, &left);
        touch(conn);
    }
    return io;
}

bool client_conn_send(struct client_conn *conn)
{
    conn->state = CONN_BUSY;
    conn->written_before = rt_conn_written(conn->rt_conn);
    conn->scan = (struct http1_scan){0};
    conn->interim = 0;
    conn->answer_bytes = conn->head_read = conn->keep = conn->over = conn->paused =
        conn->write_failed = false;
    touch(conn);
    struct rt_io io = flush(conn);
    if (io.kind == RT_IO_ERROR || io.kind == RT_IO_END) return false;
    client_conn_watch(conn);
    client_conn_want(conn);
    return true;
}

/* A lost connection may still hold the answer that the peer gave before it stopped reading: only
 * when there is nothing to read does the fault of the write count. */
static void on_write_failed(struct client_conn *conn)
{
    conn->write_failed = true;
    conn->call->wants_writable = false;
    rt_timer_arm(conn->client->rt, &conn->call->soon, rt_now(conn->client->rt));
}

static void on_writable(struct client_conn *conn)
{
    struct client_call *call = conn->call;
    if (conn->write_failed) return;
    struct rt_io io = flush(conn);
    if (io.kind == RT_IO_ERROR || io.kind == RT_IO_END) {
        on_write_failed(conn);
        return;
    }
    if (call->head.length + call->body.length > 0) return;
    bool tell = call->wants_writable;
    call->wants_writable = false;
    client_conn_want(conn);
    if (tell) call->events->writable(call);
}

size_t client_call_body(struct client_call *call, struct belay_slice piece, bool ends)
{
    struct client_conn *conn = call->conn;
    CHECK(conn && conn->state == CONN_BUSY && call->head.length + call->body.length == 0 &&
          !call->body_ends);
    size_t taken = 0;
    if (conn->write_failed) return piece.length;
    if (piece.length > 0) {
        struct rt_io io = rt_conn_write(conn->rt_conn, &piece, 1);
        if (io.kind == RT_IO_ERROR || io.kind == RT_IO_END) {
            on_write_failed(conn);
            return piece.length;
        }
        if (io.kind == RT_IO_OK) taken = io.count;
    }
    touch(conn);
    call->wants_writable = taken < piece.length;
    call->body_ends = ends && taken == piece.length;
    client_conn_watch(conn);
    client_conn_want(conn);
    return taken;
}

/* ---- the answer ---- */

static void finish(struct client_conn *conn, bool leftover)
{
    struct client_call *call = conn->call;
    struct client *client = conn->client;
    bool sent =
        call->body_ends && call->head.length + call->body.length == 0 && !conn->write_failed;
    rt_timer_disarm(client->rt, &call->soon);
    call->conn = NULL;
    if (conn->keep && sent && !leftover) {
        rt_conn_interest(conn->rt_conn, RT_READ);
        client_conn_park(conn);
    } else {
        client_conn_discard(conn, RT_CLOSE_GRACEFUL);
    }
    call->events->end(call);
}

/* True: go on with what follows. */
static bool feed_head(struct client_conn *conn, struct belay_slice in, size_t *used)
{
    struct client *client = conn->client;
    struct http1_head *head = &client->head;
    const struct http1_limits *limits = &client->limits.http1;
    struct http1_error error;
    enum http1_step step = http1_parse_response(&conn->scan, limits, conn->call->options.method, in,
                                                head, used, &error);
    if (step == HTTP1_MORE) {
        *used = 0;
        return false;
    }
    bool interim = step == HTTP1_DONE && head->status < 200;
    if (step == HTTP1_BAD || head->status == 101 ||
        (interim && ++conn->interim > CLIENT_INTERIM_MAX)) {
        bool over = step == HTTP1_BAD && error.offset >= limits->head_bytes_max;
        client_conn_fail(conn, over ? BELAY_ERROR_TOO_LARGE : BELAY_ERROR_PROTOCOL);
        return false;
    }
    if (interim) return true;
    conn->head_read = true;
    conn->keep = head->keep_alive && !head->length_ignored && head->framing != HTTP1_UNTIL_CLOSE;
    http1_body_init(&conn->body, limits, head->framing, head->content_length);
    conn->call->events->head(conn->call, head);
    return true;
}

static bool feed_body(struct client_conn *conn, struct belay_slice in, size_t *used)
{
    struct belay_slice piece = {0};
    struct http1_error error;
    enum http1_step step = http1_body_step(&conn->body, in, used, &piece, &error);
    if (step == HTTP1_BAD) {
        client_conn_fail(conn, BELAY_ERROR_PROTOCOL);
        return false;
    }
    if (piece.length > 0) {
        conn->paused = !conn->call->events->body(conn->call, piece);
        if (conn->state != CONN_BUSY) return false;
    }
    conn->over = step == HTTP1_DONE;
    if (conn->paused && !conn->over) client_conn_want(conn);
    return *used > 0 && !conn->over;
}

/* Returns how much was used; the rest waits for more bytes or for the caller. */
static size_t feed(struct client_conn *conn, struct belay_slice in)
{
    size_t used = 0;
    bool more = true;
    while (more && conn->state == CONN_BUSY && !conn->paused) {
        size_t step = 0;
        struct belay_slice rest = belay_slice(in.data + used, in.length - used);
        more = conn->head_read ? feed_body(conn, rest, &step) : feed_head(conn, rest, &step);
        used += step;
    }
    return used;
}

static void feed_kept(struct client_conn *conn)
{
    size_t used = feed(conn, buf_slice(&conn->kept));
    if (conn->state != CONN_BUSY) return;
    buf_drop(&conn->kept, used);
    if (conn->over) finish(conn, buf_length(&conn->kept) > 0);
}

/* What could not be kept: the answer is over its limit, or our memory is short. */
static void fail_to_keep(struct client_conn *conn, size_t more)
{
    bool over = more > conn->kept.bytes_max - buf_length(&conn->kept);
    client_conn_fail(conn, over ? BELAY_ERROR_TOO_LARGE : BELAY_ERROR_CANCELLED);
}

/* Bytes in the client's own buffer, which is another connection's at the next read: what is left
 * has to be kept. */
static void feed_fresh(struct client_conn *conn, struct belay_slice in)
{
    size_t used = feed(conn, in);
    if (conn->state != CONN_BUSY) return;
    if (conn->over)
        finish(conn, used < in.length);
    else if (used < in.length && !buf_add(&conn->kept, in.data + used, in.length - used))
        fail_to_keep(conn, in.length - used);
}

static void on_end(struct client_conn *conn)
{
    if (conn->head_read && http1_body_closed(&conn->body))
        finish(conn, true);
    else
        client_conn_fail(conn, BELAY_ERROR_CLOSED);
}

/* One read: level-triggered readiness comes again while there is more. */
static void read_once(struct client_conn *conn)
{
    struct client *client = conn->client;
    bool keeping = buf_length(&conn->kept) > 0;
    size_t room = CLIENT_READ_BYTES;
    char *where =
        keeping ? buf_reserve(&conn->kept, CLIENT_READ_BYTES, &room) : client->read_buffer;
    if (!where) {
        fail_to_keep(conn, 1);
        return;
    }
    struct rt_io io = rt_conn_read(conn->rt_conn, where, room);
    if (io.kind == RT_IO_AGAIN) {
        if (conn->write_failed) client_conn_fail(conn, BELAY_ERROR_RESET);
        return;
    }
    if (io.kind == RT_IO_END) {
        on_end(conn);
        return;
    }
    if (io.kind == RT_IO_ERROR) {
        client_conn_fail(conn, io.error);
        return;
    }
    touch(conn);
    conn->answer_bytes = true;
    if (keeping) {
        buf_wrote(&conn->kept, io.count);
        feed_kept(conn);
    } else {
        feed_fresh(conn, belay_slice(where, io.count));
    }
}

void client_call_resume(struct client_call *call)
{
    struct client_conn *conn = call->conn;
    if (!conn || conn->state != CONN_BUSY || !conn->paused) return;
    conn->paused = false;
    touch(conn);
    client_conn_watch(conn);
    client_conn_want(conn);
    if (buf_length(&conn->kept) > 0)
        rt_timer_arm(conn->client->rt, &call->soon, rt_now(conn->client->rt));
}

void client_conn_soon(struct client_conn *conn)
{
    conn->entered = true;
    if (buf_length(&conn->kept) > 0 && !conn->paused) feed_kept(conn);
    if (conn->state == CONN_BUSY && conn->write_failed && !conn->paused) read_once(conn);
    leave(conn);
}

/* ---- what rt tells ---- */

static void on_connected(struct client_conn *conn)
{
    if (!client_conn_send(conn)) {
        conn->state = CONN_BUSY;
        client_conn_fail(conn, BELAY_ERROR_RESET);
    }
}

static void on_ready(void *owner, unsigned ready)
{
    struct client_conn *conn = owner;
    if (conn->state == CONN_IDLE) {
        /* Closed, or bytes that nobody asked for; a signal for nothing leaves it in peace. */
        if (rt_conn_dead(conn->rt_conn)) client_conn_discard(conn, RT_CLOSE_GRACEFUL);
        return;
    }
    conn->entered = true;
    if (conn->state == CONN_CONNECTING) {
        if (ready & RT_WRITE) on_connected(conn);
    } else {
        if (conn->state == CONN_BUSY && (ready & RT_READ) && !conn->paused) read_once(conn);
        if (conn->state == CONN_BUSY && (ready & RT_WRITE)) on_writable(conn);
    }
    leave(conn);
}

static void on_failed(void *owner, enum belay_error_class error)
{
    struct client_conn *conn = owner;
    conn->entered = true;
    client_conn_next_address(conn, error);
    leave(conn);
}

const struct rt_conn_events client_conn_events = {.ready = on_ready, .failed = on_failed};
