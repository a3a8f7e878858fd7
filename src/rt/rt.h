/* rt.h: the seam between the engines and the world: clock, timers, sockets, names, randomness.
 *
 * One `rt` a worker thread. Two implementations link against it: rt_uv.c (libuv, c-ares) and
 * tests/sim (virtual time, scripted faults). Readiness, not completion: buffers are the caller's,
 * rt queues nothing.
 *
 * Callbacks come only from the loop, never inside a call to rt, and none comes for a connection
 * after `rt_conn_close` or for a timer after `rt_timer_disarm`. All of it belongs to the worker's
 * thread, but `rt_post`. The simulated world may shorten reads and writes, signal for nothing,
 * deliver data with the end, and reset between two calls.
 */
#ifndef RT_RT_H
#define RT_RT_H

#include "base/heap.h"

#include <belay/outcome.h>
#include <belay/slice.h>
#include <belay/time.h>

struct rt;
struct rt_conn;
struct rt_listener;
struct rt_resolve;

/* ---- clock and luck ---- */
struct belay_instant rt_now(struct rt *rt); /* monotonic, sampled once a turn */
struct belay_wall rt_wall(struct rt *rt);   /* for events and stored times only; the same */
uint64_t rt_random(struct rt *rt);          /* 64 uniform bits, seeded when the rt was made */

/* ---- timers ---- */
/* A node that the caller owns; they fire in the order of (instant, sequence), never early. Arming
 * needs no memory. */
struct rt_timer {
    struct heap_node node; /* private */
    struct belay_instant at;
    uint64_t sequence; /* private */
    void (*fire)(struct rt_timer *timer);
};
void rt_timer_init(struct rt_timer *timer, void (*fire)(struct rt_timer *));
/* Arms it, or moves it when it was armed. An instant that has passed fires at the turn's end. */
void rt_timer_arm(struct rt *rt, struct rt_timer *timer, struct belay_instant at);
/* Nothing happens when it is not armed. */
void rt_timer_disarm(struct rt *rt, struct rt_timer *timer);
bool rt_timer_armed(const struct rt_timer *timer);

/* ---- addresses ---- */
struct rt_addr {
    uint8_t family; /* 4, 6; 0: none */
    uint16_t port;
    uint8_t ip[16]; /* 4 or 16 bytes, network order */
};
/* A literal IPv4 (dotted, four decimal parts without leading zeros) or IPv6 address (in brackets or
 * not, no zone). False, *out untouched, for anything else, a name too. */
bool rt_addr_parse(struct belay_slice literal, uint16_t port, struct rt_addr *out)
    __attribute__((warn_unused_result));
/* "127.0.0.1:8080", "[::1]:0": a literal and a port, to listen on. */
bool rt_addr_parse_with_port(struct belay_slice text, struct rt_addr *out)
    __attribute__((warn_unused_result));
#define RT_ADDR_TEXT_MAX 56
/* "127.0.0.1:8080" or "[::1]:8080", NUL-terminated; gives its length. */
size_t rt_addr_format(const struct rt_addr *addr, char text[RT_ADDR_TEXT_MAX]);

/* ---- connections ---- */
enum { RT_READ = 1, RT_WRITE = 2 };

/* `ready` is a set of RT_READ, RT_WRITE; the first RT_WRITE of a connecting socket means it is
 * connected. `failed` comes instead when connecting did not succeed: refused, timeout, reset,
 * closed, or cancelled (a shortage of our own). Later faults show in read and write. After `failed`
 * nothing more comes: the owner closes it. */
struct rt_conn_events {
    void (*ready)(void *owner, unsigned ready);
    void (*failed)(void *owner, enum belay_error_class error);
};

enum rt_io_kind { RT_IO_OK, RT_IO_AGAIN, RT_IO_END, RT_IO_ERROR };
struct rt_io {
    enum rt_io_kind kind;
    /* RT_IO_ERROR: reset, closed, timeout, refused, tls, protocol, cancelled (our own shortage) */
    enum belay_error_class error;
    size_t count; /* RT_IO_OK: bytes moved, > 0 */
};

/* Starts a non-blocking connect. NULL: no socket could be made; *error is cancelled when
 * descriptors or memory lack, refused when this machine has no such addresses. */
struct rt_conn *rt_connect(struct rt *rt, const struct rt_addr *addr,
                           const struct rt_conn_events *events, void *owner,
                           enum belay_error_class *error);
