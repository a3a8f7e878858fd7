/* headers.c: routes, ids, traces and deadlines: what a request's head says, and what the origin is
 * told. */
#include "scene.h"

#include <string.h>

static void routes_decide_or_refuse(void **state)
{
    (void)state;
    static const char routes[] =
        "      - { path: \"/orders/{id}\", method: [GET, HEAD], target: shop }\n"
        "      - { path: /pay, target: shop, idempotency_key: required }\n";
    struct scene scene;
    scene_init(&scene, "", routes);
    scene_ask(&scene, GET("/orders/17?x=1"));
    assert_string_equal(scene_value(&scene, 0, "endpoint"), "/orders/{id}");
    assert_string_equal(scene_value(&scene, 0, "route"), "/orders/{id}");
    assert_true(scene_saw(&scene, "GET /orders/17?x=1 HTTP/1.1\r\n"));
    assert_problem(scene_ask(&scene, GET("/other")), 404, "no-route", "destination_not_found");
    struct scene_client *client = scene_ask(&scene, "POST /orders/17 HTTP/1.1\r\nHost: s\r\n\r\n");
    assert_problem(client, 405, "method-not-routed", "http_request_denied");
    assert_non_null(strstr(scene_got(client), "\r\nAllow: GET, HEAD\r\n"));
    assert_problem(scene_ask(&scene, "POST /pay HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\n\r\nx"),
                   400, "key-required", "http_request_error");
    assert_int_equal(scene.peer.requests, 1);
    assert_int_equal(scene_stats(&scene).unrouted, 2);
    scene_deinit(&scene);
}

static void ids_are_taken_or_made(void **state)
{
    (void)state;
    static const struct {
        const char *field;
        bool taken;
    } rows[] = {{"X-Operation-Id: op-42", true},  {"X-Operation-Id: a b", false},
                {"X-Operation-Id: \"x\"", false}, {"X-Operation-Id: a\r\nX-Operation-Id: a", false},
                {"X-Operation-Id:", false},       {"X-Other: 1", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene scene;
        char request[256];
        scene_init(&scene, "", NULL);
        PEER_SAYS(
            &scene.peer, {.bytes = FAIL(503)},
            {.bytes = "HTTP/1.1 200 OK\r\nX-Operation-Id: theirs\r\nContent-Length: 2\r\n\r\nok"});
        (void)snprintf(request, sizeof request,
                       "GET / HTTP/1.1\r\nHost: s\r\nX-Request-Id: mine\r\n%s\r\n\r\n",
                       rows[i].field);
        struct scene_client *client = scene_ask(&scene, request);
        const char *id = scene_value(&scene, 0, "operationId");
        if (rows[i].taken)
            assert_string_equal(id, "op-42");
        else
            assert_int_equal(strlen(id), 32);
        char text[256];
        (void)snprintf(text, sizeof text,
                       "\r\nX-Operation-Id: %s\r\nX-Request-Id: %s/attempt-2\r\n", id, id);
        assert_true(scene_saw(&scene, text));
        assert_true(scene_saw(&scene, "\r\nX-Request-Attempt: 2\r\n"));
        assert_false(scene_saw(&scene, "mine"));
        assert_string_equal(scene_value(&scene, 1, "operationId"), id);
        (void)snprintf(text, sizeof text, "\r\nX-Operation-Id: %s\r\n", id);
        struct belay_slice got = buf_slice(&client->got);
        assert_non_null(memmem(got.data, got.length, text, strlen(text)));
        assert_null(memmem(got.data, got.length, "theirs", 6));
        scene_deinit(&scene);
    }
}

static void traces_go_on_or_begin(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    PEER_SAYS(&scene.peer, {.bytes = FAIL(503)}, {.bytes = OK("ok", 2)});
    scene_ask(&scene,
              "GET / HTTP/1.1\r\nHost: s\r\ntracestate: a=b\r\n"
              "traceparent: 00-0123456789abcdef0123456789abcdef-1111111111111111-00\r\n\r\n");
    assert_true(scene_saw(&scene, "\r\ntraceparent: 00-0123456789abcdef0123456789abcdef-"));
    assert_true(scene_saw(&scene, "-00\r\n"));
    assert_true(scene_saw(&scene, "\r\ntracestate: a=b\r\n"));
    assert_false(scene_saw(&scene, "1111111111111111"));
    assert_string_equal(scene_value(&scene, 0, "traceId"), "0123456789abcdef0123456789abcdef");
    assert_string_not_equal(scene_value(&scene, 0, "spanId"), scene_value(&scene, 1, "spanId"));
    scene_ask(&scene,
              "GET / HTTP/1.1\r\nHost: s\r\ntracestate: c=d\r\ntraceparent: 00-0-0-00\r\n\r\n");
    assert_int_equal(strlen(scene_value(&scene, 3, "traceId")), 32);
    assert_false(scene_saw(&scene, "c=d"));
    scene_deinit(&scene);
}

static void deadlines_in_and_out(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
        uint64_t ignored;
    } rows[] = {
        {"X-Other: 1", "X-Request-Timeout-Ms: 1995", 0},
        {"X-Request-Timeout-Ms: 500", "X-Request-Timeout-Ms: 495", 0},
        {"X-Request-Timeout-Ms: 5000", "X-Request-Timeout-Ms: 1995", 0},
        {"x-envoy-expected-rq-timeout-ms: 700\r\ngrpc-timeout: 300m",
         "x-envoy-expected-rq-timeout-ms: 295\r\ngrpc-timeout: 295m\r\nX-Request-Timeout-Ms: 295",
         0},
        {"connect-timeout-ms: 400\r\nX-Request-Timeout-Ms: abc",
         "connect-timeout-ms: 395\r\nX-Request-Timeout-Ms: 395", 1},
        {"grpc-timeout: 1S", "grpc-timeout: 995m\r\nX-Request-Timeout-Ms: 995", 0},
        {"grpc-timeout: 5ms", "grpc-timeout: 1995m\r\nX-Request-Timeout-Ms: 1995", 1},
        {"X-Request-Timeout-Ms: 1.5\r\nX-Request-Timeout-Ms: 600", "X-Request-Timeout-Ms: 595", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene scene;
        char request[256], out[256];
        scene_init(&scene, "", NULL);
        (void)snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: s\r\n%s\r\n\r\n",
                       rows[i].in);
        (void)snprintf(out, sizeof out, "\r\n%s\r\nX-Operation-Id:", rows[i].out);
        scene_ask(&scene, request);
        if (!scene_saw(&scene, out)) fail_msg("no %s in %s", out, peer_seen(&scene.peer));
        assert_int_equal(scene_stats(&scene).deadlines_ignored, rows[i].ignored);
        scene_deinit(&scene);
    }
}

