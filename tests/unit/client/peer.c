/* peer.c: plays the scripted origin (peer.h). */
#include "peer.h"

#include "base/check.h"
#include "http1/http1.h"
#include "spared.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_MAX ((size_t)4 * 1024 * 1024)

struct peer_conn {
    struct list node;
    struct peer *peer;
    struct rt_conn *conn;
    struct buf in, out;
    struct http1_scan scan;
    struct http1_body body;
    struct http1_head head;
    bool head_read, replying, deaf;
    const struct peer_reply *reply;
    struct rt_timer timer;
    enum { TO_SAY, TO_LEAVE } next;
};

static void leave(struct peer_conn *conn, enum peer_then how)
{
    struct peer *peer = conn->peer;
    rt_timer_disarm(peer->rt, &conn->timer);
    rt_conn_close(conn->conn, how == PEER_RESET ? RT_CLOSE_ABORT : RT_CLOSE_GRACEFUL);
    list_remove(&conn->node);
    buf_deinit(&conn->in);
    buf_deinit(&conn->out);
    free(conn);
}

static struct belay_instant in_ms(const struct peer_conn *conn, int64_t ms)
{
    return belay_instant_add(rt_now(conn->peer->rt), belay_span_ms(ms));
}

static void said(struct peer_conn *conn)
{
    const struct peer_reply *reply = conn->reply;
    conn->replying = false;
    if (reply->then == PEER_KEEP) return;
    conn->next = TO_LEAVE;
    rt_timer_arm(conn->peer->rt, &conn->timer, in_ms(conn, reply->then_ms));
}

static void flush(struct peer_conn *conn)
{
    struct belay_slice left = buf_slice(&conn->out);
    if (conn->reply->drip_ms > 0 && left.length > 1) left.length = 1;
    if (left.length > 0) {
        struct rt_io io = rt_conn_write(conn->conn, &left, 1);
        if (io.kind == RT_IO_OK) buf_drop(&conn->out, io.count);
        if (io.kind == RT_IO_ERROR) buf_clear(&conn->out);
    }
    bool more = buf_length(&conn->out) > 0, dripping = conn->reply->drip_ms > 0;
    rt_conn_interest(conn->conn, (conn->deaf ? 0u : RT_READ) | (more && !dripping ? RT_WRITE : 0u));
    if (more && dripping)
        rt_timer_arm(conn->peer->rt, &conn->timer, in_ms(conn, conn->reply->drip_ms));
    if (!more && conn->replying) said(conn);
}

static void on_timer(struct rt_timer *timer)
{
    struct peer_conn *conn = CONTAINER_OF(timer, struct peer_conn, timer);
    if (conn->next == TO_LEAVE)
        leave(conn, conn->reply->then);
    else
        flush(conn);
}

static void answer(struct peer_conn *conn)
{
    struct peer *peer = conn->peer;
    size_t index = peer->requests < peer->script_count ? peer->requests : peer->script_count - 1;
    peer->requests++;
    conn->reply = &peer->script[index];
    conn->replying = true;
    conn->deaf = conn->reply->deaf;
    size_t length = conn->reply->length ? conn->reply->length : strlen(conn->reply->bytes);
    spared_add(&conn->out, conn->reply->bytes, length);
    conn->next = TO_SAY;
    rt_timer_arm(peer->rt, &conn->timer, in_ms(conn, conn->reply->after_ms));
}

static bool wants_head_only(const struct peer *peer)
{
    size_t index = peer->requests < peer->script_count ? peer->requests : peer->script_count - 1;
    return peer->script[index].at_head;
}

static void note(struct peer_conn *conn, struct belay_slice bytes)
{
    spared_add(&conn->peer->seen, bytes.data, bytes.length);
}

