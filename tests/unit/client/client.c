/* client.c: the pool of connections: what is reused, and what is given up. */
#include "caller.h"

#include "client/conn.h"

/* ---- reuse ---- */

static void a_connection_is_reused(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    for (int i = 0; i < 5; i++) {
        struct caller *caller = call(&scene);
        assert_answered(caller, 200, "ok");
        assert_int_equal(caller->call.reused, i > 0);
    }
    assert_int_equal(scene.peer.accepted, 1);
    assert_int_equal(scene.peer.requests, 5);
    assert_int_equal(stats(&scene).reuses, 4);
    scene_deinit(&scene);
}

static void the_latest_used_goes_first_and_few_are_kept(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    for (int i = 0; i < 5; i++) start(&scene);
    pass(&scene, 10);
    assert_int_equal(scene.peer.accepted, 5);
    assert_int_equal(stats(&scene).idle, 3); /* idle_max */
    assert_int_equal(stats(&scene).open, 3);
    for (int i = 0; i < 3;
         i++) { /* one is enough for calls one after the other: the others grow old */
        pass(&scene, 1500);
        assert_answered(call(&scene), 200, "ok");
    }
    assert_int_equal(stats(&scene).idle, 1);
    pass(&scene, 4001);
    assert_int_equal(stats(&scene).idle, 0);
    assert_int_equal(peer_open(&scene.peer), 0);
    scene_deinit(&scene);
}

static void a_fresh_one_is_made_when_asked_for(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    call(&scene);
    scene.options.fresh = true;
    assert_false(call(&scene)->call.reused);
    assert_int_equal(scene.peer.accepted, 2);
    scene_deinit(&scene);
}

static void what_ends_a_connection(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *body;
        enum belay_method method;
        enum peer_then then;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", "ok",
         BELAY_METHOD_GET, PEER_KEEP},
        {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", BELAY_METHOD_GET, PEER_KEEP},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokEVIL", "ok", BELAY_METHOD_GET, PEER_KEEP},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: "
         "chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
         "ok", BELAY_METHOD_GET, PEER_KEEP},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "", BELAY_METHOD_HEAD, PEER_KEEP},
        {"HTTP/1.1 204 No Content\r\n\r\nbody", "", BELAY_METHOD_GET, PEER_KEEP},
        {"HTTP/1.1 200 OK\r\n\r\nup to the close", "up to the close", BELAY_METHOD_GET, PEER_CLOSE},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 "
         "OK\r\n\r\n",
         "ok", BELAY_METHOD_GET, PEER_KEEP},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene scene;
        scene_init(&scene);
        struct peer_reply reply = {.bytes = rows[i].bytes, .then = rows[i].then};
        scene.peer.script = &reply;
        scene.options.method = rows[i].method;
        assert_answered(call(&scene), 200 + (i == 5 ? 4 : 0), rows[i].body);
        assert_int_equal(stats(&scene).idle, 0);
        assert_int_equal(stats(&scene).open, 0);
        scene_deinit(&scene);
    }
}

static void unsolicited_bytes_end_an_idle_connection(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    call(&scene);
    peer_blurt(&scene.peer, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL");
    pass(&scene, 1);
    assert_int_equal(stats(&scene).idle, 0);
    assert_answered(call(&scene), 200, "ok");
    scene_deinit(&scene);
}

static void dropping_the_idle(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    start(&scene);
    start(&scene);
    pass(&scene, 10);
    client_drop_idle(scene.client);
    assert_int_equal(stats(&scene).idle, 0);
    pass(&scene, 1);
    assert_int_equal(peer_open(&scene.peer), 0);
    scene_deinit(&scene);
}

/* ---- connections that were dead already (semantics 5a) ---- */

/* The other side is gone, and the loop has not told it yet. */
static void kill_idle(struct scene *scene, enum peer_then how)
{
    struct client_conn *idle = CONTAINER_OF(scene->client->idle.next, struct client_conn, node);
    rt_conn_interest(idle->rt_conn, 0);
    pass(scene, 1);
    peer_cut_all(&scene->peer, how);
    pass(scene, 1);
    assert_int_equal(stats(scene).idle, 1);
}

static void a_dead_one_is_found_by_the_peek(void **state)
{
    (void)state;
    for (enum peer_then how = PEER_CLOSE; how <= PEER_RESET; how++) {
        struct scene scene;
        scene_init(&scene);
        call(&scene);
        kill_idle(&scene, how);
        scene.options.probe_first = true;
        struct caller *caller = call(&scene);
        assert_answered(caller, 200, "ok");
        assert_false(caller->call.reused);
        assert_int_equal(scene.peer.requests, 2);
        scene_deinit(&scene);
    }
}

static void one_that_takes_no_byte_is_no_attempt(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    call(&scene);
    kill_idle(&scene, PEER_RESET); /* the write itself fails */
    struct caller *caller = call(&scene);
    assert_answered(caller, 200, "ok");
    assert_false(caller->call.reused);
    assert_int_equal(stats(&scene).stale, 0);
    scene_deinit(&scene);
}

static void a_request_that_took_the_bytes_and_lost_them_is_stale(void **state)
{
    (void)state;
    static const struct peer_reply script[] = {
        {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
        {.bytes = KEEP_SILENT, .then = PEER_CLOSE},
        {.bytes = KEEP_SILENT, .then = PEER_RESET},
        {.bytes = "H", .then = PEER_RESET, .then_ms = 1}};
    for (size_t i = 1; i < 4; i++) {
        struct scene scene;
        scene_init(&scene);
        struct peer_reply two[] = {script[0], script[i]};
        scene.peer.script = two;
        scene.peer.script_count = 2;
        call(&scene);
        struct caller *caller = call(&scene);
        assert_failed(caller, i == 1 ? BELAY_ERROR_CLOSED : BELAY_ERROR_RESET, BELAY_PHASE_HEADERS);
        assert_true(caller->failure.bytes_accepted);
        assert_int_equal(caller->failure.stale, i < 3); /* one byte of an answer: it was alive */
        assert_int_equal(stats(&scene).stale, i < 3);
        scene.options.fresh = true;
        assert_false(call(&scene)->failure.stale); /* a fresh connection is never stale */
        scene_deinit(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_is_reused),
        cmocka_unit_test(the_latest_used_goes_first_and_few_are_kept),
        cmocka_unit_test(a_fresh_one_is_made_when_asked_for),
        cmocka_unit_test(what_ends_a_connection),
        cmocka_unit_test(unsolicited_bytes_end_an_idle_connection),
        cmocka_unit_test(dropping_the_idle),
        cmocka_unit_test(a_dead_one_is_found_by_the_peek),
        cmocka_unit_test(one_that_takes_no_byte_is_no_attempt),
        cmocka_unit_test(a_request_that_took_the_bytes_and_lost_them_is_stale),
    };
    return cmocka_run_group_tests_name("client/client", tests, NULL, NULL);
}
