/* world.c: a scripted rt and a server in it: virtual time, and clients that a test plays by hand.
 */
#include "world.h"

#include "base/check.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

struct rt_listener {
    const struct rt_listener_events *events;
    void *owner;
    void (*drained)(void *owner);
};

/* ---- rt.h ---- */

struct belay_instant rt_now(struct rt *rt)
{
    return rt->now;
}

struct belay_wall rt_wall(struct rt *rt)
{
    return (struct belay_wall){rt->now.ns};
}

/* A timer's private parts serve as a place in a list: what is armed is found by walking. */
struct armed {
    struct list node;
    struct rt_timer *timer;
};

void rt_timer_init(struct rt_timer *timer, void (*fire)(struct rt_timer *))
{
    *timer = (struct rt_timer){.fire = fire};
}

bool rt_timer_armed(const struct rt_timer *timer)
{
    return heap_holds(&timer->node);
}

void rt_timer_disarm(struct rt *rt, struct rt_timer *timer)
{
    (void)rt;
    if (!rt_timer_armed(timer)) return;
    struct armed *armed = (struct armed *)(void *)timer->node.link;
    list_remove(&armed->node);
    free(armed);
    timer->node.link = NULL;
}

void rt_timer_arm(struct rt *rt, struct rt_timer *timer, struct belay_instant at)
{
    rt_timer_disarm(rt, timer);
    struct armed *armed = calloc(1, sizeof *armed);
    armed->timer = timer;
    timer->at = at;
    timer->sequence = rt->sequence++;
    timer->node.link = (struct heap_node **)(void *)armed;
    list_push_back(&rt->timers, &armed->node);
    rt->timers_armed++;
}

void rt_conn_own(struct rt_conn *conn, const struct rt_conn_events *events, void *owner)
{
    conn->events = events;
    conn->owner = owner;
}

bool rt_conn_dead(struct rt_conn *conn)
{
    return buf_length(&conn->in) > 0 || conn->in_end || conn->in_reset;
}

struct rt_io rt_conn_read(struct rt_conn *conn, char *buffer, size_t capacity)
{
    assert_false(conn->closed);
    conn->reads++;
    size_t count = buf_length(&conn->in);
    if (conn->in_reset) return (struct rt_io){.kind = RT_IO_ERROR, .error = BELAY_ERROR_RESET};
    if (count == 0) return (struct rt_io){.kind = conn->in_end ? RT_IO_END : RT_IO_AGAIN};
    if (count > capacity) count = capacity;
    if (count > conn->read_max) count = conn->read_max;
    assert_true(count > 0);
    memcpy(buffer, buf_slice(&conn->in).data, count);
    buf_drop(&conn->in, count);
    return (struct rt_io){.kind = RT_IO_OK, .count = count};
}

struct rt_io rt_conn_write(struct rt_conn *conn, const struct belay_slice *pieces, size_t count)
{
    assert_false(conn->closed);
    assert_true(count <= RT_WRITE_PIECES_MAX);
    conn->writes++;
    if (conn->in_reset) return (struct rt_io){.kind = RT_IO_ERROR, .error = BELAY_ERROR_RESET};
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        size_t room =
            conn->write_room < conn->write_max - taken ? conn->write_room : conn->write_max - taken;
        size_t some = pieces[i].length < room ? pieces[i].length : room;
        assert_true(buf_add(&conn->out, pieces[i].data, some));
        taken += some;
        if (conn->write_room != SIZE_MAX) conn->write_room -= some;
    }
    conn->written += taken;
    return taken > 0 ? (struct rt_io){.kind = RT_IO_OK, .count = taken}
                     : (struct rt_io){.kind = RT_IO_AGAIN};
}

uint64_t rt_conn_written(const struct rt_conn *conn)
{
    return conn->written;
}

void rt_conn_interest(struct rt_conn *conn, unsigned interest)
{
    assert_false(conn->closed);
    conn->interest = interest;
    conn->rt->interest_changes++;
}

void rt_conn_shutdown_write(struct rt_conn *conn)
{
    conn->shut = true;
}

void rt_conn_close(struct rt_conn *conn, enum rt_close how)
{
    assert_false(conn->closed);
    conn->closed = true;
    conn->aborted = how == RT_CLOSE_ABORT;
}

struct rt_listener *rt_listen(struct rt *rt, const struct rt_addr *addr,
                              const struct rt_listener_events *events, void *owner,
                              const char **error)
{
    if (addr->port == 1) {
        *error = "permission denied";
        return NULL;
    }
    rt->listener = calloc(1, sizeof *rt->listener);
    rt->listener->events = events;
    rt->listener->owner = owner;
    return rt->listener;
}

