/* flow.c: what becomes of a request, told by its records, by what the origin was sent and by what
 * the client got. */
#include "scene.h"

#include <stdio.h>
#include <string.h>

/* ---- the five stories ---- */

static void first_success(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    struct scene_client *client = scene_ask(&scene, GET("/orders"));
    assert_got(client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_string_equal(scene_seen(&scene), "GET /orders HTTP/1.1\r\nHost: shop\r\n\r\n\n--\n");
    assert_story(&scene, "1 200 return success\n= 200 answer 200 attempts 1\n");
    scene_deinit(&scene);
}

static void two_failures_then_success(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    PEER_SAYS(&scene.peer, {.bytes = FAIL(503)}, {.bytes = FAIL(503)}, {.bytes = OK("ok", 2)});
    struct scene_client *client = scene_ask(&scene, GET("/orders"));
    assert_got(client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_int_equal(client->over_at_ms, 200);
    assert_int_equal(scene.peer.requests, 3);
    assert_int_equal(scene.peer.accepted,
                     1); /* the answers that were not wanted were read to their end */
    assert_story(&scene, "1 503 retry backoff 100\n2 503 retry backoff 100\n3 200 return success\n"
                         "= 200 answer 200 attempts 3\n");
    /* The origin can tell the attempts apart by what the events call them. */
    assert_true(scene_saw(&scene, "/attempt-1\r\nX-Request-Attempt: 1\r\n"));
    assert_true(scene_saw(&scene, "/attempt-2\r\nX-Request-Attempt: 2\r\n"));
    assert_true(scene_saw(&scene, "/attempt-3\r\nX-Request-Attempt: 3\r\n"));
    scene_deinit(&scene);
}

static void deadline_used_up(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "deadline: 150ms", NULL);
    PEER_SAYS(&scene.peer, {.bytes = FAIL(503), .after_ms = 10});
    struct scene_client *client = scene_ask(&scene, GET("/orders"));
    assert_got(
        client,
        "HTTP/1.1 503 No\r\nContent-Length: 3\r\n\r\nbad"); /* the answer in hand is passed on */
    assert_story(&scene, "1 503 retry backoff 100\n2 503 deadline_exceeded no_time\n"
                         "= deadline_exceeded answer 503 attempts 2\n");
    scene_deinit(&scene);
}

static void get_times_out(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "silence_timeout: 500ms", NULL);
    PEER_SAYS(&scene.peer, {.bytes = KEEP_SILENT}, {.bytes = OK("ok", 2)});
    struct scene_client *client = scene_ask(&scene, GET("/orders"));
    assert_got(client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_story(
        &scene,
        "1 timeout/headers retry backoff 100\n2 200 return success\n= 200 answer 200 attempts 2\n");
    assert_int_equal(scene.peer.accepted, 2);
    scene_deinit(&scene);
}

static void post_times_out(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "silence_timeout: 500ms", NULL);
    PEER_SAYS(&scene.peer, {.bytes = KEEP_SILENT}, {.bytes = OK("ok", 2)});
    struct scene_client *client = scene_ask(&scene, POST);
    assert_problem(client, 504, "outcome-unknown", "http_response_timeout");
    assert_non_null(strstr(scene_got(client), "\"retryable\":false"));
    assert_story(&scene, "1 timeout/headers check_state effect_unknown\n"
                         "= check_state answer 504 attempts 1 unknown\n");
    assert_int_equal(scene.peer.requests, 1);
    scene_deinit(&scene);
}

/* ---- what is repeated and what is not ---- */

static void a_post_that_was_not_sent_is_repeated(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "attempts: 2", NULL);
    rt_listener_close(scene.peer.listener);
    scene.peer.listener = NULL;
    struct scene_client *client = scene_ask(&scene, POST);
    assert_problem(client, 502, "refused", "connection_refused");
    assert_story(&scene,
                 "1 refused/connect retry backoff 100\n2 refused/connect max_attempts no_attempts\n"
                 "= max_attempts answer 502 attempts 2 none\n");
    scene_deinit(&scene);
}

