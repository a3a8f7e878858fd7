/* conn.c: connections on loopback: bytes, ends, resets, interest and back-pressure, the peek, and
 * closing. */
#include "world.h"

static void bytes_go_both_ways(void **state)
{
    (void)state;
    struct world world;
    struct end *client, *server;
    world_init(&world);
    pair_create(&world, &client, &server);
    assert_int_equal(rt_conn_written(client->conn), 0);
    struct belay_slice pieces[] = {belay_slice_z("one "), belay_slice_z("two "),
                                   belay_slice_z("three")};
    struct rt_io io = rt_conn_write(client->conn, pieces, 3);
    assert_int_equal(io.kind, RT_IO_OK);
    assert_int_equal(io.count, 13);
    assert_int_equal(rt_conn_written(client->conn), 13);
    server->wanted = 13;
    world_run(&world, 1);
    assert_memory_equal(server->bytes, "one two three", 13);
    assert_int_equal(end_send(server, "back").count, 4);
    client->wanted = 4;
    world_run(&world, 1);
    assert_memory_equal(client->bytes, "back", 4);
    end_destroy(client);
    end_destroy(server);
    world_deinit(&world);
}

static void nobody_listens_is_refused(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct end *end = end_create(&world);
    const char *why;
    enum belay_error_class error;
    struct rt_addr addr = loopback(0);
    struct rt_listener *listener = rt_listen(world.rt, &addr, &ACCEPT_INTO_END, end, &why);
    rt_listener_addr(listener, &addr);
    rt_listener_close(listener);
    end->conn = rt_connect(world.rt, &addr, &END_EVENTS, end, &error);
    assert_non_null(end->conn);
    assert_false(end->has_error); /* never inside the call */
    world_run(&world, 1);
    assert_int_equal(end->error, BELAY_ERROR_REFUSED);
    assert_int_equal(end->ready_write, 0);
    end_destroy(end);
    world_deinit(&world);
}

/* A broadcast address makes connect() fail at once. */
static void a_connect_that_fails_at_once_is_told_later(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct end *end = end_create(&world);
    enum belay_error_class error;
    struct rt_addr addr = {.family = 4, .port = 9, .ip = {255, 255, 255, 255}};
    end->conn = rt_connect(world.rt, &addr, &END_EVENTS, end, &error);
    assert_non_null(end->conn);
    assert_false(end->has_error);
    world_run(&world, 1);
    assert_int_equal(end->error, BELAY_ERROR_REFUSED);
    end_destroy(end);
    world_deinit(&world);
}

static void a_reset_is_seen_in_read_and_write(void **state)
{
    (void)state;
    struct world world;
    struct end *client, *server;
    world_init(&world);
    pair_create(&world, &client, &server);
    rt_conn_close(server->conn, RT_CLOSE_ABORT);
    server->conn = NULL;
    world_run(&world, 1);
    assert_true(client->has_error);
    assert_int_equal(client->error, BELAY_ERROR_RESET);
    struct rt_io io = end_send(client, "x");
    assert_int_equal(io.kind, RT_IO_ERROR);
    assert_int_equal(io.error, BELAY_ERROR_RESET);
    assert_int_equal(rt_conn_written(client->conn), 0);
    end_destroy(client);
    end_destroy(server);
    world_deinit(&world);
}

static void half_closed_still_gives_the_answer(void **state)
{
    (void)state;
    struct world world;
    struct end *client, *server;
    world_init(&world);
    pair_create(&world, &client, &server);
    assert_int_equal(end_send(client, "ask").count, 3);
    rt_conn_shutdown_write(client->conn);
    world_run(&world, 1); /* the server saw the end */
    assert_true(server->ended);
    assert_int_equal(server->received, 3);
    assert_int_equal(end_send(server, "answer").count, 6);
    client->wanted = 6;
    world_run(&world, 1);
    assert_memory_equal(client->bytes, "answer", 6);
    end_destroy(client);
    end_destroy(server);
    world_deinit(&world);
}

static void the_peek_sees_an_end_a_reset_and_bytes(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct world world;
        struct end *client, *server;
        world_init(&world);
        pair_create(&world, &client, &server);
        assert_false(rt_conn_dead(client->conn));
        client->hands_off = true;
        if (kind == 0) rt_conn_shutdown_write(server->conn);
        if (kind == 1) assert_int_equal(end_send(server, "unasked").count, 7);
        if (kind == 2) {
            rt_conn_close(server->conn, RT_CLOSE_ABORT);
            server->conn = NULL;
        }
        assert_true(rt_conn_dead(client->conn)); /* loopback delivers within the call */
        end_destroy(client);
        end_destroy(server);
        world_deinit(&world);
    }
}

static void paused_reading_is_silent_and_signals_again(void **state)
{
    (void)state;
    struct world world;
    struct end *client, *server;
    world_init(&world);
    pair_create(&world, &client, &server);
    rt_conn_interest(server->conn, 0);
    assert_int_equal(end_send(client, "waiting").count, 7);
    world_run_ms(&world, 5);
    assert_int_equal(server->ready_read, 0);
    rt_conn_interest(server->conn, RT_READ);
    server->wanted = 7;
    world_run(&world, 1);
    assert_int_equal(server->received, 7);
    end_destroy(client);
    end_destroy(server);
    world_deinit(&world);
}

