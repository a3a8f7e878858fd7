/* server.c: connections are counted and bounded, and a drain loses nothing that was accepted. */
#include "world.h"

#include "test.h"

#include "server/conn.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define CLOSING "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"

static void on_drained(void *owner)
{
    struct world *world = owner;
    world->drained = true;
}

static void on_drained_destroy(void *owner)
{
    struct world *world = owner;
    world->drained = true;
    server_destroy(world->server);
    world->server = NULL;
}

static void an_address_that_cannot_be_had_is_told(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    static const struct server_handler none = {0};
    struct rt rt = {0};
    struct server *server = server_create(&rt, &world.limits, &none, NULL);
    struct rt_addr addr = {.family = 4, .port = 1};
    const char *error = NULL;
    assert_false(server_listen(server, &addr, &error));
    assert_string_equal(error, "permission denied");
    server_destroy(server);
    server_addr(world.server, &addr);
    assert_int_equal(addr.port, 8080);
    world_stop(&world);
}

static void connections_are_bounded(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    for (int i = 0; i < 3; i++) (void)world_connect(&world);
    struct rt_conn *conn = world_connect(&world);
    assert_memory_equal(client_got(conn), "HTTP/1.1 503 ", 13);
    assert_true(conn->closed);
    struct server_stats stats;
    server_stats(world.server, &stats);
    assert_int_equal(stats.refused_full, 1);
    assert_int_equal(stats.connections, 3);
    assert_int_equal(stats.accepted, 3);
    world_stop(&world);
}

static void connections_are_bounded_over_all_servers_that_share_the_count(void **state)
{
    (void)state;
    atomic_uint open = 2; /* another server's */
    struct world world = {.on_request = answer_ok};
    world_start(&world);
    struct server_limits limits = world.limits;
    world_stop(&world);
    struct world sharing = {.on_request = answer_ok, .limits = limits};
    sharing.limits.connections_open = &open;
    world_start(&sharing);
    struct rt_conn *first = world_connect(&sharing), *second = world_connect(&sharing);
    assert_false(first->closed);
    assert_memory_equal(client_got(second), "HTTP/1.1 503 ", 13);
    assert_int_equal(atomic_load(&open), 3);
    client_send(first, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    world_settle(&sharing);
    assert_true(first->closed);
    assert_int_equal(atomic_load(&open), 2);
    assert_false(world_connect(&sharing)->closed);
    world_stop(&sharing);
    assert_int_equal(atomic_load(&open), 2);
}

static void new_limits_count_from_the_next_clock_on(void **state)
{
    (void)state;
    struct world world = {.on_request = answer_ok};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, GET("/1"));
    struct server_limits limits = world.limits;
    limits.idle_for = belay_span_ms(100);
    server_set_limits(world.server, &limits);
    world_pass(&world, belay_span_ms(200));
    assert_false(conn->closed);
    client_send(conn, GET("/2"));
    world_settle(&world);
    world_pass(&world, belay_span_ms(100));
    assert_true(conn->closed);
    world_stop(&world);
}

static void an_idle_connection_is_small(void **state)
{
    (void)state;
    assert_true(sizeof(struct conn) <= 256);
    struct world world = {.on_request = answer_ok};
    world_start(&world);
    struct rt_conn *first = world_request(&world, GET("/1"));
    struct rt_conn *second = world_request(&world, GET("/2"));
    assert_null(((struct conn *)first->owner)->exchange);
    assert_null(((struct conn *)second->owner)->exchange);
    assert_int_equal(world.server->spare_count, 1); /* one buffer served both */
    world_stop(&world);
}

static void a_drain_serves_what_was_accepted(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *busy = world_request(&world, GET("/busy"));
    struct server_exchange *slow = world.exchange;
    struct rt_conn *idle = world_connect(&world);
    server_announce_drain(world.server);
    server_drain(world.server, belay_span_ms(100), on_drained);
    struct rt_conn *late = world_connect(&world); /* was in the kernel's queue */
    world_settle(&world);
    world.on_request = answer_ok;
    client_send(idle, GET("/last"));
    client_send(late, GET("/late"));
    world_settle(&world);
    assert_string_equal(client_got(idle), CLOSING);
    assert_string_equal(client_got(late), CLOSING);
    assert_false(world.drained);
    world.exchange = slow;
    answer_ok(&world);
    world_settle(&world);
    assert_string_equal(client_got(busy), CLOSING);
    assert_true(world.drained);
    world_stop(&world);
}

static void a_drain_closes_idle_connections_in_time(void **state)
{
    (void)state;
    struct world world = {.on_request = answer_ok};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, GET("/1"));
    server_drain(world.server, belay_span_ms(100), on_drained_destroy);
    world_pass(&world, belay_span_ms(99));
    assert_false(conn->closed);
    world_pass(&world, belay_span_ms(1));
    assert_true(conn->closed);
    assert_true(world.drained);
    world_stop(&world);
}

static void an_answer_begun_before_the_drain_keeps_its_promise(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, GET("/1"));
    server_answer_begin(world.exchange, 200, belay_slice_z("OK"));
    server_answer_start(world.exchange, HTTP1_LENGTH, 2, true);
    server_drain(world.server, belay_span_ms(100), on_drained);
    assert_true(server_answer_body(world.exchange, belay_slice_z("ok")));
    server_answer_end(world.exchange);
    world_settle(&world);
    assert_false(conn->closed); /* it said nothing of closing: one more request is answered */
    world.on_request = answer_ok;
    client_send(conn, GET("/2"));
    world_settle(&world);
    assert_non_null(strstr(client_got(conn), CLOSING));
    world_stop(&world);
}

static void a_server_that_never_listened_drains(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    static const struct server_handler none = {0};
    struct rt rt = {0};
    struct server *server = server_create(&rt, &world.limits, &none, &world);
    server_drain(server, belay_span_ms(1), on_drained);
    rt.hooks->run(rt.hooks);
    assert_true(world.drained);
    server_destroy(server);
    world_stop(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_that_cannot_be_had_is_told),
        cmocka_unit_test(connections_are_bounded),
        cmocka_unit_test(connections_are_bounded_over_all_servers_that_share_the_count),
        cmocka_unit_test(new_limits_count_from_the_next_clock_on),
        cmocka_unit_test(an_idle_connection_is_small),
        cmocka_unit_test(a_drain_serves_what_was_accepted),
        cmocka_unit_test(a_drain_closes_idle_connections_in_time),
        cmocka_unit_test(an_answer_begun_before_the_drain_keeps_its_promise),
        cmocka_unit_test(a_server_that_never_listened_drains),
    };
    return cmocka_run_group_tests_name("server", tests, NULL, NULL);
}
