/* exchange.c: one request's memory, and the answer that a handler gives to it. */
#include "server/conn.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

#define SPARE_MAX 64 /* exchanges kept for the next requests, a server */
#define OUT_BYTES_MAX                                                                              \
    ((size_t)64 * 1024 * 1024)             /* a longer backlog is a fault: the connection is cut */
#define OUT_KEPT_BYTES ((size_t)32 * 1024) /* a spare exchange keeps no more */
#define HEAD_HINT_BYTES 1024
/* There before a request is read, so that an honest error to it needs no memory. */
#define OUT_BYTES_MIN 2048
#define CORK_BYTES 4096 /* answers up to that are gathered for one write */

/* ---- memory ---- */

static void exchange_reset(struct server_exchange *exchange)
{
    exchange->user = NULL;
    exchange->head_bytes = exchange->at = exchange->filled = 0;
    exchange->scan = (struct http1_scan){0};
    exchange->body_bytes = exchange->left = 0;
    exchange->status = 0;
    exchange->framing = HTTP1_NO_BODY;
    exchange->paused = exchange->expects = exchange->has_date = exchange->started =
        exchange->ended = false;
    exchange->muted = exchange->raw = exchange->wants_writable = false;
}

bool exchange_borrow(struct conn *conn)
{
    struct server *server = conn->server;
    struct server_exchange *exchange = server->spare;
    if (exchange) {
        server->spare = exchange->next;
        server->spare_count--;
    } else {
        exchange = malloc(sizeof *exchange + server->buffer_bytes);
        if (!exchange) return false;
        buf_init(&exchange->out, OUT_BYTES_MAX);
    }
    exchange_reset(exchange);
    exchange->conn = conn;
    conn->exchange = exchange;
    size_t room;
    if (buf_reserve(&exchange->out, OUT_BYTES_MIN, &room)) return true;
    exchange_give_back(conn);
    return false;
}

void exchange_give_back(struct conn *conn)
{
    struct server *server = conn->server;
    struct server_exchange *exchange = conn->exchange;
    conn->exchange = NULL;
    bool keep = server->spare_count < SPARE_MAX;
    if (!keep || exchange->out.capacity > OUT_KEPT_BYTES) buf_deinit(&exchange->out);
    if (!keep) {
        free(exchange);
        return;
    }
    buf_clear(&exchange->out);
    exchange->next = server->spare;
    server->spare = exchange;
    server->spare_count++;
}

void exchange_next(struct server_exchange *exchange)
{
    size_t rest = exchange->filled - exchange->at;
    memmove(exchange->in, exchange->in + exchange->at, rest);
    exchange_reset(exchange);
    exchange->filled = rest;
    exchange->began_at = exchange->read_at;
}

/* ---- what a handler asks ---- */

const struct http1_head *server_request_head(const struct server_exchange *exchange)
{
    return &exchange->head;
}

struct belay_instant server_request_began_at(const struct server_exchange *exchange)
{
    return exchange->began_at;
}

uint64_t server_request_number(const struct server_exchange *exchange)
{
    return exchange->conn->requests - 1;
}

void *server_user(const struct server_exchange *exchange)
{
    return exchange->user;
}

void server_set_user(struct server_exchange *exchange, void *user)
{
    exchange->user = user;
}

void server_body_pause(struct server_exchange *exchange)
{
    exchange->paused = true;
    conn_settle(exchange->conn);
}

void server_body_resume(struct server_exchange *exchange)
{
    struct conn *conn = exchange->conn;
    if (!exchange->paused) return;
    exchange->paused = false;
    if (conn->state != CONN_BODY) return;
    conn->since = rt_now(conn->server->rt);
    exchange_continue(exchange);
    conn_settle(conn);
    if (!conn->advancing) conn_queue(conn); /* what has come already is given at the turn's end */
}

void server_close_after(struct server_exchange *exchange)
{
    exchange->conn->close_after = true;
}

