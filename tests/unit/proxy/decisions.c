/* decisions.c: the rows of http1.tsv and deadline.tsv about what belay makes of an answer, a loss
 * and a deadline. */
#include "scene.h"

#include "base/check.h"
#include "client/conn.h"
#include "proxy/flow.h"

#include <stdio.h>
#include <string.h>

static struct belay_target_stats target_stats(struct scene *scene, size_t index)
{
    struct belay_target_stats stats;
    belay_target_stats(scene->targets[index], rt_now(scene->rt), &stats);
    return stats;
}

static void h66(void **state)
{
    (void)state;
    for (enum peer_then how = PEER_CLOSE; how <= PEER_RESET; how++) {
        struct scene scene;
        scene_init(&scene, "attempts: 1", NULL);
        struct peer_reply script[] = {
            {.bytes = ANSWER}, {.bytes = ANSWER}, {.bytes = "", .then = how}, {.bytes = ANSWER}};
        scene.peer.script = script;
        scene.peer.script_count = 4;
        scene_send(scene_connect(&scene), GET("/"));
        scene_send(scene_connect(&scene), GET("/"));
        scene_pass(&scene, 10);
        assert_int_equal(scene_stats(&scene).clients.idle, 2);
        struct scene_client *client = scene_connect(&scene);
        scene_send(client, GET("/"));
        scene_pass(&scene, 10);
        assert_got(client, ANSWER);
        assert_string_equal(scene_value(&scene, 4, "stale"), "true");
        assert_string_equal(scene_value(&scene, 4, "decision"), "retry");
        assert_string_equal(scene_value(&scene, 5, "decision"), "return"); /* though attempts: 1 */
        assert_string_equal(scene_value(&scene, 5, "reused"), "");
        assert_int_equal(target_stats(&scene, 0).retries, 1); /* one budget token */
        assert_int_equal(scene_stats(&scene).clients.idle,
                         1); /* the other pooled one was dropped */
        scene_deinit(&scene);
    }
}

static void h67(void **state)
{
    (void)state;
    for (enum peer_then how = PEER_CLOSE; how <= PEER_RESET; how++) {
        struct scene scene;
        struct peer_reply script[] = {
            {.bytes = ANSWER}, {.bytes = "", .then = how}, {.bytes = ANSWER}};
        scene_init(&scene, "", NULL);
        scene.peer.script = script;
        scene.peer.script_count = 3;
        scene_send(scene_connect(&scene), GET("/"));
        scene_pass(&scene, 10);
        struct scene_client *client = scene_connect(&scene);
        scene_send(client, POST);
        scene_pass(&scene, 100);
        assert_problem(client, 504, "outcome-unknown", "connection_terminated");
        assert_int_equal(scene.peer.requests, 2); /* the GET and one POST */
        assert_non_null(strstr(scene_story(&scene),
                               "check_state effect_unknown stale\n= check_state answer 504"));
        scene_deinit(&scene);
    }
}

/* A pooled connection that is dead before: the peek finds it, and nothing is lost or counted. */
static void h67_dead_before(void **state)
{
    (void)state;
    for (enum peer_then how = PEER_CLOSE; how <= PEER_RESET; how++) {
        struct scene scene;
        scene_init(&scene, "", NULL);
        PEER_SAYS(&scene.peer, {.bytes = ANSWER});
        scene_send(scene_connect(&scene), GET("/"));
        scene_pass(&scene, 10);
        struct client *client = scene.proxy->setup->clients[0];
        struct client_conn *idle = CONTAINER_OF(client->idle.next, struct client_conn, node);
        rt_conn_interest(idle->rt_conn, 0); /* the loop has not told yet what comes now */
        scene_pass(&scene, 1);
        peer_cut_all(&scene.peer, how);
        scene_pass(&scene, 1);
        assert_int_equal(scene_stats(&scene).clients.idle, 1);
        struct scene_client *caller = scene_connect(&scene);
        scene_send(caller, POST);
        scene_pass(&scene, 100);
        assert_got(caller, ANSWER);
        assert_story(&scene, "1 200 return success\n= 200 answer 200 attempts 1\n"
                             "1 200 return success\n= 200 answer 200 attempts 1 done\n");
        assert_int_equal(scene.peer.requests, 2);
        scene_deinit(&scene);
    }
}

