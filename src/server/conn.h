/* conn.h: one inbound connection and the exchange under way on it; private to src/server. */
#ifndef SERVER_CONN_H
#define SERVER_CONN_H

#include "base/buf.h"
#include "base/check.h"
#include "base/list.h"
#include "server/server.h"

struct server {
    struct rt *rt;
    struct server_limits limits;
    atomic_uint *open, own_open; /* connections under connections_max */
    const struct server_handler *handler;
    void *owner;
    struct rt_listener *listener;
    struct rt_hook turn_end;
    struct list conns; /* all that are open */
    struct list due;   /* those with something to do, or to be freed, at the turn's end */
    struct server_exchange *spare;
    uint32_t spare_count;
    size_t buffer_bytes; /* of an exchange */
    struct server_stats stats;
    bool announced, listener_done;
    void (*drained)(void *owner);
    int64_t date_s; /* the second that `date` tells */
    char date[29];
};

/* A connection's state and who moves it on:
 *   IDLE    between requests; no exchange
 *   HEAD    some bytes of a head have come
 *   BODY    the handler knows the request, its body is not whole
 *   WHOLE   the request is read; the answer is not given, or not taken
 *   CLOSED  to be freed at the turn's end */
enum conn_state { CONN_IDLE, CONN_HEAD, CONN_BODY, CONN_WHOLE, CONN_CLOSED };

struct conn {
    struct list node, due_node;
    struct server *server;
    struct rt_conn *io;
    struct server_exchange *exchange;
    /* One timer for every clock, moved only when it would fire too late: the usual request never
     * touches it. */
    struct rt_timer timer;
    struct belay_instant due_at;
    struct belay_instant since; /* IDLE, HEAD: entered; else the latest byte that moved */
    uint64_t requests;
    enum conn_state state;
    uint8_t interest;
    bool advancing;   /* conn_advance is on the stack */
    bool read_ended;  /* the client has shut its side */
    bool broken;      /* a write failed; told at the turn's end */
    bool blocked;     /* the socket takes no more */
    bool close_after; /* this connection ends with the answer under way */
    bool shut_after;  /* our side of it does, and that is not announced; */
    bool shut;        /* it has */
};

struct server_exchange {
    struct server_exchange *next; /* among the spare ones */
    struct conn *conn;
    void *user;
    struct belay_instant began_at, read_at;
    /* the request: in[0, head_bytes) is the head, in[at, filled) has not been looked at */
    size_t head_bytes, at, filled;
    struct http1_scan scan;
    struct http1_body body;
    uint64_t body_bytes; /* content given to the handler */
    /* the answer */
    struct buf out;          /* not yet accepted by the socket */
    uint64_t left;           /* of a declared length */
    uint64_t written_before; /* by the connection, when the answer began; */
    size_t out_before;       /* and what was waiting then */
    int status;
    enum http1_framing framing;
    bool paused, expects; /* a 100 is owed when the handler wants the body */
    bool has_date, started, ended, muted, raw, wants_writable;
    struct http1_head head;
    char in[];
};

/* ---- server.c ---- */
/* Best effort, without memory: there is nobody to wait for the rest. */
void server_say_full(struct server *server, struct rt_conn *io);

/* ---- conn.c ---- */
/* False, and `io` stays the caller's, without memory. */
bool conn_accept(struct server *server, struct rt_conn *io) __attribute__((warn_unused_result));
/* Moves the connection on as far as what has come and what was answered allow; the only caller of
 * the handler. */
void conn_advance(struct conn *conn);
void conn_at_turn_end(struct conn *conn);
void conn_queue(struct conn *conn); /* conn_at_turn_end will be called */
/* Interest and clock follow the state. */
void conn_settle(struct conn *conn);
void conn_close(struct conn *conn, enum rt_close how);
void conn_free(struct conn *conn);

/* ---- exchange.c: memory of exchanges, and the answer ---- */
bool exchange_borrow(struct conn *conn) __attribute__((warn_unused_result));
void exchange_give_back(struct conn *conn);
/* The next request on the same buffer; what has come of it moves to the front. */
void exchange_next(struct server_exchange *exchange);
/* Answers by itself with a minimal problem document; the connection closes. */
void exchange_refuse(struct server_exchange *exchange, const struct http1_error *error);
/* One write of what is waiting. */
void exchange_flush(struct server_exchange *exchange);
void exchange_continue(struct server_exchange *exchange);

static inline bool exchange_answered(const struct server_exchange *exchange)
{
    return exchange->ended && buf_length(&exchange->out) == 0;
}

#endif
