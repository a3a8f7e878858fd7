/* test_world.c: the simulated world keeps rt.h's promises, and does to connections what its links
 * say. */
#include "test.h"

#include "base/check.h"
#include "world.h"

#include <stdio.h>
#include <string.h>

struct end {
    struct rt *rt;
    struct rt_conn *conn;
    char bytes[4096];
    size_t received;
    int reads, connected, failed, ended;
    enum belay_error_class error;
    int64_t at_ms; /* of the last thing it was told */
    bool hands_off;
};

static int64_t ms_since_start(struct rt *rt)
{
    return (rt_now(rt).ns - SIM_START_NS) / BELAY_NS_PER_MS;
}

static void on_ready(void *owner, unsigned ready)
{
    struct end *end = owner;
    end->at_ms = ms_since_start(end->rt);
    if (ready & RT_WRITE) {
        end->connected++;
        rt_conn_interest(end->conn, RT_READ);
    }
    if (!(ready & RT_READ) || end->hands_off) return;
    end->reads++;
    struct rt_io io =
        rt_conn_read(end->conn, end->bytes + end->received, sizeof(end->bytes) - end->received);
    if (io.kind == RT_IO_OK) end->received += io.count;
    if (io.kind != RT_IO_END && io.kind != RT_IO_ERROR) return;
    end->ended = io.kind == RT_IO_END;
    end->error = io.error;
    rt_conn_interest(end->conn, 0);
}

static void on_failed(void *owner, enum belay_error_class error)
{
    struct end *end = owner;
    end->at_ms = ms_since_start(end->rt);
    end->failed++;
    end->error = error;
}

static const struct rt_conn_events EVENTS = {on_ready, on_failed};

static void on_accepted(void *owner, struct rt_conn *conn)
{
    struct end *end = owner;
    end->conn = conn;
    rt_conn_own(conn, &EVENTS, end);
}

static const struct rt_listener_events ACCEPT = {on_accepted};

struct scene {
    struct rt *rt;
    struct rt_listener *listener;
    struct rt_addr addr;
    struct end client, server;
};

static void scene_init(struct scene *scene, const struct sim_link *link, uint64_t seed)
{
    *scene = (struct scene){.rt = rt_create(seed),
                            .addr = {.family = 4, .port = 9000, .ip = {127, 0, 0, 1}}};
    const char *why;
    enum belay_error_class error;
    scene->client.rt = scene->server.rt = scene->rt;
    sim_link_set(scene->rt, &scene->addr, link);
    scene->listener = rt_listen(scene->rt, &scene->addr, &ACCEPT, &scene->server, &why);
    assert_non_null(scene->listener);
    scene->client.conn = rt_connect(scene->rt, &scene->addr, &EVENTS, &scene->client, &error);
}

static void scene_deinit(struct scene *scene)
{
    if (scene->client.conn) rt_conn_close(scene->client.conn, RT_CLOSE_ABORT);
    if (scene->server.conn) rt_conn_close(scene->server.conn, RT_CLOSE_ABORT);
    if (scene->listener) rt_listener_close(scene->listener);
    assert_true(sim_run_until(scene->rt, belay_instant_never()));
    struct sim_open open;
    sim_open(scene->rt, &open);
    assert_int_equal(open.conns + open.listeners + open.resolves + open.timers + open.hooks, 0);
    rt_destroy(scene->rt);
}

static struct rt_io say(struct end *end, const char *text)
{
    struct belay_slice piece = belay_slice_z(text);
    return rt_conn_write(end->conn, &piece, 1);
}

static void settle(struct scene *scene)
{
    assert_true(sim_run_until(scene->rt, belay_instant_never()));
}

static void a_perfect_link_takes_no_time(void **state)
{
    (void)state;
    struct scene scene;
    struct sim_link link = sim_link_perfect();
    scene_init(&scene, &link, 1);
    assert_int_equal(scene.client.connected, 0); /* never inside the call */
    settle(&scene);
    assert_int_equal(scene.client.connected, 1);
    assert_int_equal(say(&scene.client, "hello").count, 5);
    assert_int_equal(scene.server.received, 0);
    settle(&scene);
    assert_memory_equal(scene.server.bytes, "hello", 5);
    assert_int_equal(scene.server.at_ms, 0);
    assert_int_equal(rt_conn_written(scene.client.conn), 5);
    scene_deinit(&scene);
}

static void latency_counts_for_each_way(void **state)
{
    (void)state;
    struct scene scene;
    struct sim_link link = sim_link_perfect();
    link.latency_min = link.latency_max = belay_span_ms(10);
    scene_init(&scene, &link, 1);
    settle(&scene);
    assert_int_equal(scene.client.at_ms, 20);
    assert_int_equal(say(&scene.client, "x").count, 1);
    settle(&scene);
    assert_int_equal(scene.server.at_ms, 30);
    rt_conn_close(scene.server.conn, RT_CLOSE_GRACEFUL);
    scene.server.conn = NULL;
    settle(&scene);
    assert_int_equal(scene.client.at_ms, 40);
    assert_int_equal(scene.client.ended, 1);
    scene_deinit(&scene);
}