void rt_listener_addr(const struct rt_listener *listener, struct rt_addr *out)
{
    (void)listener;
    *out = (struct rt_addr){.family = 4, .port = 8080, .ip = {127, 0, 0, 1}};
}

uint64_t rt_listener_exhausted(const struct rt_listener *listener)
{
    (void)listener;
    return 0;
}

void rt_listener_drain(struct rt_listener *listener, void (*done)(void *owner))
{
    listener->drained = done;
}

void rt_listener_close(struct rt_listener *listener)
{
    free(listener);
}

void rt_hook_turn_end(struct rt *rt, struct rt_hook *hook)
{
    hook->next = rt->hooks;
    rt->hooks = hook;
}

void rt_hook_remove(struct rt *rt, struct rt_hook *hook)
{
    assert_ptr_equal(rt->hooks, hook);
    rt->hooks = hook->next;
}

uint64_t rt_random(struct rt *rt)
{
    return rt->luck;
}

/* ---- turns ---- */

static bool conn_turn(struct rt_conn *conn)
{
    if (conn->closed) return false;
    unsigned ready = 0;
    bool readable = buf_length(&conn->in) > 0 || conn->in_end || conn->in_reset;
    if ((conn->interest & RT_READ) && readable) ready |= RT_READ;
    if ((conn->interest & RT_WRITE) && (conn->write_room > 0 || conn->in_reset)) ready |= RT_WRITE;
    if (!ready) return false;
    conn->events->ready(conn->owner, ready);
    return true;
}

static struct rt_timer *next_timer(struct rt *rt)
{
    struct rt_timer *first = NULL;
    for (struct list *node = rt->timers.next; node != &rt->timers; node = node->next) {
        struct rt_timer *timer = CONTAINER_OF(node, struct armed, node)->timer;
        if (!first || belay_instant_before(timer->at, first->at)) first = timer;
    }
    return first;
}

static bool world_turn(struct world *world)
{
    struct rt *rt = &world->rt;
    bool busy = false;
    if (rt->listener && rt->listener->drained) {
        void (*drained)(void *) = rt->listener->drained;
        void *owner = rt->listener->owner;
        rt->listener->drained = NULL;
        rt->listener = NULL;
        drained(owner);
        busy = true;
    }
    for (struct list *node = rt->conns.next; node != &rt->conns; node = node->next) {
        busy |= conn_turn(CONTAINER_OF(node, struct rt_conn, node));
    }
    struct rt_timer *timer = next_timer(rt);
    if (timer && timer->at.ns <= rt->now.ns) {
        rt_timer_disarm(rt, timer);
        timer->fire(timer);
        busy = true;
    }
    if (rt->hooks) rt->hooks->run(rt->hooks);
    return busy;
}

void world_settle(struct world *world)
{
    int quiet = 0; /* a turn's end may leave something for the next turn */
    for (int turns = 0; quiet < 2; turns++) {
        quiet = world_turn(world) ? 0 : quiet + 1;
        assert_true(turns < 100000); /* else it spins */
    }
}

void world_pass(struct world *world, struct belay_span span)
{
    struct belay_instant end = belay_instant_add(world->rt.now, span);
    world_settle(world);
    for (;;) {
        struct rt_timer *timer = next_timer(&world->rt);
        if (!timer || belay_instant_before(end, timer->at)) break;
        world->rt.now = timer->at;
        world_settle(world);
    }
    world->rt.now = end;
    world_settle(world);
}

/* ---- clients ---- */

struct rt_conn *world_connect(struct world *world)
{
    struct rt_conn *conn = calloc(1, sizeof *conn);
    conn->rt = &world->rt;
    buf_init(&conn->in, SIZE_MAX / 2);
    buf_init(&conn->out, SIZE_MAX / 2);
    conn->interest = RT_READ;
    conn->read_max = conn->write_room = conn->write_max = SIZE_MAX;
    list_push_back(&world->rt.conns, &conn->node);
    world->rt.listener->events->accepted(world->rt.listener->owner, conn);
    return conn;
}

void client_send(struct rt_conn *conn, const char *bytes)
{
    assert_true(buf_add(&conn->in, bytes, strlen(bytes)));
}

struct rt_conn *world_request(struct world *world, const char *bytes)
{
    struct rt_conn *conn = world_connect(world);
    client_send(conn, bytes);
    world_settle(world);
    return conn;
}

const char *client_got(struct rt_conn *conn)
{
    static char text[64 * 1024];
    struct belay_slice out = buf_slice(&conn->out);
    assert_true(out.length < sizeof text);
    memcpy(text, out.data ? out.data : "", out.length);
    text[out.length] = 0;
    for (char *date; (date = strstr(text, "Date: "));) {
        char *end = strstr(date, "\r\n");
        if (!end) break;
        memmove(date, end + 2, strlen(end + 2) + 1);
    }
    return text;
}

