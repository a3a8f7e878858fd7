/* conn.h: what the two halves of the client share: the pool (client.c) and one exchange
 * (exchange.c). */
#ifndef CLIENT_CONN_H
#define CLIENT_CONN_H

#include "base/buf.h"
#include "client/client.h"

#define CLIENT_READ_BYTES ((size_t)64 * 1024) /* one read of an answer takes at most so much */
#define CLIENT_INTERIM_MAX 16                 /* 1xx heads before a final one */

/* IDLE: in client.idle, nobody's; GONE: closed, freed when the last function that stands on it
 * returns. All others are in client.busy and have a call. */
enum client_conn_state { CONN_RESOLVING, CONN_CONNECTING, CONN_BUSY, CONN_IDLE, CONN_GONE };

struct client_conn {
    struct list node;
    struct client *client;
    struct client_call *call;
    struct rt_conn *rt_conn;
    struct rt_resolve *resolve;
    enum client_conn_state state;
    /* The last byte either way; since when idle; when the connecting began. */
    struct belay_instant active_at;
    uint64_t written_before;              /* bytes of earlier requests */
    enum belay_error_class connect_error; /* when no socket could be made */
    size_t address;                       /* which of the resolved ones is being tried */
    /* the answer */
    struct http1_scan scan;
    struct http1_body body;
    struct buf kept; /* an unfinished head, or what came while the caller pauses */
    unsigned interim;
    bool answer_bytes, head_read, keep, over, paused, write_failed;
    bool entered; /* a function of ours stands on this connection while it calls out */
};

struct client {
    struct rt *rt;
    struct client_limits limits;
    struct buf host;
    uint16_t port;
    struct rt_resolved resolved; /* the literal address, or the last look-up's answer */
    struct belay_instant resolved_until;
    struct list busy, idle; /* idle: the latest used in front */
    struct rt_timer clock; /* silence and connect clocks: never later than the first of them ends */
    struct rt_timer idle_clock;
    struct client_stats stats;
    struct http1_head head; /* of the answer being parsed: no two are at a time */
    char read_buffer[CLIENT_READ_BYTES];
};

extern const struct rt_conn_events client_conn_events;

/* Begins the request on a connected connection. False: it is dead and has taken nothing. */
bool client_conn_send(struct client_conn *conn) __attribute__((warn_unused_result));
/* Writes what the call still has; reads what the caller's pause has kept. */
void client_conn_soon(struct client_conn *conn);
/* Ends the call with a failure, or quietly moves it to another connection when the pooled one had
 * taken nothing. */
void client_conn_fail(struct client_conn *conn, enum belay_error_class error);
void client_conn_want(struct client_conn *conn);
/* Closes, unlinks and frees (later, when it is entered). */
void client_conn_discard(struct client_conn *conn, enum rt_close how);
/* Leaves its call and waits in the pool for the next. */
void client_conn_park(struct client_conn *conn);
/* The connecting failed: the next address, or the call fails. */
void client_conn_next_address(struct client_conn *conn, enum belay_error_class error);
/* Puts the call on a pooled connection or a fresh one. */
void client_call_place(struct client_call *call);
/* The clock timer will look at this connection in time. */
void client_conn_watch(struct client_conn *conn);
enum belay_phase client_conn_phase(const struct client_conn *conn);

static inline bool client_conn_accepted(const struct client_conn *conn)
{
    return conn->state == CONN_BUSY && rt_conn_written(conn->rt_conn) != conn->written_before;
}

#endif