/* False: more bytes are needed. */
static bool take(struct peer_conn *conn)
{
    struct http1_limits limits = http1_limits_default();
    struct http1_error error;
    struct belay_slice in = buf_slice(&conn->in), piece = {0};
    size_t used = 0;
    if (!conn->head_read) {
        enum http1_step step =
            http1_parse_request(&conn->scan, &limits, in, &conn->head, &used, &error);
        CHECK(step != HTTP1_BAD); /* what is forwarded is always well formed */
        if (step == HTTP1_MORE) return false;
        note(conn, belay_slice(in.data, used));
        conn->head_read = true;
        http1_body_init(&conn->body, &limits, conn->head.framing, conn->head.content_length);
        if (wants_head_only(conn->peer)) answer(conn);
        buf_drop(&conn->in, used);
        return true;
    }
    enum http1_step step = http1_body_step(&conn->body, in, &used, &piece, &error);
    CHECK(step != HTTP1_BAD);
    note(conn, piece);
    buf_drop(&conn->in, used);
    if (step == HTTP1_MORE) return used > 0;
    note(conn, belay_slice_z("\n--\n"));
    conn->head_read = false;
    if (!conn->replying) answer(conn);
    return buf_length(&conn->in) > 0;
}

static void on_ready(void *owner, unsigned ready)
{
    struct peer_conn *conn = owner;
    if ((ready & RT_WRITE) && conn->reply) flush(conn);
    if (!(ready & RT_READ) || conn->deaf) return;
    size_t room;
    char *where = spared_reserve(&conn->in, 65536, &room);
    struct rt_io io = rt_conn_read(conn->conn, where, room);
    if (io.kind == RT_IO_END || io.kind == RT_IO_ERROR) {
        if (io.kind == RT_IO_END)
            conn->peer->ended++;
        else
            conn->peer->broken++;
        leave(conn, PEER_CLOSE);
        return;
    }
    if (io.kind != RT_IO_OK) return;
    buf_wrote(&conn->in, io.count);
    while (!conn->deaf && take(conn)) continue;
}

static void on_failed(void *owner, enum belay_error_class error)
{
    (void)error;
    leave(owner, PEER_RESET);
}

static void on_accepted(void *owner, struct rt_conn *rt_conn)
{
    static const struct rt_conn_events events = {.ready = on_ready, .failed = on_failed};
    struct peer *peer = owner;
    peer->accepted++;
    if (peer->on_accept != PEER_KEEP) {
        rt_conn_close(rt_conn, peer->on_accept == PEER_RESET ? RT_CLOSE_ABORT : RT_CLOSE_GRACEFUL);
        return;
    }
    struct peer_conn *conn = spared_calloc(1, sizeof *conn);
    conn->peer = peer;
    conn->conn = rt_conn;
    buf_init(&conn->in, BYTES_MAX);
    buf_init(&conn->out, BYTES_MAX);
    rt_timer_init(&conn->timer, on_timer);
    list_push_back(&peer->conns, &conn->node);
    rt_conn_own(rt_conn, &events, conn);
}

void peer_start(struct peer *peer, struct rt *rt, uint16_t port)
{
    static const struct rt_listener_events events = {.accepted = on_accepted};
    const char *error;
    *peer = (struct peer){.rt = rt, .addr = {.family = 4, .port = port, .ip = {127, 0, 0, 1}}};
    list_init(&peer->conns);
    buf_init(&peer->seen, BYTES_MAX);
    peer->listener = rt_listen(rt, &peer->addr, &events, peer, &error);
    CHECK(peer->listener);
    PEER_SAYS(peer, {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"});
}

const char *peer_seen(struct peer *peer)
{
    spared_add(&peer->seen, "", 1);
    peer->seen.end--;
    return buf_slice(&peer->seen).data;
}

unsigned peer_open(const struct peer *peer)
{
    unsigned count = 0;
    for (const struct list *node = peer->conns.next; node != &peer->conns; node = node->next)
        count++;
    return count;
}

void peer_cut_all(struct peer *peer, enum peer_then how)
{
    while (!list_empty(&peer->conns))
        leave(CONTAINER_OF(peer->conns.next, struct peer_conn, node), how);
}

void peer_blurt(struct peer *peer, const char *bytes)
{
    for (struct list *node = peer->conns.next; node != &peer->conns; node = node->next) {
        struct belay_slice piece = belay_slice_z(bytes);
        struct rt_io io =
            rt_conn_write(CONTAINER_OF(node, struct peer_conn, node)->conn, &piece, 1);
        CHECK(io.kind == RT_IO_OK && io.count == piece.length);
    }
}

void peer_stop(struct peer *peer)
{
    peer_cut_all(peer, PEER_RESET);
    if (peer->listener) rt_listener_close(peer->listener);
    peer->listener = NULL;
    buf_deinit(&peer->seen);
}
