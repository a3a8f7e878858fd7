/* world.h: a scripted rt and a server in it: virtual time, and clients that a test plays by hand.
 *
 * The server under test is linked against this rt. What happened is told as a story, one line a
 * callback, which tests compare as a whole.
 */
#ifndef TESTS_SERVER_WORLD_H
#define TESTS_SERVER_WORLD_H

#include "base/buf.h"
#include "base/list.h"
#include "server/server.h"

struct rt {
    struct belay_instant now;
    uint64_t sequence;
    struct list timers; /* of struct armed */
    struct list conns;
    struct rt_hook *hooks;
    struct rt_listener *listener;
    uint64_t luck; /* what the dice show */
    unsigned interest_changes, timers_armed;
};

struct rt_conn { /* the server's end; the test plays the client */
    struct list node;
    struct rt *rt;
    const struct rt_conn_events *events;
    void *owner;
    uint64_t written;
    struct buf in, out; /* sent by the client and not read; written by the server */
    bool in_end, in_reset;
    bool closed, aborted, shut;
    unsigned interest;
    size_t read_max;   /* one read gives no more */
    size_t write_room; /* the socket takes no more in all; SIZE_MAX: no bound */
    size_t write_max;  /* ... and no more in one write */
    unsigned reads, writes;
};

struct world {
    struct rt rt;
    struct server_limits limits;
    const struct server_handler *handler; /* NULL: the one that tells the story, of this world */
    void *owner;
    struct server *server;
    struct buf story;
    struct server_exchange *exchange; /* the latest that was begun and is not over */
    void (*on_request)(struct world *world);
    void (*on_end)(struct world *world); /* the body is whole */
    void (*on_writable)(struct world *world);
    char body[256];
    size_t body_length;
    uint64_t requests;
    bool drained;
};

void world_start(struct world *world);
void world_stop(struct world *world);
struct rt_conn *world_connect(struct world *world);
void client_send(struct rt_conn *conn, const char *bytes);
/* Turns of the loop until nothing more happens at this instant. */
void world_settle(struct world *world);
/* Time passes; timers fire at their instants. */
void world_pass(struct world *world, struct belay_span span);
/* connect, send, settle. */
struct rt_conn *world_request(struct world *world, const char *bytes);

void answer(struct world *world, int status, const char *body); /* a whole answer with a length */
void answer_ok(struct world *world);                            /* 200 "ok" */
void answer_echo(struct world *world);                          /* 200 with the request's body */

#define assert_story(world, text) assert_string_equal(world_story(world), text)
const char *world_story(struct world *world);
/* What the client has got so far, without the Date field. */
const char *client_got(struct rt_conn *conn);

#endif