/* A new owner (a pooled connection changes hands). */
void rt_conn_own(struct rt_conn *conn, const struct rt_conn_events *events, void *owner);
struct rt_io rt_conn_read(struct rt_conn *conn, char *buffer, size_t capacity);
#define RT_WRITE_PIECES_MAX 16
struct rt_io rt_conn_write(struct rt_conn *conn, const struct belay_slice *pieces, size_t count);
/* Bytes that the kernel has accepted on this connection since it was made: the proof of "unsent" is
 * that this has not moved since the request began. */
uint64_t rt_conn_written(const struct rt_conn *conn);
/* What to be told of; differences are applied at the turn's end, level-triggered. A new connection
 * has RT_READ (a connecting one RT_WRITE first). Resuming RT_READ with data waiting signals again.
 */
void rt_conn_interest(struct rt_conn *conn, unsigned interest);
/* The peek: has the peer already closed or reset this idle connection, or sent bytes nobody asked
 * for? */
bool rt_conn_dead(struct rt_conn *conn);
void rt_conn_shutdown_write(struct rt_conn *conn);
/* Gracefully: what the kernel accepted still reaches the peer, also when it is sending to us
 * (bounded in time). */
enum rt_close { RT_CLOSE_GRACEFUL, RT_CLOSE_ABORT }; /* abort: the peer sees a reset */
void rt_conn_close(struct rt_conn *conn, enum rt_close how);

/* ---- listening ---- */
struct rt_listener_events {
    /* The connection is the owner's from here on: `own` it or close it. */
    void (*accepted)(void *owner, struct rt_conn *conn);
};
/* Workers share one listening socket (semantics 16): `rt_listen` binds, or joins the process's
 * socket for the same address. Port 0 binds a free one; `rt_listener_addr` tells it. NULL: *error
 * has errno's text. */
struct rt_listener *rt_listen(struct rt *rt, const struct rt_addr *addr,
                              const struct rt_listener_events *events, void *owner,
                              const char **error);
void rt_listener_addr(const struct rt_listener *listener, struct rt_addr *out);
/* How often a connection could not be taken for want of descriptors or memory; each time the
 * listener rests. */
uint64_t rt_listener_exhausted(const struct rt_listener *listener);
/* No new connection reaches the socket from now on; what the kernel had already accepted is still
 * delivered, and `done` comes when that is through. */
void rt_listener_drain(struct rt_listener *listener, void (*done)(void *owner));
void rt_listener_close(struct rt_listener *listener);

/* ---- names ---- */
#define RT_RESOLVE_ADDRS_MAX 16
struct rt_resolved {
    enum belay_error_class error; /* NONE, dns, timeout, cancelled (a shortage of our own) */
    size_t count;
    struct rt_addr addrs[RT_RESOLVE_ADDRS_MAX];
    struct belay_span ttl;
};
/* Look-ups under way are bounded; over the bound the answer is error dns. A literal address answers
 * too, later, like any other. `host` is copied; the look-up is gone once `done` is called. IPv4
 * addresses come first. NULL when no memory is left: `done` does not come. */
struct rt_resolve *rt_resolve(struct rt *rt, struct belay_slice host, uint16_t port,
                              void (*done)(void *owner, const struct rt_resolved *result),
                              void *owner);
void rt_resolve_cancel(struct rt_resolve *resolve);

/* ---- the loop ---- */
/* Work handed to this worker by any thread: the only entry. The node is rt's until `run` is
 * called, or until the loop has ended for good: it is not touched after that. */
struct rt_post {
    struct rt_post *next; /* private */
    void (*run)(struct rt_post *post);
};
void rt_post(struct rt *rt, struct rt_post *post);
/* Called at the end of each turn, after all callbacks (batched writes, freed memory). */
struct rt_hook {
    struct rt_hook *next; /* private */
    void (*run)(struct rt_hook *hook);
};
void rt_hook_turn_end(struct rt *rt, struct rt_hook *hook);
/* Also from a hook; nothing happens when it is not in. */
void rt_hook_remove(struct rt *rt, struct rt_hook *hook);

/* ---- life (rt_uv.c; the simulated world has its own) ---- */
struct rt *rt_create(uint64_t seed); /* NULL: no memory or descriptors */
void rt_run(struct rt *rt);          /* until rt_stop; may run again */
void rt_stop(struct rt *rt);         /* from the loop */
/* Connections, listeners and look-ups must have been closed or cancelled before; posts not yet run
 * are forgotten. */
void rt_destroy(struct rt *rt);

#endif
