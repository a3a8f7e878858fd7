/* world.h: a loop for one test, with a watchdog, and an end of a connection that records what it
 * was told. */
#ifndef TESTS_UNIT_RT_WORLD_H
#define TESTS_UNIT_RT_WORLD_H

#include "test.h"

#include "base/check.h"
#include "rt/rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world {
    struct rt *rt;
    struct rt_timer watchdog;
    struct rt_listener *listener;
    struct rt_addr addr;
    int waiting; /* the loop stops when it comes to 0 */
};

/* One end. Reads what comes when it may, and counts; stops the world's loop when `wanted` bytes or
 * the end came. */
struct end {
    struct world *world;
    struct rt_conn *conn;
    char bytes[1 << 16];
    size_t received, wanted;
    unsigned ready_read, ready_write;
    bool connected, ended, hands_off;
    bool has_error;
    enum belay_error_class error;
    void (*on_ready)(struct end *end, unsigned ready);
};

static inline void world_stop(struct rt_timer *timer)
{
    (void)timer;
    fprintf(stderr, "the loop did not finish within 10 s\n");
    abort();
}

static inline void world_init(struct world *world)
{
    *world = (struct world){.rt = rt_create(1)};
    assert_non_null(world->rt);
    rt_timer_init(&world->watchdog, world_stop);
}

/* Runs the loop until `waiting` facts were told by world_told. */
static inline void world_run(struct world *world, int waiting)
{
    world->waiting = waiting;
    rt_timer_arm(world->rt, &world->watchdog,
                 belay_instant_add(rt_now(world->rt), belay_span_ms(10000)));
    rt_run(world->rt);
    rt_timer_disarm(world->rt, &world->watchdog);
}

static inline void world_time_is_up(struct rt_timer *timer)
{
    rt_stop(CONTAINER_OF(timer, struct world, watchdog)->rt);
}

/* Runs it for so long, to see that something does not happen. */
static inline void world_run_ms(struct world *world, int64_t ms)
{
    rt_timer_init(&world->watchdog, world_time_is_up);
    rt_timer_arm(world->rt, &world->watchdog,
                 belay_instant_add(rt_now(world->rt), belay_span_ms(ms)));
    world->waiting = 0;
    rt_run(world->rt);
    rt_timer_init(&world->watchdog, world_stop);
}

static inline void world_told(struct world *world)
{
    if (--world->waiting == 0) rt_stop(world->rt);
}

static inline void end_finish(struct end *end)
{
    rt_conn_interest(end->conn, 0);
    world_told(end->world);
}

static inline void end_ready(void *owner, unsigned ready)
{
    struct end *end = owner;
    if (ready & RT_READ) end->ready_read++;
    if (ready & RT_WRITE) end->ready_write++;
    if (end->on_ready) {
        end->on_ready(end, ready);
        return;
    }
    if ((ready & RT_WRITE) && !end->connected) {
        end->connected = true;
        rt_conn_interest(end->conn, RT_READ);
        world_told(end->world);
    }
    if (!(ready & RT_READ) || end->hands_off) return;
    struct rt_io io =
        rt_conn_read(end->conn, end->bytes + end->received, sizeof(end->bytes) - end->received);
    if (io.kind == RT_IO_OK) {
        end->received += io.count;
        if (end->received == end->wanted) world_told(end->world);
    } else if (io.kind == RT_IO_END) {
        end->ended = true;
        end_finish(end);
    } else if (io.kind == RT_IO_ERROR) {
        end->has_error = true;
        end->error = io.error;
        end_finish(end);
    }
}

static inline void end_failed(void *owner, enum belay_error_class error)
{
    struct end *end = owner;
    end->has_error = true;
    end->error = error;
    world_told(end->world);
}

static const struct rt_conn_events END_EVENTS = {end_ready, end_failed};

static inline struct rt_addr loopback(uint16_t port)
{
    return (struct rt_addr){.family = 4, .port = port, .ip = {127, 0, 0, 1}};
}

/* Takes the next accepted connection. */
static inline void end_accepted(void *owner, struct rt_conn *conn)
{
    struct end *end = owner;
    assert_null(end->conn);
    end->conn = conn;
    end->connected = true;
    rt_conn_own(conn, &END_EVENTS, end);
    world_told(end->world);
}

static const struct rt_listener_events ACCEPT_INTO_END = {end_accepted};

static inline struct end *end_create(struct world *world)
{
    struct end *end = calloc(1, sizeof(*end));
    assert_non_null(end);
    end->world = world;
    return end;
}

/* A connection with both ends ours. */
static inline void pair_create(struct world *world, struct end **client, struct end **server)
{
    const char *why = NULL;
    enum belay_error_class error;
    struct rt_addr addr = loopback(0);
    *client = end_create(world);
    *server = end_create(world);
    world->listener = rt_listen(world->rt, &addr, &ACCEPT_INTO_END, *server, &why);
    assert_non_null(world->listener);
    rt_listener_addr(world->listener, &world->addr);
    (*client)->conn = rt_connect(world->rt, &world->addr, &END_EVENTS, *client, &error);
    assert_non_null((*client)->conn);
    world_run(world, 2);
}

static inline void end_destroy(struct end *end)
{
    if (end->conn) rt_conn_close(end->conn, RT_CLOSE_ABORT);
    free(end);
}

static inline void world_deinit(struct world *world)
{
    if (world->listener) rt_listener_close(world->listener);
    rt_destroy(world->rt);
}

static inline struct rt_io end_send(struct end *end, const char *text)
{
    struct belay_slice piece = belay_slice_z(text);
    return rt_conn_write(end->conn, &piece, 1);
}

#endif