static void interest_turned_off_and_on_within_a_turn_changes_nothing(void **state)
{
    (void)state;
    struct world world;
    struct end *client, *server;
    world_init(&world);
    pair_create(&world, &client, &server);
    rt_conn_interest(server->conn, 0);
    rt_conn_interest(server->conn, RT_READ | RT_WRITE);
    rt_conn_interest(server->conn, RT_READ);
    assert_int_equal(end_send(client, "x").count, 1);
    server->wanted = 1;
    world_run(&world, 1);
    assert_int_equal(server->ready_write, 0);
    end_destroy(client);
    end_destroy(server);
    world_deinit(&world);
}

static void count_and_refill(struct end *end, unsigned ready)
{
    (void)ready;
    rt_conn_interest(end->conn, 0);
    world_told(end->world);
}

static void a_full_peer_says_again_and_signals_when_it_has_room(void **state)
{
    (void)state;
    static char block[1 << 16];
    struct world world;
    struct end *client, *server;
    world_init(&world);
    pair_create(&world, &client, &server);
    rt_conn_interest(server->conn, 0);
    struct belay_slice piece = belay_slice(block, sizeof(block));
    struct rt_io io;
    uint64_t total = 0;
    while ((io = rt_conn_write(client->conn, &piece, 1)).kind == RT_IO_OK) total += io.count;
    assert_int_equal(io.kind, RT_IO_AGAIN);
    assert_true(rt_conn_written(client->conn) == total);
    client->ready_write = 0;
    client->on_ready = count_and_refill;
    rt_conn_interest(client->conn, RT_WRITE);
    world_run_ms(&world, 5);
    assert_int_equal(client->ready_write, 0);
    uint64_t taken = 0;
    while ((io = rt_conn_read(server->conn, block, sizeof(block))).kind == RT_IO_OK)
        taken += io.count;
    world_run(&world, 1);
    assert_int_equal(client->ready_write, 1);
    assert_true(taken > 0 && taken <= total);
    end_destroy(client);
    end_destroy(server);
    world_deinit(&world);
}

/* The peer's unread input must not turn our close into a reset that destroys the answer. */
static void a_graceful_close_with_unread_input_delivers_the_answer(void **state)
{
    (void)state;
    struct world world;
    struct end *client, *server;
    world_init(&world);
    pair_create(&world, &client, &server);
    rt_conn_interest(server->conn, 0);
    static char upload[100000];
    struct belay_slice piece = belay_slice(upload, sizeof(upload));
    (void)rt_conn_write(client->conn, &piece, 1);
    assert_int_equal(end_send(server, "413 too large").count, 13);
    rt_conn_close(server->conn, RT_CLOSE_GRACEFUL);
    server->conn = NULL;
    (void)rt_conn_write(client->conn, &piece, 1); /* more comes after the close */
    world_run(&world, 1);
    assert_true(client->ended);
    assert_false(client->has_error);
    assert_memory_equal(client->bytes, "413 too large", 13);
    end_destroy(client);
    end_destroy(server);
    world_deinit(&world);
}

static void a_lingering_peer_that_never_ends_is_let_go(void **state)
{
    (void)state;
    struct world world;
    struct end *client, *server;
    world_init(&world);
    pair_create(&world, &client, &server);
    assert_int_equal(end_send(server, "bye").count, 3);
    rt_conn_close(server->conn, RT_CLOSE_GRACEFUL);
    server->conn = NULL;
    world_run(&world, 1); /* the client's end of reading; it never closes */
    assert_true(client->ended);
    world_run_ms(&world, 2100);
    struct rt_io io = end_send(client, "x");
    assert_int_equal(io.kind, RT_IO_OK); /* answered by a reset: the socket is gone */
    io = end_send(client, "y");
    assert_int_equal(io.kind, RT_IO_ERROR);
    end_destroy(client);
    end_destroy(server);
    world_deinit(&world);
}

static struct end *both[2];

static void close_both(struct end *end, unsigned ready)
{
    (void)ready;
    for (int i = 0; i < 2; i++) {
        rt_conn_close(both[i]->conn, RT_CLOSE_ABORT);
        both[i]->conn = NULL;
    }
    world_told(end->world);
}

/* Both ends become readable in one turn; the first callback closes both. */
static void nothing_comes_after_close(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    pair_create(&world, &both[0], &both[1]);
    assert_int_equal(end_send(both[0], "a").count, 1);
    assert_int_equal(end_send(both[1], "b").count, 1);
    both[0]->on_ready = both[1]->on_ready = close_both;
    world_run(&world, 1);
    world_run_ms(&world, 2);
    assert_int_equal(both[0]->ready_read + both[1]->ready_read, 1);
    end_destroy(both[0]);
    end_destroy(both[1]);
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_both_ways),
        cmocka_unit_test(nobody_listens_is_refused),
        cmocka_unit_test(a_connect_that_fails_at_once_is_told_later),
        cmocka_unit_test(a_reset_is_seen_in_read_and_write),
        cmocka_unit_test(half_closed_still_gives_the_answer),
        cmocka_unit_test(the_peek_sees_an_end_a_reset_and_bytes),
        cmocka_unit_test(paused_reading_is_silent_and_signals_again),
        cmocka_unit_test(interest_turned_off_and_on_within_a_turn_changes_nothing),
        cmocka_unit_test(a_full_peer_says_again_and_signals_when_it_has_room),
        cmocka_unit_test(a_graceful_close_with_unread_input_delivers_the_answer),
        cmocka_unit_test(a_lingering_peer_that_never_ends_is_let_go),
        cmocka_unit_test(nothing_comes_after_close),
    };
    return cmocka_run_group_tests_name("conn", tests, NULL, NULL);
}