static void the_clock_begins_at_the_first_byte(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    struct scene_client *client = scene_connect(&scene);
    scene_send(client, "POST / HTTP/1.1\r\n");
    scene_pass(&scene, 300);
    scene_send(client, "Host: s\r\nX-Request-Timeout-Ms: 1000\r\nContent-Length: 2\r\n\r\n");
    scene_pass(&scene, 200);
    scene_send(client, "ok");
    scene_pass(&scene, 10);
    assert_true(scene_saw(&scene, "\r\nX-Request-Timeout-Ms: 495\r\n"));
    assert_string_equal(scene_value(&scene, 0, "remainingMs"), "500");
    scene_deinit(&scene);
}

static void an_upload_that_takes_all_the_time(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    struct scene_client *client = scene_connect(&scene);
    scene_send(client, "POST / HTTP/1.1\r\nHost: s\r\nContent-Length: 2\r\n\r\no");
    scene_pass(&scene, 3000);
    assert_problem(client, 504, "deadline-exceeded", "http_response_timeout");
    assert_int_equal(client->over_at_ms, 2000);
    assert_story(&scene, "= deadline_exceeded answer 504 attempts 0 none\n");
    assert_int_equal(scene.peer.accepted, 0);
    scene_deinit(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_decide_or_refuse),
        cmocka_unit_test(ids_are_taken_or_made),
        cmocka_unit_test(traces_go_on_or_begin),
        cmocka_unit_test(deadlines_in_and_out),
        cmocka_unit_test(the_clock_begins_at_the_first_byte),
        cmocka_unit_test(an_upload_that_takes_all_the_time),
    };
    return cmocka_run_group_tests_name("proxy/headers", tests, NULL, NULL);
}