static void h70(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct scene scene;
        scene_seeded(&scene, "backoff: { kind: additive, base: 100ms }", NULL, seed);
        PEER_SAYS(&scene.peer,
                  {.bytes = "HTTP/1.1 503 No\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"},
                  {.bytes = ANSWER});
        struct scene_client *client = scene_ask(&scene, GET("/"));
        assert_got(client, ANSWER);
        assert_true(client->over_at_ms >= 1000 && client->over_at_ms <= 1100);
        assert_string_equal(scene_value(&scene, 0, "retryAfterMs"), "1000");
        scene_deinit(&scene);
    }
}

/* Two hints are none, even when they agree. */
static void h70_two_hints(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    PEER_SAYS(&scene.peer,
              {.bytes = "HTTP/1.1 503 No\r\nRetry-After: 1\r\nRetry-After: 1\r\n"
                        "Content-Length: 0\r\n\r\n"},
              {.bytes = ANSWER});
    struct scene_client *client = scene_ask(&scene, GET("/"));
    assert_got(client, ANSWER);
    assert_int_equal(client->over_at_ms, 100);
    assert_string_equal(scene_value(&scene, 0, "retryAfterMs"), "");
    assert_string_equal(scene_value(&scene, 0, "waitSource"), "backoff");
    scene_deinit(&scene);
}

static void h71(void **state)
{
    (void)state;
    static const char *const rows[] = {"Retry-After: 3600",
                                       "Retry-After: Mon, 01 Jan 2024 01:00:00 GMT",
                                       "Retry-After: 2", "Retry-After: 99999999999999999999"};
    static const char *const uncapped_ms[] = {"3600000", "3600000", "2000", "9223372036854775807"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene scene;
        char answer[256];
        scene_init(&scene, "", NULL);
        (void)snprintf(answer, sizeof answer,
                       "HTTP/1.1 503 No\r\n%s\r\nContent-Length: 3\r\n\r\nbad", rows[i]);
        struct peer_reply reply = {.bytes = answer};
        scene.peer.script = &reply;
        struct scene_client *client = scene_ask(&scene, GET("/"));
        assert_got(client, answer);
        assert_int_equal(client->over_at_ms, 0);
        assert_string_equal(scene_value(&scene, 0, "retryAfterMs"), uncapped_ms[i]);
        assert_story(
            &scene, "1 503 deadline_exceeded no_time\n= deadline_exceeded answer 503 attempts 1\n");
        scene_deinit(&scene);
    }
}

/* `count` requests, one each `gap_ms`, to an origin that always fails. In any ten seconds: what the
 * budget allows. */
static void storm(const char *policy, int count, int64_t gap_ms)
{
    enum { MARKS = 1100 };
    static struct scene scene;
    static uint64_t retries[MARKS];
    scene_init(&scene, policy, NULL);
    PEER_SAYS(&scene.peer, {.bytes = FAIL(503)});
    int64_t in_span = 10000 / gap_ms;
    for (int i = 0; i < count; i++) {
        scene_send(scene_connect(&scene), GET("/"));
        scene_pass(&scene, gap_ms);
        retries[i] = target_stats(&scene, 0).retries;
        uint64_t before = i >= in_span ? retries[i - in_span] : 0;
        uint64_t operations = (uint64_t)(i >= in_span ? in_span : i + 1);
        assert_true(retries[i] - before <= operations / 10 + 10);
    }
    scene_pass(&scene, 60000);
    struct belay_target_stats stats = target_stats(&scene, 0);
    if (strstr(policy, "breaker: off"))
        assert_true(stats.retries > 0); /* else it opens before the first */
    assert_true(stats.retries <= (uint64_t)count / 10 + 10);
    assert_int_equal(scene.peer.requests, stats.operations + stats.retries);
    scene_deinit(&scene);
}

static void h73(void **state)
{
    (void)state;
    storm("breaker: off, attempts: 3", 1000, 10);
    storm("breaker: off, attempts: 3", 100, 1000);
    storm("attempts: 3", 1000, 10);
    storm("attempts: 3", 100, 1000);
}

