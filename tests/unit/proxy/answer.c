/* answer.c: answers that are held, streamed or cut, and how they are framed. */
#include "scene.h"

#include <string.h>

static void a_held_answer_that_is_too_large_leaves_its_status(void **state)
{
    (void)state;
    static char large[40000];
    struct scene scene;
    scene_init(&scene, "attempts: 2, bulkhead: { max: 1 }", NULL);
    memset(large, 'x', sizeof large - 1);
    memcpy(large, "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n9000\r\n", 53);
    PEER_SAYS(&scene.peer, {.bytes = large}, {.bytes = OK("ok", 2), .after_ms = 1000});
    struct scene_client *first = scene_connect(&scene), *second = scene_connect(&scene);
    scene_send(first, GET("/1"));
    scene_pass(&scene, 50); /* it waits for its retry, and somebody else takes the slot */
    scene_send(second, GET("/2"));
    scene_pass(&scene, 60000);
    assert_problem(first, 503, "answer-not-kept", "proxy_internal_response");
    assert_non_null(strstr(scene_story(&scene), "= bulkhead_full answer 503 attempts 1\n"));
    scene_deinit(&scene);
}

static void a_held_answer_still_on_its_way_is_streamed_when_given(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "deadline: 800ms, attempts: 2, bulkhead: { max: 1 }", NULL);
    PEER_SAYS(&scene.peer,
              {.bytes = "HTTP/1.1 503 No\r\nContent-Length: 7\r\n\r\nslowly!", .drip_ms = 4},
              {.bytes = OK("ok", 2), .after_ms = 2000});
    struct scene_client *first = scene_connect(&scene), *second = scene_connect(&scene);
    scene_send(first, GET("/1"));
    scene_pass(&scene, 170); /* its head has come; the slot is free while it waits for its retry */
    scene_send(second, GET("/2"));
    scene_pass(&scene, 60000);
    assert_got(first, "HTTP/1.1 503 No\r\nContent-Length: 7\r\n\r\nslowly!");
    assert_non_null(strstr(scene_story(&scene), "= bulkhead_full answer 503 attempts 1\n"));
    scene_deinit(&scene);
}

static void a_dripping_body_is_cut_at_the_deadline(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    PEER_SAYS(&scene.peer, {.bytes = OK("abcdefghijklmnopqrst", 20), .drip_ms = 40});
    struct scene_client *client = scene_ask(&scene, GET("/"));
    assert_true(client->broken);
    assert_int_equal(client->over_at_ms, 2000);
    assert_story(&scene, "1 timeout/body stop answer_started\n= stop answer 200 attempts 1\n");
    assert_int_equal(scene_stats(&scene).cut, 1);
    assert_int_equal(peer_open(&scene.peer), 0);
    scene_deinit(&scene);
}

static void a_slow_reader_is_the_clients_fault(void **state)
{
    (void)state;
    static char large[600000];
    struct scene scene;
    scene_init(&scene, "silence_timeout: 1s", NULL);
    memset(large, 'x', sizeof large - 1);
    memcpy(large, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", 44);
    PEER_SAYS(&scene.peer, {.bytes = large});
    struct scene_client *client = scene_connect(&scene);
    client->deaf = true;
    scene_send(client, GET("/"));
    scene_pass(&scene, 60000);
    assert_story(&scene, "1 cancelled/body stop answer_started\n= stop answer 200 attempts 1\n");
    scene_deinit(&scene);
}

/* Sooner than the server's own clock for readers who take nothing. */
static void a_slow_reader_at_the_deadline_is_the_clients_fault_too(void **state)
{
    (void)state;
    static char large[600000];
    struct scene scene;
    scene_init(&scene, "deadline: 300ms, breaker: { consecutive: 1 }", NULL);
    memset(large, 'x', sizeof large - 1);
    memcpy(large, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", 44);
    PEER_SAYS(&scene.peer, {.bytes = large}, {.bytes = OK("ok", 2)});
    struct scene_client *client = scene_connect(&scene);
    client->deaf = true;
    scene_send(client, GET("/"));
    scene_pass(&scene, 1000);
    assert_story(&scene, "1 cancelled/body stop answer_started\n= stop answer 200 attempts 1\n");
    assert_string_equal(scene_value(&scene, 0, "elapsedMs"), "300");
    assert_got(scene_ask(&scene, GET("/")), OK("ok", 2)); /* no failure of the target's */
    scene_deinit(&scene);
}

static void back_pressure_reaches_the_origin(void **state)
{
    (void)state;
    static char large[3000000];
    struct scene scene;
    scene_init(&scene, "deadline: 60s, silence_timeout: 20s", NULL);
    memset(large, 'x', sizeof large - 1);
    memcpy(large, "HTTP/1.1 200 OK\r\nContent-Length: 2999955\r\n\r\n", 44);
    PEER_SAYS(&scene.peer, {.bytes = large});
    struct scene_client *client = scene_connect(&scene);
    client->deaf = true;
    scene_send(client, GET("/"));
    scene_pass(&scene, 15000);
    assert_int_equal(scene_stats(&scene).running, 1);
    client->deaf = false;
    rt_conn_interest(client->conn, RT_READ);
    scene_pass(&scene, 10000);
    assert_true(buf_length(&client->got) > 2999955);
    assert_story(&scene, "1 200 return success\n= 200 answer 200 attempts 1\n");
    scene_deinit(&scene);
}

static void framing_towards_the_client(void **state)
{
    (void)state;
    static const struct {
        const char *request, *answer, *got;
    } rows[] = {
        {GET("/"),
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nT: "
         "u\r\n\r\n",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"},
        {GET("/"), "HTTP/1.0 200 OK\r\n\r\nuntil close",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nuntil close\r\n0\r\n\r\n"},
        {"GET / HTTP/1.0\r\n\r\n",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
         "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab"},
        {"HEAD / HTTP/1.1\r\nHost: s\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
         "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"},
        {GET("/"), "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene scene;
        scene_init(&scene, "", NULL);
        struct peer_reply reply = {.bytes = rows[i].answer,
                                   .then = i == 1 ? PEER_CLOSE : PEER_KEEP};
        scene.peer.script = &reply;
        assert_got(scene_ask(&scene, rows[i].request), rows[i].got);
        scene_deinit(&scene);
    }
}

static void a_malformed_answer_is_told_as_long_as_nothing_left(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    PEER_SAYS(&scene.peer,
              {.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n"});
    struct scene_client *client = scene_ask(&scene, GET("/"));
    assert_problem(client, 502, "protocol", "http_protocol_error");
    assert_int_equal(scene.peer.requests, 1);
    assert_story(&scene, "1 protocol/body stop not_repeatable\n= stop answer 502 attempts 1\n");
    scene_deinit(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_held_answer_that_is_too_large_leaves_its_status),
        cmocka_unit_test(a_held_answer_still_on_its_way_is_streamed_when_given),
        cmocka_unit_test(a_dripping_body_is_cut_at_the_deadline),
        cmocka_unit_test(a_slow_reader_is_the_clients_fault),
        cmocka_unit_test(a_slow_reader_at_the_deadline_is_the_clients_fault_too),
        cmocka_unit_test(back_pressure_reaches_the_origin),
        cmocka_unit_test(framing_towards_the_client),
        cmocka_unit_test(a_malformed_answer_is_told_as_long_as_nothing_left),
    };
    return cmocka_run_group_tests_name("proxy/answer", tests, NULL, NULL);
}