static void answers_are_passed_on_as_they_came(void **state)
{
    (void)state;
    static const struct {
        const char *request, *answer, *story;
    } rows[] = {
        {GET("/"), "HTTP/1.1 404 Nope\r\nContent-Length: 3\r\n\r\nbad",
         "1 404 stop not_repeatable\n= stop answer 404 attempts 1\n"},
        {GET("/"), "HTTP/1.1 500 Oh\r\nContent-Length: 3\r\n\r\nbad",
         "1 500 stop not_repeatable\n= stop answer 500 attempts 1\n"},
        {GET("/"), "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
         "1 302 stop not_repeatable\n= stop answer 302 attempts 1\n"},
        {GET("/"), "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n",
         "1 304 stop not_repeatable\n= stop answer 304 attempts 1\n"},
        {POST, "HTTP/1.1 503 No\r\nRetry-After: 1\r\nContent-Length: 3\r\n\r\nbad",
         "1 503 stop not_replay_safe\n= stop answer 503 attempts 1 unknown\n"},
        {POST, "HTTP/1.1 502 No\r\nContent-Length: 3\r\n\r\nbad",
         "1 502 stop gateway_unknown\n= stop answer 502 attempts 1 unknown\n"},
        {POST, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
         "1 201 return success\n= 201 answer 201 attempts 1 done\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene scene;
        scene_init(&scene, "", NULL);
        struct peer_reply reply = {.bytes = rows[i].answer};
        scene.peer.script = &reply;
        assert_story(&scene, "");
        struct scene_client *client = scene_ask(&scene, rows[i].request);
        assert_got(client, rows[i].answer);
        assert_story(&scene, rows[i].story);
        scene_deinit(&scene);
    }
}

static void the_last_answer_is_given_when_attempts_are_over(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "attempts: 2", NULL);
    PEER_SAYS(&scene.peer, {.bytes = FAIL(503)},
              {.bytes = "HTTP/1.1 502 Last\r\nContent-Length: 4\r\n\r\nlast"});
    assert_got(scene_ask(&scene, GET("/")), "HTTP/1.1 502 Last\r\nContent-Length: 4\r\n\r\nlast");
    assert_story(&scene, "1 503 retry backoff 100\n2 502 max_attempts no_attempts\n"
                         "= max_attempts answer 502 attempts 2\n");
    scene_deinit(&scene);
}

static void a_request_that_is_marked_is_not_retried_again(void **state)
{
    (void)state;
    static const char *const marks[] = {"X-Retry-Owner: outer", "grpc-previous-rpc-attempts: 1",
                                        "x-envoy-attempt-count: 2", "x-envoy-attempt-count: many"};
    static const char *const none[] = {"grpc-previous-rpc-attempts: 0", "x-envoy-attempt-count: 1",
                                       "X-Other: 1"};
    for (size_t i = 0; i < 7; i++) {
        struct scene scene;
        char request[256];
        scene_init(&scene, "", NULL);
        PEER_SAYS(&scene.peer, {.bytes = FAIL(503)}, {.bytes = OK("ok", 2)});
        (void)snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: shop\r\n%s\r\n\r\n",
                       i < 4 ? marks[i] : none[i - 4]);
        scene_ask(&scene, request);
        if (i < 4) assert_story(&scene, "1 503 stop retry_owned\n= stop answer 503 attempts 1\n");
        assert_int_equal(scene.peer.requests, i < 4 ? 1 : 2);
        assert_true(scene_saw(&scene, i == 0 ? "\r\nX-Retry-Owner: outer\r\n"
                                             : "\r\nX-Retry-Owner: belay\r\n"));
        scene_deinit(&scene);
    }
}

