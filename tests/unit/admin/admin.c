/* admin.c: health, readiness and numbers are told, and nothing else. */
#include "admin/admin.h"

#include "../server/world.h"
#include "test.h"

#include <stdio.h>

static void snapshot(void *owner, struct admin_snapshot *out)
{
    *out = *(const struct admin_snapshot *)owner;
}

/* One request to a fresh admin on its own world; the answer lives until the next call. */
static const char *ask(const char *request, const struct admin_snapshot *told, bool draining)
{
    static char got[65536];
    struct world world = {0};
    world_start(&world);
    server_destroy(world.server);
    world.server = NULL;
    struct admin *admin = admin_create(&world.rt, snapshot, (void *)(uintptr_t)told);
    struct rt_addr addr = {.family = 4, .ip = {127, 0, 0, 1}};
    const char *error = NULL;
    assert_true(admin_listen(admin, &addr, &error));
    admin_addr(admin, &addr);
    assert_int_equal(addr.port, 8080);
    if (draining) admin_announce_drain(admin);
    struct rt_conn *conn = world_request(&world, request);
    (void)snprintf(got, sizeof got, "%s", client_got(conn));
    admin_destroy(admin);
    world_stop(&world);
    return got;
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

static void it_is_alive_and_ready_until_it_drains(void **state)
{
    (void)state;
    struct admin_snapshot none = {0};
    assert_memory_equal(ask(GET("/livez"), &none, false), "HTTP/1.1 200 ", 13);
    assert_memory_equal(ask(GET("/readyz"), &none, false), "HTTP/1.1 200 ", 13);
    assert_memory_equal(ask(GET("/livez"), &none, true), "HTTP/1.1 200 ", 13);
    assert_memory_equal(ask(GET("/readyz"), &none, true), "HTTP/1.1 503 ", 13);
}

static void other_requests_are_refused(void **state)
{
    (void)state;
    struct admin_snapshot none = {0};
    assert_memory_equal(ask(GET("/"), &none, false), "HTTP/1.1 404 ", 13);
    assert_memory_equal(ask(GET("/metrics/"), &none, false), "HTTP/1.1 404 ", 13);
    const char *got =
        ask("POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", &none, false);
    assert_memory_equal(got, "HTTP/1.1 405 ", 13);
    assert_non_null(strstr(got, "Allow: GET, HEAD\r\n"));
    assert_memory_equal(ask("what\r\n\r\n", &none, false), "HTTP/1.1 400 ", 13);
    got = ask("HEAD /readyz HTTP/1.1\r\nHost: a\r\n\r\n", &none, false);
    assert_non_null(strstr(got, "Content-Length: 6\r\n"));
    assert_null(strstr(got, "ready\n"));
}

static void metrics_and_targets_are_told(void **state)
{
    (void)state;
    struct admin_target target = {.name = belay_slice_z("orders"),
                                  .stats = {.retries = 3, .breaker_state = 1}};
    struct admin_snapshot told = {.targets = &target, .target_count = 1, .workers = 2};
    const char *got = ask(GET("/metrics"), &told, false);
    assert_non_null(strstr(got, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    assert_non_null(strstr(got, "\nbelay_retries_total{target=\"orders\"} 3\n"));
    got = ask(GET("/targets"), &told, false);
    assert_non_null(strstr(got, "{\"targets\":[{\"target\":\"orders\",\"breaker\":\"open\","));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_alive_and_ready_until_it_drains),
        cmocka_unit_test(other_requests_are_refused),
        cmocka_unit_test(metrics_and_targets_are_told),
    };
    return cmocka_run_group_tests_name("admin", tests, NULL, NULL);
}
