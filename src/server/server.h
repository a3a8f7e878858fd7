/* server.h: inbound connections: accept, read a request, give an answer, drain.
 *
 * One `server` a worker and listener. Requests on one connection are served one after the other
 * (pipelined ones wait, in order). Knows HTTP/1.1 and no engine: a handler is told of each request
 * and gives the answer.
 *
 * Every callback comes from the loop. An exchange belongs to the server; the handler may use it
 * from `request` until it has called `server_answer_end` or `server_abort`, or was told `gone`.
 * Slices in callbacks live until the callback returns, but the head: that and its slices live as
 * long as the exchange. No callback comes from inside a call to the server.
 *
 * Bounds: an idle connection costs one small struct (< 256 bytes); a buffer of head_bytes_max + 16
 * KiB is lent to a connection only while a request is under way, and reading stops when pipelined
 * bytes fill it. Over connections_max, and
 * without memory for the connection or for its request, it is answered 503 and closed. An exchange
 * has room for a head and 1 KiB of content from its beginning: a short answer needs no memory.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "http1/http1.h"
#include "rt/rt.h"

#include <stdatomic.h>

struct server;
struct server_exchange;

struct server_handler {
    /* A whole head has come. `user` of the exchange may be set. Body pieces follow unless the
     * framing says none. */
    void (*request)(void *owner, struct server_exchange *exchange);
    /* A piece of the request's body; `end` comes once, with the last piece, which may be empty. */
    void (*body)(void *owner, struct server_exchange *exchange, struct belay_slice piece, bool end);
    /* The answer's backlog has fallen below the low mark after server_answer_body said to pause. */
    void (*writable)(void *owner, struct server_exchange *exchange);
    /* The client went away, broke the framing of its body, or was cut by a clock; no answer can be
     * given (error NULL) or the server has answered by itself (error set). The exchange is over. */
    void (*gone)(void *owner, struct server_exchange *exchange, const struct http1_error *error);
    /* May be NULL. The client shut its side after a whole request: it has left, or it still waits
     * for the answer, which goes on as before; a handler that knows better may abort. */
    void (*half_closed)(void *owner, struct server_exchange *exchange);
    /* Bytes that were no request: answered and closed by the server; there never was an exchange.
     */
    void (*bad_request)(void *owner, const struct http1_error *error,
                        struct belay_instant began_at);
};

struct server_limits {
    struct http1_limits http1;
    struct belay_span head_for; /* from the first byte of a request to the end of its head */
    struct belay_span idle_for; /* between requests */
    /* Between bytes of a body that is being read, and of an answer not being taken. */
    struct belay_span silence_for;
    uint32_t connections_max;
    atomic_uint *connections_open; /* of all servers that share the maximum, on any thread; NULL:
                                      only this one's count */
    size_t backlog_bytes_max;      /* [64 KiB] high mark of an answer not yet taken by the client */
};

struct server_stats {
    uint64_t accepted, refused_full, requests, bad_requests, head_timeouts, silent_clients;
    uint64_t exhausted; /* times the listener rested for want of descriptors or memory */
    uint32_t connections, idle;
};

struct server *server_create(struct rt *rt, const struct server_limits *limits,
                             const struct server_handler *handler, void *owner);
/* False, and *error, when the address cannot be had. */
bool server_listen(struct server *server, const struct rt_addr *addr, const char **error)
    __attribute__((warn_unused_result));
void server_addr(const struct server *server, struct rt_addr *out);
void server_stats(const struct server *server, struct server_stats *out);
/* Other limits from now on, but for connections_open; a clock that runs keeps its end. The buffers
 * stay as they are: http1 must be the same. */
void server_set_limits(struct server *server, const struct server_limits *limits);
/* Semantics 16. From now on answers say Connection: close. */
void server_announce_drain(struct server *server);
/* No new connections; what the kernel had accepted is served; idle ones are closed after
 * `idle_for`. `drained` comes when no connection is left. */
void server_drain(struct server *server, struct belay_span idle_for, void (*drained)(void *owner));
void server_destroy(struct server *server);

/* ---- the exchange ---- */
const struct http1_head *server_request_head(const struct server_exchange *exchange);
/* When its first byte came. */
struct belay_instant server_request_began_at(const struct server_exchange *exchange);
void *server_user(const struct server_exchange *exchange);
void server_set_user(struct server_exchange *exchange, void *user);
/* Back-pressure on the request's body. The silence clock stops while paused. */
void server_body_pause(struct server_exchange *exchange);
void server_body_resume(struct server_exchange *exchange);

/* The answer: begin, fields, start (these without returning to the loop), body pieces, end. The
 * server writes Connection, Transfer-Encoding, Content-Length and (when the handler gave none) Date
 * by itself; the handler must not. */
void server_answer_begin(struct server_exchange *exchange, int status, struct belay_slice reason);
void server_answer_field(struct server_exchange *exchange, struct belay_slice name,
                         struct belay_slice value);
/* The head is whole. LENGTH: exactly so many bytes follow; CHUNKED: unknown (close-delimited
 * towards HTTP/1.0); NO_BODY: none (HEAD, 204, 304; `content_length` is then declared when
 * has_length). Not yet written: it goes with the first piece, at the end, or at the turn's end. */
void server_answer_start(struct server_exchange *exchange, enum http1_framing framing,
                         uint64_t content_length, bool has_length);
/* Takes all of it (copying what the socket does not accept). False: pause until `writable`; who
 * gives a short body in one piece need not look. */
bool server_answer_body(struct server_exchange *exchange, struct belay_slice piece);
void server_answer_end(struct server_exchange *exchange);
/* Takes back an answer of which no byte has left yet, so that another can begin. False, and nothing
 * happens, when it is too late. */
bool server_answer_withdraw(struct server_exchange *exchange) __attribute__((warn_unused_result));
/* Cut the connection with a reset, so that the client sees the loss. Also before any answer. */
void server_abort(struct server_exchange *exchange);
/* This connection closes after the answer (a request body was not read to its end, or the handler
 * wants it). */
void server_close_after(struct server_exchange *exchange);
/* How many requests came before this one on its connection. */
uint64_t server_request_number(const struct server_exchange *exchange);
/* For an origin that misbehaves on purpose: bytes as they are, before, within or instead of an
 * answer. From then on nothing is framed or checked; server_answer_end closes the connection
 * without a reset. */
void server_answer_raw(struct server_exchange *exchange, struct belay_slice bytes);
/* For the same: after this answer, which promises more, our side of the connection is shut. What
 * the client still sends is read to its end: such a request comes to the handler, which knows it by
 * server_is_shut and aborts it. */
void server_shut_after(struct server_exchange *exchange);
bool server_is_shut(const struct server_exchange *exchange);

#endif