static void declared_idempotent_and_keyed_requests_are_repeated(void **state)
{
    (void)state;
    static const struct {
        const char *route, *request;
        unsigned requests;
    } rows[] = {
        {"- { path: /a, target: shop, idempotent: [PUT] }\n",
         "PUT /a HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\n\r\nx", 2},
        {"- { path: /a, target: shop }\n",
         "PUT /a HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\n\r\nx", 1},
        {"- { path: /a, target: shop, idempotency_key: honoured }\n",
         "POST /a HTTP/1.1\r\nHost: s\r\nIdempotency-Key: \"k\"\r\nContent-Length: 1\r\n\r\nx", 2},
        {"- { path: /a, target: shop, idempotency_key: honoured }\n",
         "POST /a HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\n\r\nx", 1},
        {"- { path: /a, target: shop }\n",
         "POST /a HTTP/1.1\r\nHost: s\r\nIdempotency-Key: \"k\"\r\nContent-Length: 1\r\n\r\nx", 1},
        {"- { path: /a, target: shop, idempotency_key: added }\n",
         "POST /a HTTP/1.1\r\nHost: s\r\nX-Operation-Id: op-1\r\nContent-Length: 1\r\n\r\nx", 2},
        {"- { path: /a, target: shop, effect: write }\n", "GET /a HTTP/1.1\r\nHost: s\r\n\r\n", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene scene;
        char routes[256];
        (void)snprintf(routes, sizeof routes, "      %s", rows[i].route);
        scene_init(&scene, "", routes);
        PEER_SAYS(&scene.peer, {.bytes = KEEP_SILENT, .then = PEER_RESET, .then_ms = 5},
                  {.bytes = OK("ok", 2)});
        scene_ask(&scene, rows[i].request);
        assert_int_equal(scene.peer.requests, rows[i].requests);
        if (i == 5) assert_true(scene_saw(&scene, "\r\nIdempotency-Key: \"op-1\"\r\n"));
        scene_deinit(&scene);
    }
}

/* ---- gates ---- */

static void an_open_breaker_answers_at_once(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "attempts: 1, breaker: { consecutive: 3, open_for: 5s }", NULL);
    PEER_SAYS(&scene.peer, {.bytes = FAIL(500)}, {.bytes = FAIL(500)}, {.bytes = FAIL(500)},
              {.bytes = OK("ok", 2)});
    for (int i = 0; i < 5; i++) {
        scene_send(scene_connect(&scene), GET("/"));
        scene_pass(&scene, 10);
    }
    for (int i = 3; i < 5; i++) {
        assert_problem(&scene.clients[i], 503, "breaker-open", "destination_unavailable");
        assert_non_null(strstr(scene_got(&scene.clients[i]), "\r\nRetry-After: "));
        assert_int_equal(scene.clients[i].over_at_ms, i * 10); /* without waiting */
    }
    assert_int_equal(scene.peer.requests, 3);
    scene_pass(&scene, 60000);
    assert_got(scene_ask(&scene, GET("/")),
               "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); /* the probe */
    scene_deinit(&scene);
}

static void the_bulkhead_refuses_or_queues(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "bulkhead: { max: 2, queue: 1 }", NULL);
    PEER_SAYS(&scene.peer, {.bytes = OK("ok", 2), .after_ms = 100});
    for (int i = 0; i < 4; i++) scene_send(scene_connect(&scene), GET("/"));
    scene_pass(&scene, 50);
    assert_problem(&scene.clients[3], 503, "bulkhead-full", "connection_limit_reached");
    assert_int_equal(scene.clients[3].over_at_ms, 0);
    assert_int_equal(scene.peer.requests, 2);
    scene_pass(&scene, 1000);
    assert_got(&scene.clients[2], "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_int_equal(scene.clients[2].over_at_ms, 200);
    scene_deinit(&scene);
}

static void a_queue_is_left_at_the_deadline_or_with_the_client(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "bulkhead: { max: 1, queue: 5 }, silence_timeout: 2s", NULL);
    PEER_SAYS(&scene.peer, {.bytes = OK("ok", 2), .after_ms = 1500});
    scene_send(scene_connect(&scene), GET("/"));
    scene_pass(&scene, 1);
    scene_send(scene_connect(&scene),
               "GET / HTTP/1.1\r\nHost: s\r\nX-Request-Timeout-Ms: 200\r\n\r\n");
    scene_send(scene_connect(&scene), GET("/"));
    scene_pass(&scene, 100);
    scene_hang_up(&scene.clients[2]);
    scene_pass(&scene, 60000);
    assert_problem(&scene.clients[1], 504, "deadline-exceeded", "http_response_timeout");
    assert_true(scene.clients[1].over_at_ms >= 195 && scene.clients[1].over_at_ms <= 201);
    assert_int_equal(scene.peer.requests, 1);
    assert_non_null(strstr(scene_story(&scene), "= cancelled answer none attempts 0\n"));
    scene_deinit(&scene);
}