/* ---- writing ---- */

static void exchange_broken(struct server_exchange *exchange)
{
    exchange->conn->broken = true;
    conn_queue(exchange->conn);
}

static void exchange_put(struct server_exchange *exchange, struct belay_slice bytes)
{
    if (!buf_add(&exchange->out, bytes.data, bytes.length)) exchange_broken(exchange);
}

/* Writes the pieces, the first of which is what waits in `out`; what the socket does not take waits
 * there. */
static void exchange_write(struct server_exchange *exchange, const struct belay_slice *pieces,
                           size_t count)
{
    struct conn *conn = exchange->conn;
    struct rt_io io = rt_conn_write(conn->io, pieces, count);
    if (io.kind == RT_IO_ERROR || io.kind == RT_IO_END) {
        exchange_broken(exchange);
        return;
    }
    size_t taken = io.kind == RT_IO_OK ? io.count : 0;
    size_t waiting = pieces[0].length;
    if (taken > 0 || !conn->blocked) conn->since = rt_now(conn->server->rt);
    buf_drop(&exchange->out, taken < waiting ? taken : waiting);
    taken -= taken < waiting ? taken : waiting;
    for (size_t i = 1; i < count; i++) {
        size_t skip = taken < pieces[i].length ? taken : pieces[i].length;
        taken -= skip;
        if (skip < pieces[i].length) {
            exchange_put(exchange, belay_slice(pieces[i].data + skip, pieces[i].length - skip));
        }
    }
    conn->blocked = buf_length(&exchange->out) > 0;
}

void exchange_flush(struct server_exchange *exchange)
{
    struct belay_slice waiting = buf_slice(&exchange->out);
    if (waiting.length > 0 && !exchange->conn->broken) exchange_write(exchange, &waiting, 1);
}

void exchange_continue(struct server_exchange *exchange)
{
    if (!exchange->expects || exchange->started || exchange->ended) return;
    exchange->expects = false;
    exchange_put(exchange, TEXT("HTTP/1.1 100 Continue\r\n\r\n"));
    exchange_flush(exchange);
}

/* ---- the answer's head ---- */

static char *exchange_room(struct server_exchange *exchange, size_t want, size_t *room)
{
    char *out = buf_reserve(&exchange->out, want, room);
    if (!out || *room < want) {
        exchange_broken(exchange);
        return NULL;
    }
    return out;
}

void server_answer_begin(struct server_exchange *exchange, int status, struct belay_slice reason)
{
    CHECK(!exchange->started && !exchange->ended && exchange->status == 0);
    exchange->status = status;
    exchange->written_before = rt_conn_written(exchange->conn->io);
    exchange->out_before = buf_length(&exchange->out);
    size_t room;
    char *out = exchange_room(exchange, HEAD_HINT_BYTES + reason.length, &room);
    if (!out) return;
    buf_wrote(&exchange->out, http1_write_status_line(out, room, status, reason));
}

void server_answer_field(struct server_exchange *exchange, struct belay_slice name,
                         struct belay_slice value)
{
    static const struct belay_slice date = {"date", 4};
    if (name.length == date.length && strncasecmp(name.data, date.data, date.length) == 0)
        exchange->has_date = true;
    size_t room;
    char *out = exchange_room(exchange, name.length + value.length + 4, &room);
    if (!out) return;
    buf_wrote(&exchange->out, http1_write_field(out, room, name, value));
}

static struct belay_slice server_date(struct server *server)
{
    struct belay_wall now = rt_wall(server->rt);
    int64_t second = now.ns / BELAY_NS_PER_S;
    if (second != server->date_s) {
        server->date_s = second;
        http1_format_date(now, server->date);
    }
    return belay_slice(server->date, sizeof server->date);
}

/* The rest of the request's body is here already, so that the next request can be found behind it.
 */
