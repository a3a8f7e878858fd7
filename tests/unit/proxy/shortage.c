/* shortage.c: what belay says when its own descriptors or memory lack: a 503, `cancelled`, and no
 * word against the target. */
#include "scene.h"
#include "shortage.h"

#include <string.h>

static struct belay_target_stats target_stats(struct scene *scene)
{
    struct belay_target_stats stats;
    belay_target_stats(scene->targets[0], rt_now(scene->rt), &stats);
    return stats;
}

static void set_exhausted(struct scene *scene, uint32_t per_thousand)
{
    struct sim_link link = sim_link_perfect();
    link.exhausted = per_thousand;
    sim_link_set(scene->rt, &scene->peer.addr, &link);
}

/* As scene_ask, while no memory is left. */
static struct scene_client *ask_without_memory(struct scene *scene, const char *bytes)
{
    struct scene_client *client = scene_connect(scene);
    scene_send(client, bytes);
    shortage_begin(0, SHORTAGE_FOREVER);
    scene_pass(scene, 30000);
    assert_true(shortage_end() > 0);
    return client;
}

/* ---- descriptors ---- */

static void no_descriptor_is_a_503_and_not_repeated(void **state)
{
    (void)state;
    static const struct {
        const char *request, *story;
    } rows[] = {
        {GET("/"), "1 cancelled/connect stop not_repeatable\n= stop answer 503 attempts 1\n"},
        {POST, "1 cancelled/connect stop not_repeatable\n= stop answer 503 attempts 1 none\n"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct scene scene;
        scene_init(&scene, "attempts: 3", NULL);
        set_exhausted(&scene, 1000);
        assert_problem(scene_ask(&scene, rows[i].request), 503, "cancelled",
                       "proxy_internal_error");
        assert_story(&scene, rows[i].story);
        assert_int_equal(scene_stats(&scene).overloaded, 1);
        set_exhausted(&scene, 0);
        assert_got(scene_ask(&scene, rows[i].request), ANSWER);
        scene_deinit(&scene);
    }
}

static void the_breaker_is_neutral_to_our_shortage(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "breaker: { consecutive: 3, min_calls: 5 }, budget: { burst: 1 }", NULL);
    set_exhausted(&scene, 1000);
    for (int i = 0; i < 30; i++) scene_ask(&scene, GET("/"));
    assert_int_equal(target_stats(&scene).breaker_state, BELAY_BREAKER_CLOSED);
    assert_int_equal(target_stats(&scene).breaker_opened, 0);
    assert_int_equal(target_stats(&scene).in_flight, 0);
    set_exhausted(&scene, 0);
    PEER_SAYS(&scene.peer, {.bytes = FAIL(503)}, {.bytes = ANSWER});
    assert_got(scene_ask(&scene, GET("/")), ANSWER); /* the budget still has its token */
    scene_deinit(&scene);
}

/* A probe that was never sent proves nothing: its permit comes back, and the next one probes. */
static void a_probe_without_a_descriptor_gives_its_permit_back(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "attempts: 1, breaker: { consecutive: 3, open_for: 5s, open_max: 5s }",
               NULL);
    PEER_SAYS(&scene.peer, {.bytes = FAIL(500)}, {.bytes = FAIL(500)}, {.bytes = FAIL(500)},
              {.bytes = ANSWER});
    for (int i = 0; i < 3; i++) {
        scene_send(scene_connect(&scene), GET("/"));
        scene_pass(&scene, 10);
    }
    assert_int_equal(target_stats(&scene).breaker_state, BELAY_BREAKER_OPEN);
    scene_pass(&scene, 10000);
    set_exhausted(&scene, 1000);
    for (int i = 0; i < 3; i++) {
        struct scene_client *client = scene_connect(&scene);
        scene_send(client, GET("/"));
        scene_pass(&scene, 10);
        assert_problem(client, 503, "cancelled", "proxy_internal_error");
    }
    assert_int_equal(target_stats(&scene).breaker_opened, 1);
    set_exhausted(&scene, 0);
    assert_got(scene_ask(&scene, GET("/")), ANSWER);
    assert_int_equal(target_stats(&scene).breaker_state, BELAY_BREAKER_CLOSED);
    scene_deinit(&scene);
}