static void a_hint_holds_the_target_back(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "attempts: 1", NULL);
    PEER_SAYS(&scene.peer,
              {.bytes = "HTTP/1.1 503 No\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n"});
    struct scene_client *client = scene_connect(&scene);
    scene_send(client, GET("/"));
    scene_pass(&scene, 10);
    client = scene_connect(&scene);
    scene_send(client, GET("/"));
    scene_pass(&scene, 10);
    assert_problem(client, 503, "not-before", "destination_unavailable");
    assert_non_null(strstr(scene_got(client), "\r\nRetry-After: 30\r\n"));
    assert_int_equal(scene.peer.requests, 1);
    scene_deinit(&scene);
}

static void a_hint_can_be_a_routes_or_a_callers_own(void **state)
{
    (void)state;
    static const char routes[] =
        "      - { path: /a, target: shop }\n      - { path: /b, target: shop }\n";
    static const char as_x[] = "GET /a HTTP/1.1\r\nHost: s\r\nAuthorization: x\r\n\r\n";
    static const char as_y[] = "GET /a HTTP/1.1\r\nHost: s\r\nAuthorization: y\r\n\r\n";
    static const struct {
        const char *scope, *again, *other;
    } rows[] = {{"route", GET("/a"), GET("/b")}, {"key", as_x, as_y}};
    for (size_t i = 0; i < 2; i++) {
        struct scene scene;
        char policy[64];
        (void)snprintf(policy, sizeof policy, "attempts: 1, hold: { scope: %s }", rows[i].scope);
        scene_init(&scene, policy, routes);
        PEER_SAYS(&scene.peer,
                  {.bytes = "HTTP/1.1 429 No\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n"},
                  {.bytes = ANSWER});
        for (int n = 0; n < 3; n++) {
            scene_send(scene_connect(&scene), n < 2 ? rows[i].again : rows[i].other);
            scene_pass(&scene, 10);
        }
        assert_problem(&scene.clients[1], 503, "not-before", "destination_unavailable");
        assert_got(&scene.clients[2], ANSWER);
        scene_deinit(&scene);
    }
}

static void the_recipients_own_limits_slow_us_down(void **state)
{
    (void)state;
    for (int told = 0; told < 2; told++) {
        struct scene scene;
        scene_init(&scene, "quota: { rate: 1000/s, burst: 1, queue: 20 }", NULL);
        struct peer_reply plain[] = {{.bytes = ANSWER}};
        struct peer_reply limited[] = {
            {.bytes =
                 "HTTP/1.1 200 OK\r\nRateLimit: \"p\";r=10;t=1\r\nContent-Length: 2\r\n\r\nok"}};
        scene.peer.script = told ? limited : plain;
        scene_send(scene_connect(&scene), GET("/"));
        scene_pass(&scene, 10);
        for (int i = 0; i < 5; i++) scene_send(scene_connect(&scene), GET("/"));
        scene_pass(&scene, 250);
        assert_true(told ? scene.peer.requests <= 4 : scene.peer.requests == 6);
        scene_pass(&scene, 5000);
        assert_int_equal(scene.peer.requests, 6);
        scene_deinit(&scene);
    }
}