static void h75(void **state)
{
    (void)state;
    static const char *const over[] = {"X-Request-Timeout-Ms: 0",
                                       "X-Request-Timeout-Ms: -5",
                                       "grpc-timeout: 0S",
                                       "connect-timeout-ms: 0",
                                       "x-envoy-expected-rq-timeout-ms: -1",
                                       "X-Request-Timeout-Ms: 5",
                                       "X-Request-Timeout-Ms: 900\r\ngrpc-timeout: 0m"};
    for (size_t i = 0; i < sizeof over / sizeof over[0]; i++) {
        struct scene scene;
        char request[256];
        scene_init(&scene, "", NULL);
        (void)snprintf(request, sizeof request,
                       "POST / HTTP/1.1\r\nHost: s\r\n%s\r\nContent-Length: 5\r\n\r\n", over[i]);
        struct scene_client *client = scene_connect(&scene);
        scene_send(client, request); /* not even the body is waited for */
        scene_pass(&scene, 1000);
        if (i == 5) { /* some time is left for the upload, none for a call */
            assert_int_equal(client->over_at_ms, 5);
        } else {
            assert_int_equal(client->over_at_ms, 0);
        }
        assert_problem(client, 504, "deadline-exceeded", "http_response_timeout");
        assert_story(&scene, "= deadline_exceeded answer 504 attempts 0 none\n");
        assert_int_equal(scene.peer.accepted, 0);
        scene_deinit(&scene);
    }
}

static void h77(void **state)
{
    (void)state;
    static const char routes[] =
        "      - { path: /other, target: other }\n      - { path: /, target: shop }\n";
    struct scene scene;
    scene_init(&scene, "attempts: 1, breaker: { consecutive: 3, open_for: 5s }", routes);
    PEER_SAYS(&scene.peer, {.bytes = FAIL(500)}, {.bytes = FAIL(500)}, {.bytes = FAIL(500)},
              {.bytes = ANSWER, .after_ms = 100});
    for (int i = 0; i < 4; i++) {
        scene_send(scene_connect(&scene), GET("/"));
        scene_pass(&scene, 10);
    }
    assert_problem(&scene.clients[3], 503, "breaker-open", "destination_unavailable");
    assert_int_equal(scene.clients[3].over_at_ms, 30); /* at once */
    assert_int_equal(scene.peer.requests, 3);
    scene_send(scene_connect(&scene), GET("/other"));
    scene_pass(&scene, 200);
    assert_got(&scene.clients[4], ANSWER);
    scene_pass(&scene, 10000);
    for (int i = 0; i < 20; i++) scene_send(scene_connect(&scene), GET("/"));
    scene_pass(&scene, 50);
    assert_int_equal(scene.peer.requests, 5); /* one probe */
    scene_pass(&scene, 100);
    scene_send(scene_connect(&scene), GET("/"));
    scene_pass(&scene, 200);
    assert_got(&scene.clients[25], ANSWER); /* closed */
    scene_deinit(&scene);
}

static void h78(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "attempts: 1, breaker: { consecutive: 3 }", NULL);
    PEER_SAYS(&scene.peer, {.bytes = FAIL(429)});
    for (int i = 0; i < 30; i++) {
        scene_send(scene_connect(&scene), GET("/"));
        scene_pass(&scene, 100);
    }
    assert_int_equal(scene.peer.requests, 30);
    assert_int_equal(target_stats(&scene, 0).breaker_opened, 0);
    assert_int_equal(target_stats(&scene, 0).too_many_requests, 30);
    scene_deinit(&scene);
}

/* ---- deadlines ---- */

static void dl01(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "bulkhead: { max: 1, queue: 1 }", NULL);
    PEER_SAYS(&scene.peer, {.bytes = ANSWER, .after_ms = 200});
    struct scene_client *slow = scene_connect(&scene);
    scene_send(slow, "GET /slow HTTP/1.1\r\nHost: s\r\nX-Request-");
    scene_pass(&scene, 100); /* a slow head, then the queue: 300 ms */
    scene_send(scene_connect(&scene), GET("/first"));
    scene_pass(&scene, 1);
    scene_send(slow, "Timeout-Ms: 1000\r\n\r\n");
    scene_pass(&scene, 1000);
    assert_true(scene_saw(&scene, "\r\nX-Request-Timeout-Ms: 695\r\n"));
    scene_deinit(&scene);
}