/* ---- memory, at each stage of a request ---- */

static void no_memory_for_a_connection(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    struct scene_client *client = ask_without_memory(&scene, GET("/"));
    assert_got(client, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
                       "Content-Length: 0\r\n\r\n");
    assert_story(&scene, "");
    assert_int_equal(scene_stats(&scene).server.refused_full, 1);
    assert_int_equal(scene_stats(&scene).server.connections, 0);
    assert_got(scene_ask(&scene, GET("/")), ANSWER);
    scene_deinit(&scene);
}

static void no_memory_to_read_a_request(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    struct scene_client *idle = scene_connect(&scene), *client = scene_connect(&scene);
    scene_pass(&scene, 10);
    scene_send(client, GET("/"));
    shortage_begin(0, SHORTAGE_FOREVER);
    scene_pass(&scene, 100);
    assert_true(shortage_end() > 0);
    assert_got(client, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
                       "Content-Length: 0\r\n\r\n");
    assert_true(client->ended);
    scene_send(idle, GET("/")); /* who sent nothing was left alone */
    scene_pass(&scene, 100);
    assert_got(idle, ANSWER);
    scene_deinit(&scene);
}

/* The exchange is there already: its connection had a request before. */
static void no_memory_for_an_operation(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    struct scene_client *client = scene_connect(&scene);
    scene_send(client, "GET /first HTTP/1.1\r\nHost:");
    scene_pass(&scene, 10);
    shortage_begin(0, SHORTAGE_FOREVER);
    scene_send(client, " shop\r\nX-Operation-Id: op-42\r\n\r\n");
    scene_pass(&scene, 100);
    assert_true(shortage_end() > 0);
    assert_problem(client, 503, "cancelled", "proxy_internal_error");
    assert_story(&scene, "= cancelled answer 503 attempts 0\n");
    assert_string_equal(scene_value(&scene, 0, "operationId"), "op-42");
    assert_int_equal(scene_stats(&scene).overloaded, 1);
    assert_int_equal(scene_stats(&scene).requests, 1);
    scene_send(client, GET("/"));
    scene_pass(&scene, 100);
    assert_non_null(strstr(scene_got(client), ANSWER)); /* the connection went on */
    scene_deinit(&scene);
}

static void no_memory_to_collect_a_body(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Length: 5\r\n\r\n",
        "POST /orders HTTP/1.1\r\nHost: shop\r\nTransfer-Encoding: chunked\r\n\r\n",
    };
    static const char *const bodies[] = {"hello", "5\r\nhello\r\n0\r\n\r\n"};
    for (size_t i = 0; i < 2; i++) {
        struct scene scene;
        scene_init(&scene, "", NULL);
        struct scene_client *client = scene_connect(&scene);
        scene_send(client, heads[i]);
        scene_pass(&scene, 10);
        scene_send(client, bodies[i]);
        shortage_begin(0, SHORTAGE_FOREVER);
        scene_pass(&scene, 100);
        assert_true(shortage_end() > 0);
        assert_problem(client, 503, "cancelled", "proxy_internal_error");
        assert_story(&scene, "= cancelled answer 503 attempts 0 none\n");
        assert_int_equal(scene.peer.requests, 0);
        scene_deinit(&scene);
    }
}

/* The body streams: part of it has left, so nobody knows what became of it. That is no slow client.
 */
static void no_memory_to_stream_a_body(void **state)
{
    (void)state;
    static char body[9000];
    struct scene scene;
    scene_init(&scene, "replay_buffer: 1KiB", NULL);
    struct scene_client *client = scene_connect(&scene);
    scene_send(client, "POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Length: 10000\r\n\r\n");
    scene_pass(&scene, 10);
    memset(body, 'b', sizeof body);
    scene_send_bytes(client, belay_slice(body, 900));
    scene_pass(&scene, 10);
    shortage_begin(0, SHORTAGE_FOREVER);
    scene_send_bytes(client, belay_slice(body, sizeof body));
    scene_pass(&scene, 10);
    assert_true(shortage_end() > 0);
    assert_problem(client, 504, "outcome-unknown", "http_request_error");
    assert_story(&scene, "1 cancelled/send check_state effect_unknown\n"
                         "= check_state answer 504 attempts 1 unknown\n");
    assert_int_equal(scene_stats(&scene).overloaded, 1);
    assert_int_equal(target_stats(&scene).breaker_opened, 0);
    scene_deinit(&scene);
}