static void an_attempt_has_a_clock_of_its_own(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "attempt_timeout: 150ms", NULL);
    PEER_SAYS(&scene.peer, {.bytes = KEEP_SILENT}, {.bytes = ANSWER});
    struct scene_client *client = scene_ask(&scene, GET("/"));
    assert_got(client, ANSWER);
    assert_int_equal(client->over_at_ms, 250);
    assert_story(
        &scene,
        "1 timeout/headers retry backoff 100\n2 200 return success\n= 200 answer 200 attempts 2\n");
    scene_deinit(&scene);
}

/* ---- clients that leave ---- */

static void a_client_that_leaves(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        int64_t leaves_ms;
        const char *story;
    } rows[] = {
        {GET("/"), 50, "1 cancelled/headers stop not_repeatable\n= stop answer none attempts 1\n"},
        {POST, 50,
         "1 cancelled/headers check_state effect_unknown\n= check_state answer none attempts 1 "
         "unknown\n"},
        {GET("/"), 150, "1 503 retry backoff 100\n= cancelled answer none attempts 1\n"},
        {"POST / HTTP/1.1\r\nHost: s\r\nContent-Length: 5\r\n\r\nhel", 50,
         "= cancelled answer none attempts 0 none\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene scene;
        scene_init(&scene, "", NULL);
        PEER_SAYS(&scene.peer, {.bytes = FAIL(503), .after_ms = 100}, {.bytes = OK("ok", 2)});
        struct scene_client *client = scene_connect(&scene);
        scene_send(client, rows[i].request);
        scene_pass(&scene, rows[i].leaves_ms);
        scene_hang_up(client);
        scene_pass(&scene, 60000);
        assert_story(&scene, rows[i].story);
        assert_int_equal(scene_stats(&scene).clients_gone, 1);
        scene_deinit(&scene);
    }
}

static void a_client_that_shuts_its_side_gets_no_more_attempts(void **state)
{
    (void)state;
    /* in the wait between two attempts, and while the first attempt runs */
    static const int64_t shuts_at_ms[] = {50, 5};
    for (size_t i = 0; i < 2; i++) {
        struct scene scene;
        scene_init(&scene, "", NULL);
        PEER_SAYS(&scene.peer, {.bytes = FAIL(503), .after_ms = 10}, {.bytes = OK("ok", 2)});
        struct scene_client *client = scene_connect(&scene);
        scene_send(client, GET("/"));
        scene_pass(&scene, shuts_at_ms[i]);
        rt_conn_shutdown_write(client->conn);
        scene_pass(&scene, 60000);
        assert_memory_equal(scene_got(client), "HTTP/1.1 503 No\r\n", 17);
        assert_int_equal(scene.peer.requests, 1);
        assert_story(&scene, "1 503 retry backoff 100\n= cancelled answer 503 attempts 1\n");
        scene_deinit(&scene);
    }
}

static void a_client_that_shut_its_side_still_gets_its_answer(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    PEER_SAYS(&scene.peer, {.bytes = OK("ok", 2), .after_ms = 10});
    struct scene_client *client = scene_connect(&scene);
    scene_send(client, GET("/"));
    scene_pass(&scene, 5);
    rt_conn_shutdown_write(client->conn);
    scene_pass(&scene, 60000);
    assert_memory_equal(scene_got(client), "HTTP/1.1 200 OK\r\n", 17);
    assert_story(&scene, "1 200 return success\n= 200 answer 200 attempts 1\n");
    scene_deinit(&scene);
}

static void an_upload_that_breaks_its_framing(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    scene_ask(&scene, "POST / HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\n");
    assert_story(&scene, "= bad_request answer 400 attempts 0 none\n");
    assert_int_equal(scene.peer.accepted, 0);
    scene_deinit(&scene);
}

/* ---- snapshots, drain, memory ---- */