static bool exchange_request_at_hand(const struct server_exchange *exchange)
{
    if (exchange->conn->state != CONN_BODY) return true;
    if (exchange->head.framing != HTTP1_LENGTH) return false;
    return exchange->head.content_length - exchange->body_bytes <= exchange->filled - exchange->at;
}

static bool status_has_body(int status)
{
    return status >= 200 && status != 204 && status != 304;
}

static void exchange_decide_close(struct server_exchange *exchange)
{
    struct conn *conn = exchange->conn;
    if (conn->server->announced || !exchange_request_at_hand(exchange) ||
        !exchange->head.keep_alive || exchange->framing == HTTP1_UNTIL_CLOSE) {
        conn->close_after = true;
    }
}

/* The framing that this request and status allow, from the one that was asked for. */
static void exchange_frame(struct server_exchange *exchange, enum http1_framing framing,
                           uint64_t length, bool has_length)
{
    bool body = status_has_body(exchange->status);
    exchange->muted =
        !body || exchange->head.method == BELAY_METHOD_HEAD || framing == HTTP1_NO_BODY;
    exchange->framing = framing;
    exchange->left = framing == HTTP1_LENGTH ? length : 0;
    if (framing == HTTP1_CHUNKED && !exchange->muted && exchange->head.minor_version == 0) {
        exchange->framing = HTTP1_UNTIL_CLOSE;
    }
    bool may_tell = body || (exchange->status == 304 && has_length);
    bool silent = framing == HTTP1_NO_BODY && !has_length; /* to HEAD that means: not known */
    if (!may_tell || (silent && exchange->head.method == BELAY_METHOD_HEAD)) return;
    if (exchange->framing == HTTP1_LENGTH || framing == HTTP1_NO_BODY) {
        size_t room;
        char *out = exchange_room(exchange, 48, &room);
        if (!out) return;
        uint64_t declared = silent ? 0 : length;
        buf_wrote(&exchange->out,
                  http1_write_field_number(out, room, TEXT("Content-Length"), declared));
    } else if (exchange->framing == HTTP1_CHUNKED && exchange->head.minor_version >= 1) {
        exchange_put(exchange, TEXT("Transfer-Encoding: chunked\r\n"));
    }
}

void server_answer_start(struct server_exchange *exchange, enum http1_framing framing,
                         uint64_t content_length, bool has_length)
{
    CHECK(exchange->status != 0 && !exchange->started && !exchange->ended);
    struct conn *conn = exchange->conn;
    exchange->started = true;
    exchange_frame(exchange, framing, content_length, has_length);
    exchange_decide_close(exchange);
    if (!exchange->has_date) server_answer_field(exchange, TEXT("Date"), server_date(conn->server));
    if (conn->close_after) {
        exchange_put(exchange, TEXT("Connection: close\r\n"));
    } else if (exchange->head.minor_version == 0) {
        exchange_put(exchange, TEXT("Connection: keep-alive\r\n"));
    }
    exchange_put(exchange, TEXT("\r\n"));
    conn_queue(conn);
}

/* ---- the answer's body ---- */

static bool exchange_may_go_on(struct server_exchange *exchange)
{
    size_t high = exchange->conn->server->limits.backlog_bytes_max;
    if (buf_length(&exchange->out) <= high || exchange->conn->broken) return true;
    exchange->wants_writable = true;
    return false;
}