/* ---- the handler ---- */

__attribute__((format(printf, 2, 3))) static void tell(struct world *world, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    assert_true(buf_add(&world->story, line, (size_t)length));
}

static void on_request(void *owner, struct server_exchange *exchange)
{
    struct world *world = owner;
    const struct http1_head *head = server_request_head(exchange);
    tell(world, "%.*s %.*s\n", (int)head->method_text.length, head->method_text.data,
         (int)head->target.length, head->target.data);
    world->exchange = exchange;
    world->body_length = 0;
    world->requests++;
    if (world->on_request) world->on_request(world);
    if (head->framing == HTTP1_NO_BODY && world->exchange == exchange && world->on_end)
        world->on_end(world);
}

static void on_body(void *owner, struct server_exchange *exchange, struct belay_slice piece,
                    bool end)
{
    struct world *world = owner;
    size_t room = sizeof world->body - world->body_length;
    size_t some = piece.length < room ? piece.length : room;
    memcpy(world->body + world->body_length, piece.data ? piece.data : "", some);
    world->body_length += some;
    assert_ptr_equal(world->exchange, exchange);
    if (end) tell(world, "body %.*s\n", (int)world->body_length, world->body);
    if (end && world->on_end) world->on_end(world);
}

static void on_writable(void *owner, struct server_exchange *exchange)
{
    struct world *world = owner;
    tell(world, "writable\n");
    assert_ptr_equal(world->exchange, exchange);
    if (world->on_writable) world->on_writable(world);
}

static void on_gone(void *owner, struct server_exchange *exchange, const struct http1_error *error)
{
    struct world *world = owner;
    tell(world, error ? "gone %d\n" : "gone\n", error ? error->status : 0);
    if (world->exchange == exchange) world->exchange = NULL;
}

static void on_half_closed(void *owner, struct server_exchange *exchange)
{
    struct world *world = owner;
    assert_ptr_equal(world->exchange, exchange);
    tell(world, "half closed\n");
}

static void on_bad_request(void *owner, const struct http1_error *error,
                           struct belay_instant began_at)
{
    assert_true(error->rule != NULL);
    tell(owner, "bad %d at %lldms\n", error->status, (long long)(began_at.ns / BELAY_NS_PER_MS));
}

void answer(struct world *world, int status, const char *body)
{
    struct server_exchange *exchange = world->exchange;
    world->exchange = NULL;
    server_answer_begin(exchange, status, belay_slice_z(http1_reason_phrase(status)));
    server_answer_start(exchange, HTTP1_LENGTH, strlen(body), true);
    assert_true(server_answer_body(exchange, belay_slice_z(body)));
    server_answer_end(exchange);
}

void answer_ok(struct world *world)
{
    answer(world, 200, "ok");
}

void answer_echo(struct world *world)
{
    char body[sizeof world->body + 1] = {0};
    memcpy(body, world->body, world->body_length);
    answer(world, 200, body);
}

const char *world_story(struct world *world)
{
    assert_true(buf_add(&world->story, "", 1));
    world->story.end--;
    return buf_slice(&world->story).data;
}

void world_start(struct world *world)
{
    static const struct server_handler handler = {on_request, on_body,        on_writable,
                                                  on_gone,    on_half_closed, on_bad_request};
    if (world->limits.connections_max == 0) {
        world->limits = (struct server_limits){
            .http1 = http1_limits_default(),
            .head_for = belay_span_ms(1000),
            .idle_for = belay_span_ms(4000),
            .silence_for = belay_span_ms(2000),
            .connections_max = 3,
            .backlog_bytes_max = 1000,
        };
    }
    list_init(&world->rt.timers);
    list_init(&world->rt.conns);
    buf_init(&world->story, SIZE_MAX / 2);
    world->server =
        server_create(&world->rt, &world->limits, world->handler ? world->handler : &handler,
                      world->handler ? world->owner : world);
    struct rt_addr any = {.family = 4, .ip = {127, 0, 0, 1}};
    const char *error = NULL;
    assert_true(server_listen(world->server, &any, &error));
}

void world_stop(struct world *world)
{
    if (world->server) server_destroy(world->server);
    while (!list_empty(&world->rt.conns)) {
        struct rt_conn *conn = CONTAINER_OF(world->rt.conns.next, struct rt_conn, node);
        assert_true(conn->closed); /* every connection was given back */
        list_remove(&conn->node);
        buf_deinit(&conn->in);
        buf_deinit(&conn->out);
        free(conn);
    }
    assert_true(list_empty(&world->rt.timers));
    assert_null(world->rt.hooks);
    buf_deinit(&world->story);
}