static void no_memory_to_keep_an_answer(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "attempts: 2", NULL);
    PEER_SAYS(&scene.peer, {.bytes = FAIL(503), .after_ms = 50});
    struct scene_client *client = scene_connect(&scene);
    scene_send(client, GET("/"));
    scene_pass(&scene, 210); /* the repeat is under way */
    shortage_begin(0, SHORTAGE_FOREVER);
    scene_pass(&scene, 1000);
    (void)shortage_end();
    /* The last answer is passed on, whatever became of those before it. */
    assert_got(client, FAIL(503));
    scene_deinit(&scene);
}

/* Its status is all that is left of it, and that is what the client is told. */
static void a_held_answer_is_lost_and_its_status_told(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "attempts: 3, quota: { rate: 1/s, burst: 1, queue: 0 }", NULL);
    PEER_SAYS(&scene.peer, {.bytes = FAIL(503), .after_ms = 50});
    struct scene_client *client = scene_connect(&scene);
    scene_send(client, GET("/"));
    scene_pass(&scene, 40);
    shortage_begin(0, SHORTAGE_FOREVER);
    scene_pass(&scene, 60);
    assert_true(shortage_end() > 0);
    scene_pass(&scene, 3000);
    assert_problem(client, 503, "answer-not-kept", "proxy_internal_response");
    assert_story(&scene, "1 503 retry backoff 100\n= quota_exceeded answer 503 attempts 1\n");
    scene_deinit(&scene);
}

static void no_memory_for_a_new_configuration(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "attempts: 1", NULL);
    struct proxy_options options = {.targets = scene.targets, .events = &scene.out};
    long n = 0;
    for (bool taken = false; !taken; n++) {
        shortage_begin(n, 1);
        taken = proxy_prepare(scene.proxy, scene.conf, &options);
        assert_int_equal(shortage_end() == 0, taken);
        if (n % 2 == 0) proxy_undo(scene.proxy);
        assert_got(scene_ask(&scene, GET("/")), ANSWER);
    }
    assert_true(n > 4);
    assert_true(proxy_prepare(scene.proxy, scene.conf, &options));
    shortage_begin(0, SHORTAGE_FOREVER);
    proxy_commit(scene.proxy);
    assert_int_equal(shortage_end(), 0); /* what is prepared cannot fail any more */
    assert_got(scene_ask(&scene, GET("/")), ANSWER);
    scene_deinit(&scene);
}

static void no_memory_for_a_proxy(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "attempts: 1", NULL);
    struct proxy_options options = {.targets = scene.targets, .events = &scene.out};
    struct proxy *proxy = NULL;
    long n = 0;
    for (; !proxy; n++) {
        shortage_begin(n, 1);
        proxy = proxy_create(scene.rt, scene.conf, &options);
        assert_int_equal(shortage_end() == 0, proxy != NULL);
    }
    assert_true(n > 7);
    proxy_destroy(proxy);
    scene_deinit(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_descriptor_is_a_503_and_not_repeated),
        cmocka_unit_test(the_breaker_is_neutral_to_our_shortage),
        cmocka_unit_test(a_probe_without_a_descriptor_gives_its_permit_back),
        cmocka_unit_test(no_memory_for_a_connection),
        cmocka_unit_test(no_memory_to_read_a_request),
        cmocka_unit_test(no_memory_for_an_operation),
        cmocka_unit_test(no_memory_to_collect_a_body),
        cmocka_unit_test(no_memory_to_stream_a_body),
        cmocka_unit_test(no_memory_to_keep_an_answer),
        cmocka_unit_test(a_held_answer_is_lost_and_its_status_told),
        cmocka_unit_test(no_memory_for_a_new_configuration),
        cmocka_unit_test(no_memory_for_a_proxy),
    };
    return cmocka_run_group_tests_name("proxy/shortage", tests, NULL, NULL);
}