static void connects_are_refused_lost_or_late(void **state)
{
    (void)state;
    struct scene scene;
    struct sim_link link = sim_link_perfect();
    link.refused = 1000;
    scene_init(&scene, &link, 1);
    settle(&scene);
    assert_int_equal(scene.client.failed, 1);
    assert_int_equal(scene.client.error, BELAY_ERROR_REFUSED);
    scene_deinit(&scene);

    link.refused = 0;
    link.lost = 1000;
    scene_init(&scene, &link, 1);
    settle(&scene);
    assert_int_equal(scene.client.failed + scene.client.connected, 0);
    scene_deinit(&scene);

    link.lost = 0;
    link.late = 1000;
    link.late_for = belay_span_ms(700);
    scene_init(&scene, &link, 1);
    settle(&scene);
    assert_int_equal(scene.client.at_ms, 700);
    scene_deinit(&scene);
}

static void nobody_listening_refuses(void **state)
{
    (void)state;
    struct rt *rt = rt_create(1);
    struct end end = {.rt = rt};
    enum belay_error_class error;
    struct rt_addr addr = {.family = 4, .port = 1};
    end.conn = rt_connect(rt, &addr, &EVENTS, &end, &error);
    assert_true(sim_run_until(rt, belay_instant_never()));
    assert_int_equal(end.error, BELAY_ERROR_REFUSED);
    rt_conn_close(end.conn, RT_CLOSE_ABORT);
    rt_destroy(rt);
}

static void a_reset_comes_and_ends_both_ways(void **state)
{
    (void)state;
    struct scene scene;
    struct sim_link link = sim_link_perfect();
    scene_init(&scene, &link, 1);
    settle(&scene);
    rt_conn_close(scene.server.conn, RT_CLOSE_ABORT);
    scene.server.conn = NULL;
    assert_false(rt_conn_dead(scene.client.conn));
    settle(&scene);
    assert_true(rt_conn_dead(scene.client.conn));
    assert_int_equal(scene.client.error, BELAY_ERROR_RESET);
    assert_int_equal(say(&scene.client, "x").kind, RT_IO_ERROR);
    assert_int_equal(rt_conn_written(scene.client.conn), 0);
    scene_deinit(&scene);
}

static void a_full_window_pushes_back(void **state)
{
    (void)state;
    struct scene scene;
    struct sim_link link = sim_link_perfect();
    link.window_bytes = 8;
    scene_init(&scene, &link, 1);
    settle(&scene);
    scene.server.hands_off = true;
    rt_conn_interest(scene.server.conn, 0);
    assert_int_equal(say(&scene.client, "twelve bytes").count, 8);
    assert_int_equal(say(&scene.client, "bytes").kind, RT_IO_AGAIN);
    settle(&scene);
    scene.client.connected = 0;
    rt_conn_interest(scene.client.conn, RT_WRITE);
    settle(&scene);
    assert_int_equal(scene.client.connected, 0);
    scene.server.hands_off = false;
    rt_conn_interest(scene.server.conn, RT_READ);
    settle(&scene);
    assert_int_equal(scene.client.connected, 1); /* told of the room */
    assert_memory_equal(scene.server.bytes, "twelve b", 8);
    scene_deinit(&scene);
}

static void short_reads_and_writes_lose_nothing(void **state)
{
    (void)state;
    struct sim_link link = sim_link_perfect();
    link.short_read = link.short_write = 900;
    link.spurious = 300;
    link.latency_max = belay_span_ms(5);
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct scene scene;
        scene_init(&scene, &link, seed);
        settle(&scene);
        char text[2000];
        for (size_t i = 0; i < sizeof(text); i++) text[i] = (char)('a' + i % 26);
        size_t sent = 0;
        while (sent < sizeof(text)) {
            struct belay_slice piece = belay_slice(text + sent, sizeof(text) - sent);
            struct rt_io io = rt_conn_write(scene.client.conn, &piece, 1);
            assert_int_equal(io.kind, RT_IO_OK);
            sent += io.count;
        }
        rt_conn_shutdown_write(scene.client.conn);
        settle(&scene);
        if (scene.server.received != sizeof(text)) fail_msg("seed %llu", (unsigned long long)seed);
        assert_memory_equal(scene.server.bytes, text, sizeof(text));
        assert_int_equal(scene.server.ended, 1);
        scene_deinit(&scene);
    }
}