static void dl02(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "reserve: 300ms", NULL);
    struct scene_client *client =
        scene_ask(&scene, "GET / HTTP/1.1\r\nHost: s\r\nX-Request-Timeout-Ms: 300\r\n\r\n");
    assert_problem(client, 504, "deadline-exceeded", "http_response_timeout");
    assert_int_equal(client->over_at_ms, 0);
    assert_int_equal(scene.peer.accepted, 0);
    scene_ask(&scene, "GET / HTTP/1.1\r\nHost: s\r\nX-Request-Timeout-Ms: 302\r\n\r\n");
    assert_true(scene_saw(&scene, "\r\nX-Request-Timeout-Ms: 2\r\n"));
    scene_deinit(&scene);
}

static void dl04(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    PEER_SAYS(&scene.peer, {.bytes = KEEP_SILENT});
    struct scene_client *client =
        scene_ask(&scene, "GET / HTTP/1.1\r\nHost: s\r\nX-Request-Timeout-Ms: 5000\r\n\r\n");
    assert_int_equal(client->over_at_ms, 2000);
    assert_true(scene_saw(&scene, "\r\nX-Request-Timeout-Ms: 1995\r\n"));
    scene_deinit(&scene);
}

static void dl06(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    PEER_SAYS(&scene.peer, {.bytes = FAIL(503), .after_ms = 300}, {.bytes = KEEP_SILENT});
    struct scene_client *client = scene_ask(&scene, GET("/"));
    assert_true(scene_saw(&scene, "\r\nX-Request-Timeout-Ms: 1995\r\n"));
    assert_true(scene_saw(&scene, "\r\nX-Request-Timeout-Ms: 1595\r\n"));
    assert_int_equal(client->over_at_ms, 2000);
    assert_string_equal(scene_value(&scene, 0, "remainingMs"), "2000");
    assert_string_equal(scene_value(&scene, 1, "remainingMs"), "1600");
    scene_deinit(&scene);
}

static void dl08(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "bulkhead: { max: 1, queue: 1 }, silence_timeout: 2s", NULL);
    PEER_SAYS(&scene.peer, {.bytes = ANSWER, .after_ms = 500});
    scene_send(scene_connect(&scene), GET("/first"));
    scene_pass(&scene, 10);
    struct scene_client *client =
        scene_ask(&scene, "GET /q HTTP/1.1\r\nHost: s\r\nX-Request-Timeout-Ms: 100\r\n\r\n");
    assert_problem(client, 504, "deadline-exceeded", "http_response_timeout");
    assert_int_equal(scene.peer.requests, 1);
    scene_deinit(&scene);
}

#define ROW(function, text)                                                                        \
    {                                                                                              \
        text, function, NULL, NULL, NULL                                                           \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(h66, "H66 a stale connection costs one fresh try"),
        ROW(h67, "H67 a stale connection with a POST: outcome unknown"),
        ROW(h67_dead_before, "H67 a connection found dead before the POST is no attempt"),
        ROW(h70, "H70 Retry-After is waited for"),
        ROW(h70_two_hints, "H70 two Retry-After fields are none"),
        ROW(h71, "H71 a Retry-After past the deadline ends at once with the answer"),
        ROW(h73, "H73 retries stay within the budget"),
        ROW(h75, "H75 a deadline that is over is answered without a call"),
        ROW(h77, "H77 an open breaker answers at once, probes one by one, and is the target's own"),
        ROW(h78, "H78 429 does not open the breaker"),
        ROW(dl01, "DL01 time spent here is taken off what is passed on"),
        ROW(dl02, "DL02 too little time: no call"),
        ROW(dl04, "DL04 the smaller of the caller's deadline and ours"),
        ROW(dl06, "DL06 all attempts share one deadline"),
        ROW(dl08, "DL08 what waited past its deadline is not sent"),
    };
    return cmocka_run_group_tests_name("proxy/decisions", tests, NULL, NULL);
}