bool server_answer_body(struct server_exchange *exchange, struct belay_slice piece)
{
    CHECK(exchange->started && !exchange->ended);
    struct conn *conn = exchange->conn;
    if (exchange->muted || piece.length == 0 || conn->broken) return true;
    if (exchange->framing == HTTP1_LENGTH) {
        CHECK(piece.length <= exchange->left);
        exchange->left -= piece.length;
    }
    char chunk_head[24];
    struct belay_slice pieces[4] = {buf_slice(&exchange->out)};
    size_t count = 1;
    if (exchange->framing == HTTP1_CHUNKED) {
        pieces[count++] = belay_slice(
            chunk_head, http1_write_chunk_head(chunk_head, sizeof chunk_head, piece.length));
        pieces[count++] = piece;
        pieces[count++] = TEXT("\r\n");
    } else {
        pieces[count++] = piece;
    }
    if (conn->blocked || pieces[0].length + piece.length <= CORK_BYTES) {
        for (size_t i = 1; i < count; i++) exchange_put(exchange, pieces[i]);
        conn_queue(conn);
    } else {
        exchange_write(exchange, pieces, count);
        conn_settle(conn);
    }
    return exchange_may_go_on(exchange);
}

void server_answer_end(struct server_exchange *exchange)
{
    struct conn *conn = exchange->conn;
    bool cut = !exchange->raw && !exchange->muted && exchange->framing == HTTP1_LENGTH &&
               exchange->left > 0;
    CHECK((exchange->started || exchange->raw) && !exchange->ended);
    if (cut) {
        server_abort(exchange);
        return;
    }
    if (exchange->framing == HTTP1_CHUNKED && !exchange->muted && !exchange->raw) {
        exchange_put(exchange, TEXT("0\r\n\r\n"));
    }
    exchange->ended = true;
    if (conn->blocked) return;
    exchange_flush(exchange);
    if (conn->advancing || conn->broken) return;
    if (exchange_answered(exchange) && !conn->close_after && exchange->at < exchange->filled) {
        /* The next request is there already: begun at the turn's end, not inside this call. */
        conn_queue(conn);
    } else {
        conn_advance(conn); /* calls no handler */
    }
}

bool server_answer_withdraw(struct server_exchange *exchange)
{
    struct conn *conn = exchange->conn;
    if (!exchange->started || exchange->ended || exchange->raw || conn->broken ||
        rt_conn_written(conn->io) != exchange->written_before)
        return false;
    exchange->out.end = exchange->out.start + exchange->out_before;
    exchange->status = 0;
    exchange->left = 0;
    exchange->started = exchange->muted = exchange->has_date = exchange->wants_writable = false;
    return true;
}

void server_abort(struct server_exchange *exchange)
{
    exchange->ended = true;
    conn_close(exchange->conn, RT_CLOSE_ABORT);
}

void server_answer_raw(struct server_exchange *exchange, struct belay_slice bytes)
{
    CHECK(!exchange->ended);
    exchange->started = exchange->raw = true;
    exchange->conn->close_after = true;
    exchange_put(exchange, bytes);
    if (exchange->conn->blocked) return;
    exchange_flush(exchange);
    conn_settle(exchange->conn);
}

void server_shut_after(struct server_exchange *exchange)
{
    exchange->conn->shut_after = true;
}

bool server_is_shut(const struct server_exchange *exchange)
{
    return exchange->conn->shut;
}

/* ---- answers of the server's own ---- */

void exchange_refuse(struct server_exchange *exchange, const struct http1_error *error)
{
    char body[256];
    const char *title = http1_reason_phrase(error->status);
    int length =
        snprintf(body, sizeof body,
                 "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"detail\":\"%s\"}\n",
                 title, error->status, error->rule);
    size_t body_bytes = length < (int)sizeof body ? (size_t)length : sizeof body - 1;
    /* The head may be none at all: nothing of it decides how this answer is given. */
    exchange->head.minor_version = 1;
    exchange->head.method = BELAY_METHOD_OTHER;
    exchange->head.keep_alive = false;
    exchange->ended = false;
    server_close_after(exchange);
    server_answer_begin(exchange, error->status, belay_slice_z(title));
    server_answer_field(exchange, TEXT("Content-Type"), TEXT("application/problem+json"));
    server_answer_start(exchange, HTTP1_LENGTH, body_bytes, true);
    exchange_put(exchange, belay_slice(body, body_bytes));
    exchange->ended = true;
    exchange_flush(exchange);
}