static void connections_break_between_two_calls(void **state)
{
    (void)state;
    struct sim_link link = sim_link_perfect();
    link.reset = 500;
    int broken = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct scene scene;
        scene_init(&scene, &link, seed);
        settle(&scene);
        struct rt_io io = say(&scene.client, "x");
        settle(&scene);
        if (io.kind == RT_IO_ERROR) {
            broken++;
            assert_int_equal(rt_conn_written(scene.client.conn), 0);
            assert_int_equal(scene.server.error, BELAY_ERROR_RESET);
        }
        scene_deinit(&scene);
    }
    assert_in_range(broken, 30, 70);
}

static void on_drained(void *owner)
{
    struct scene *scene = owner;
    rt_listener_close(scene->listener);
    scene->listener = NULL;
}

static void a_drained_listener_takes_what_came_before(void **state)
{
    (void)state;
    struct scene scene;
    struct sim_link link = sim_link_perfect();
    scene_init(&scene, &link, 1);
    settle(&scene);
    struct end late = {.rt = scene.rt};
    enum belay_error_class error;
    rt_listener_close(scene.listener);
    const char *why;
    scene.listener = rt_listen(scene.rt, &scene.addr, &ACCEPT, &scene, &why);
    rt_listener_drain(scene.listener, on_drained);
    late.conn = rt_connect(scene.rt, &scene.addr, &EVENTS, &late, &error);
    settle(&scene);
    assert_int_equal(late.failed, 1); /* sent again after a second, to nobody */
    assert_int_equal(late.at_ms, 1000);
    rt_conn_close(late.conn, RT_CLOSE_ABORT);
    scene_deinit(&scene);
}

struct looked_up {
    int count;
    struct rt_resolved result;
};

static void on_resolved(void *owner, const struct rt_resolved *result)
{
    struct looked_up *looked_up = owner;
    looked_up->count++;
    looked_up->result = *result;
}

static void names_come_from_the_table(void **state)
{
    (void)state;
    struct rt *rt = rt_create(1);
    struct sim_name name = {.host = "orders.test", .takes = belay_span_ms(30)};
    name.result.count = 1;
    name.result.addrs[0] = (struct rt_addr){.family = 4, .ip = {127, 0, 0, 7}};
    sim_name_set(rt, &name);
    struct looked_up known = {0}, unknown = {0}, literal = {0}, cancelled = {0};
    assert_non_null(rt_resolve(rt, belay_slice_z("orders.test"), 80, on_resolved, &known));
    assert_non_null(rt_resolve(rt, belay_slice_z("nowhere.test"), 80, on_resolved, &unknown));
    assert_non_null(rt_resolve(rt, belay_slice_z("127.0.0.1"), 80, on_resolved, &literal));
    rt_resolve_cancel(rt_resolve(rt, belay_slice_z("orders.test"), 80, on_resolved, &cancelled));
    assert_int_equal(literal.count, 0);
    assert_true(sim_run_until(rt, belay_instant_never()));
    assert_int_equal(known.result.addrs[0].ip[3], 7);
    assert_int_equal(known.result.addrs[0].port, 80);
    assert_int_equal(unknown.result.error, BELAY_ERROR_DNS);
    assert_int_equal(literal.result.count, 1);
    assert_int_equal(cancelled.count, 0);
    assert_int_equal(ms_since_start(rt), 30);
    rt_destroy(rt);
}

struct posted {
    struct rt_post post;
    struct rt *rt;
    int runs;
};

static void on_post(struct rt_post *post)
{
    struct posted *posted = CONTAINER_OF(post, struct posted, post);
    if (++posted->runs < 3) rt_post(posted->rt, post);
}

static void posts_run_from_the_loop(void **state)
{
    (void)state;
    struct rt *rt = rt_create(1);
    struct posted posted = {.post.run = on_post, .rt = rt};
    rt_post(rt, &posted.post);
    assert_int_equal(posted.runs, 0);
    assert_true(sim_run_until(rt, belay_instant_never()));
    assert_int_equal(posted.runs, 3);
    rt_destroy(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_perfect_link_takes_no_time),
        cmocka_unit_test(latency_counts_for_each_way),
        cmocka_unit_test(connects_are_refused_lost_or_late),
        cmocka_unit_test(nobody_listening_refuses),
        cmocka_unit_test(a_reset_comes_and_ends_both_ways),
        cmocka_unit_test(a_full_window_pushes_back),
        cmocka_unit_test(short_reads_and_writes_lose_nothing),
        cmocka_unit_test(connections_break_between_two_calls),
        cmocka_unit_test(a_drained_listener_takes_what_came_before),
        cmocka_unit_test(names_come_from_the_table),
        cmocka_unit_test(posts_run_from_the_loop),
    };
    return cmocka_run_group_tests_name("world", tests, NULL, NULL);
}
