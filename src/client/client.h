/* client.h: outbound connections: resolve, connect, keep and reuse, one exchange at a time on each.
 *
 * One `client` a worker and address of a target. A call is one attempt on the network: it ends with
 * exactly one of `end` or `failed`, and neither after `client_call_cancel`. Knows no policy: its
 * clocks and flags are given.
 *
 * Every callback comes from the loop, never inside client_call_start. The call struct is the
 * caller's until it ends.
 */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include "base/list.h"
#include "http1/http1.h"
#include "rt/rt.h"

struct client;
struct client_call;

struct client_failure {
    enum belay_error_class error; /* cancelled: memory or descriptors of our own lack */
    enum belay_phase phase;
    bool bytes_accepted; /* our writes accepted at least one byte of this request */
    bool head_read;      /* a final status line had been read */
    bool stale;          /* reused connection, bytes accepted, no answer byte (semantics 5a) */
};

struct client_events {
    /* A final head (1xx are dropped, a 101 is a protocol error). Lives, with its slices, until the
     * callback returns. */
    void (*head)(struct client_call *call, const struct http1_head *head);
    /* False: pause; no more pieces until client_call_resume. */
    bool (*body)(struct client_call *call, struct belay_slice piece);
    void (*end)(struct client_call *call);
    void (*failed)(struct client_call *call, const struct client_failure *failure);
    /* The request body's backlog is gone: give more with client_call_body. */
    void (*writable)(struct client_call *call);
};

struct client_options {
    struct belay_span connect_for; /* dns + connect */
    struct belay_span silence_for; /* restarted by every byte either way; stops while the caller
                                      pauses, and while it owes more of a streamed body. 0: none */
    bool fresh;                    /* no pooled connection */
    bool probe_first;         /* peek at a pooled connection before writing (not replay-safe) */
    enum belay_method method; /* decides how the answer is framed */
};

struct client_call { /* private but for reused */
    bool reused;     /* went over a pooled connection */
    const struct client_events *events;
    struct client_options options;
    struct client *client;
    struct client_conn *conn; /* NULL: not under way, or failing at the turn's end */
    struct rt_timer soon; /* what has to come from the loop and not from a call into the client */
    struct belay_slice head, body; /* what the connection has not taken yet */
    bool body_ends, wants_writable;
};

struct client_limits {
    struct http1_limits http1;
    struct belay_span idle_for; /* a pooled connection lives so long unused */
    uint32_t idle_max;          /* pooled connections kept */
};

struct client_stats {
    uint64_t connects, reuses, stale, discarded;
    uint32_t open, idle; /* connections now; idle ones are open too */
};

/* `host` is a literal address or a name, resolved when a connection is needed. NULL: no memory. */
struct client *client_create(struct rt *rt, const struct client_limits *limits,
                             struct belay_slice host, uint16_t port);
void client_stats(const struct client *client, struct client_stats *out);
void client_destroy(struct client *client); /* no call may be under way */

/* `head` and `body` are written as they are (framing is the caller's) and must stay until the call
 * ends, or until `writable` for the body of a streamed request. `body_ends`: nothing follows; else
 * `writable` comes when both are gone. */
void client_call_start(struct client *client, struct client_call *call,
                       const struct client_events *events, const struct client_options *options,
                       struct belay_slice head, struct belay_slice body, bool body_ends);
/* More of a streamed body, after `writable`. Returns how many bytes were taken; `writable` comes
 * again when not all were, and the rest is to be given then. `ends` counts once all of the piece
 * was taken. */
size_t client_call_body(struct client_call *call, struct belay_slice piece, bool ends)
    __attribute__((warn_unused_result));
void client_call_resume(struct client_call *call);
/* No more callbacks; the connection is discarded unless the exchange was over. */
void client_call_cancel(struct client_call *call);
/* What is known now of the way the request took. */
bool client_call_bytes_accepted(const struct client_call *call);
enum belay_phase client_call_phase(const struct client_call *call);
/* Closes all idle connections (the first stale send to an address). */
void client_drop_idle(struct client *client);

#endif