static void a_new_snapshot_is_for_new_requests(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    PEER_SAYS(&scene.peer, {.bytes = FAIL(503), .after_ms = 50}, {.bytes = OK("ok", 2)});
    struct scene_client *client = scene_connect(&scene);
    scene_send(client, GET("/a"));
    scene_pass(&scene, 10);
    scene_configure(&scene, "attempts: 1", "      - { path: /b, target: shop }\n");
    scene_pass(&scene, 1000);
    assert_got(client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_problem(scene_ask(&scene, GET("/a")), 404, "no-route", "destination_not_found");
    assert_got(scene_ask(&scene, GET("/b")), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    scene_deinit(&scene);
}

static void on_drained(void *owner)
{
    *(bool *)owner = true;
}

static void draining_serves_what_was_accepted(void **state)
{
    (void)state;
    struct scene scene;
    bool drained = false;
    scene_init(&scene, "", NULL);
    PEER_SAYS(&scene.peer, {.bytes = OK("ok", 2), .after_ms = 100});
    scene_send(scene_connect(&scene), GET("/"));
    scene_pass(&scene, 10);
    proxy_announce_drain(scene.proxy);
    proxy_drain(scene.proxy, belay_span_ms(4000), on_drained, &drained);
    scene_pass(&scene, 50);
    assert_false(drained);
    scene_pass(&scene, 5000);
    assert_got(&scene.clients[0],
               "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    assert_true(drained);
    scene_deinit(&scene);
}

static void traffic_goes_on_when_events_are_lost(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    scene.events_lost = true;
    assert_got(scene_ask(&scene, GET("/")), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_story(&scene, "");
    scene_deinit(&scene);
}

static void destroying_in_the_middle_leaves_nothing(void **state)
{
    (void)state;
    for (int64_t moment_ms = 0; moment_ms < 300; moment_ms += 25) {
        struct scene scene;
        scene_init(&scene, "bulkhead: { max: 2, queue: 2 }", NULL);
        PEER_SAYS(&scene.peer, {.bytes = FAIL(503), .after_ms = 60},
                  {.bytes = OK("ok", 2), .after_ms = 60});
        for (int i = 0; i < 4; i++) scene_send(scene_connect(&scene), i % 2 ? POST : GET("/"));
        scene_pass(&scene, moment_ms);
        scene_deinit(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_success),
        cmocka_unit_test(two_failures_then_success),
        cmocka_unit_test(deadline_used_up),
        cmocka_unit_test(get_times_out),
        cmocka_unit_test(post_times_out),
        cmocka_unit_test(a_post_that_was_not_sent_is_repeated),
        cmocka_unit_test(answers_are_passed_on_as_they_came),
        cmocka_unit_test(the_last_answer_is_given_when_attempts_are_over),
        cmocka_unit_test(a_request_that_is_marked_is_not_retried_again),
        cmocka_unit_test(declared_idempotent_and_keyed_requests_are_repeated),
        cmocka_unit_test(an_open_breaker_answers_at_once),
        cmocka_unit_test(the_bulkhead_refuses_or_queues),
        cmocka_unit_test(a_queue_is_left_at_the_deadline_or_with_the_client),
        cmocka_unit_test(a_hint_holds_the_target_back),
        cmocka_unit_test(a_hint_can_be_a_routes_or_a_callers_own),
        cmocka_unit_test(the_recipients_own_limits_slow_us_down),
        cmocka_unit_test(an_attempt_has_a_clock_of_its_own),
        cmocka_unit_test(a_client_that_leaves),
        cmocka_unit_test(a_client_that_shuts_its_side_gets_no_more_attempts),
        cmocka_unit_test(a_client_that_shut_its_side_still_gets_its_answer),
        cmocka_unit_test(an_upload_that_breaks_its_framing),
        cmocka_unit_test(a_new_snapshot_is_for_new_requests),
        cmocka_unit_test(draining_serves_what_was_accepted),
        cmocka_unit_test(traffic_goes_on_when_events_are_lost),
        cmocka_unit_test(destroying_in_the_middle_leaves_nothing),
    };
    return cmocka_run_group_tests_name("proxy/flow", tests, NULL, NULL);
}
