/* flow.h: what the files of the proxy share: one worker's proxy, a snapshot in use, and one running
 * operation. */
#ifndef PROXY_FLOW_H
#define PROXY_FLOW_H

#include "base/buf.h"
#include "base/text.h"
#include "client/client.h"
#include "event/out.h"
#include "proxy/facts.h"
#include "proxy/problem.h"
#include "proxy/proxy.h"

#include <belay/event.h>
#include <belay/operation.h>
#include <stdatomic.h>

#define TRACE_ID_BYTES 32
#define SPAN_ID_BYTES 16
#define MADE_ID_BYTES 32

/* A configuration snapshot as this listener uses it. Lives while it is the current one or a flow
 * uses it. */
struct setup {
    struct proxy *proxy;
    struct conf *conf;
    const struct conf_listener *listener;
    struct server_limits limits;
    struct facts_names names;
    struct belay_policy *streamed; /* one a route, for a request whose body cannot be repeated */
    struct belay_target **targets; /* one for each of conf.targets */
    struct client **clients;       /* the same; NULL where no route leads */
    size_t users;
    struct rt_timer reaper; /* frees it from the loop, when nobody stands on a client of it */
    struct list node;       /* in proxy.setups */
};

/* COLLECTING -> ASKING -> CALLING -> STREAMING -> closed
 *                  ^         |
 *                  +---------+
 *                    a retry: asked for again at the timer's instant, or when woken */
enum flow_state {
    FLOW_COLLECTING, /* the request's body is being read into the replay buffer */
    FLOW_ASKING,     /* waiting for a gate's instant, a slot, or a retry's; an answer may be held
                        meanwhile */
    FLOW_CALLING,    /* an attempt is under way, nothing of its answer was given to the client */
    FLOW_STREAMING,  /* the answer's head was given to the client, its body follows */
};

/* An answer that will be repeated, kept in case the repeat is never sent (semantics 3). */
struct held {
    bool any, whole, lost; /* whole: all of it is here. lost: its body was too large, or cut */
    int status;
    enum http1_framing framing;
    uint64_t content_length;
    bool has_content_length;
    struct buf fields; /* name and value, each with its length in front */
    struct buf body;
};

/* The way of the request's body. */
struct upload {
    bool whole;     /* the client sent all of it */
    bool streaming; /* too large to be collected: goes on while the call runs */
    bool chunked;   /* towards the target, when streaming */
    bool gone; /* streaming: the collected part has left, so nothing can be repeated any more */
    struct buf body; /* collected; later what the target has not taken yet */
};

struct flow {
    struct list node; /* in proxy.running, or of the spares */
    struct proxy *proxy;
    struct setup *setup;
    struct server_exchange *exchange;
    const struct http1_head *request;
    const struct conf_route *route; /* NULL: none matched */
    enum flow_state state;
    struct belay_instant began_at, deadline_at;
    struct belay_wall began_wall;
    struct rt_timer timer; /* ASKING: ask again. Else: the end of the attempt or of the operation */
    struct rt_post post;   /* a slot may be free: comes from any thread */
    atomic_bool posted;

    bool has_op;
    bool half_closed;             /* the client has shut its side */
    bool queued;                  /* ASKING: for a slot, so that a wake means something */
    bool paused;                  /* the client does not take the answer as fast as it comes */
    bool starved;                 /* the reserve's: only tells the client that memory is short */
    enum belay_terminal terminal; /* how it ended without having become an operation of a target */
    struct belay_operation op;
    struct facts facts;

    /* the attempt */
    struct client_call call;
    bool call_runs;
    bool recorded; /* its outcome: already at its head */
    struct belay_outcome outcome;
    struct belay_wall attempt_wall;
    int answer; /* the status the client was given; 0: none yet */

    struct upload upload;
    struct held held;
    struct buf head; /* of the request as it is sent */
    char operation_id[BELAY_OPERATION_ID_MAX];
    size_t operation_id_length;
    char trace_id[TRACE_ID_BYTES], span_id[SPAN_ID_BYTES];
    char endpoint_room[BELAY_EVENT_ENDPOINT_BYTES_MAX];
    struct belay_slice endpoint;
};

struct proxy {
    struct rt *rt;
    struct event_out *events;
    struct server *server;
    struct setup *setup;    /* the current one */
    struct setup *prepared; /* the next one, or NULL */
    struct list setups;
    struct list running, spares;
    struct flow *reserve;     /* so that a request without memory is answered and recorded, too */
    struct proxy_stats stats; /* clients: of the pools that are gone */
    void (*drained)(void *owner);
    void *drained_owner;
};

static inline struct belay_slice flow_operation_id(const struct flow *flow)
{
    return belay_slice(flow->operation_id, flow->operation_id_length);
}

static inline struct client *flow_client(const struct flow *flow)
{
    return flow->setup->clients[flow->route->target];
}

/* proxy.c */
/* Without memory it is the reserve, `starved`, which must be closed before the next is taken. */
struct flow *proxy_take_flow(struct proxy *proxy);
void proxy_give_flow(struct flow *flow);

/* flow.c: one operation, from the request's head to its record */
void flow_begin(struct proxy *proxy, struct server_exchange *exchange);
/* The client left (0), or its body was answered with this status. */
void flow_gone(struct flow *flow, int status);
void flow_writable(struct flow *flow);
void flow_half_closed(struct flow *flow); /* the client sends no more */
/* Memory lacks to go on: the client is told so, or cut when its answer has begun. Closes the flow.
 */
void flow_starve(struct flow *flow);
void flow_ask(struct flow *flow); /* the gates, and the attempt when they let it through */
/* Its record; then `how`, or NULL when the exchange is over. */
void flow_close(struct flow *flow, void (*how)(struct server_exchange *));
void flow_on_timer(struct rt_timer *timer);
void flow_on_post(struct rt_post *post);

/* upload.c: the request's body */
void upload_begin(struct flow *flow);
void upload_take(struct flow *flow, struct belay_slice piece, bool end);
void upload_go_on(struct flow *flow); /* the target takes more */
bool upload_waits_for_client(const struct flow *flow);

/* answer.c: what the client is given */
void answer_pass_on(struct flow *flow, const struct http1_head *head);
void answer_hold(struct flow *flow, const struct http1_head *head);
void answer_hold_body(struct flow *flow, struct belay_slice piece);
/* Closes the flow, unless the rest of the answer is still coming. */
void answer_give_held(struct flow *flow);
void answer_problem(struct flow *flow, const struct problem *problem); /* closes the flow */

/* headers.c: the request's head as it is sent */
bool headers_write_request(struct flow *flow, const struct belay_admission *admission)
    __attribute__((warn_unused_result));

/* ids.c: identifiers and their text */
void ids_hex(uint64_t luck, char out[16]);
void ids_begin(struct flow *flow); /* operation, trace, endpoint */
size_t ids_write_traceparent(const struct flow *flow, char out[55]); /* with the attempt's span */

/* records.c: what is handed over to the events */
void record_attempt(const struct flow *flow, const struct belay_outcome *outcome,
                    const struct belay_verdict *verdict);
void record_operation(const struct flow *flow, const struct belay_ending *ending);
void record_bad_request(struct proxy *proxy, const struct http1_error *error,
                        struct belay_instant began_at);

#endif
