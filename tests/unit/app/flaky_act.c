/* flaky_act.c: every way to misbehave is what it says, in a scripted world. */
#include "app/flaky_act.h"

#include "../server/world.h"
#include "base/check.h"
#include "test.h"

#include <stdio.h>

struct stage {
    struct world world;
    struct flaky flaky;
};

static void stage_start(struct stage *stage)
{
    list_init(&stage->flaky.acts);
    flaky_script_init(&stage->flaky.common);
    stage->flaky.quiet = true;
    stage->flaky.rt = &stage->world.rt;
    stage->flaky.counts = flaky_counts_create(16);
    stage->world.handler = &flaky_handler;
    stage->world.owner = &stage->flaky;
    world_start(&stage->world);
    stage->flaky.server = stage->world.server;
}

static void stage_stop(struct stage *stage)
{
    flaky_forget_acts(&stage->flaky);
    world_stop(&stage->world);
    flaky_counts_destroy(stage->flaky.counts);
}

static struct rt_conn *get(struct stage *stage, const char *target, const char *fields)
{
    char request[512];
    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n", target, fields);
    return world_request(&stage->world, request);
}

static void assert_begins(const char *text, const char *with)
{
    if (strncmp(text, with, strlen(with)) != 0)
        fail_msg("'%s' does not begin with '%s'", text, with);
}

static void assert_ends(const char *text, const char *with)
{
    size_t length = strlen(text), tail = strlen(with);
    if (length < tail || strcmp(text + length - tail, with) != 0)
        fail_msg("'%s' does not end with '%s'", text, with);
}

static void the_first_calls_of_a_key_fail(void **state)
{
    (void)state;
    struct stage stage = {0};
    stage_start(&stage);
    static const char target[] = "/flaky?fail=2&retry-after=1";
    static const char *const ids[] = {"X-Operation-Id: op-1\r\n", "X-Operation-Id: op-2\r\n"};
    for (int call = 1; call <= 3; call++) {
        for (int i = 0; i < 2; i++) {
            struct rt_conn *conn = get(&stage, target, ids[i]);
            const char *got = client_got(conn);
            assert_begins(got, call <= 2 ? "HTTP/1.1 503 Service Unavailable\r\n"
                                         : "HTTP/1.1 200 OK\r\n");
            assert_int_equal(strstr(got, "Retry-After: 1\r\n") != NULL, call <= 2);
            conn->in_end = true;
            world_settle(&stage.world);
        }
    }
    stage_stop(&stage);
}

static void a_header_scripts_any_path(void **state)
{
    (void)state;
    struct stage stage = {0};
    stage_start(&stage);
    assert_begins(
        client_got(get(&stage, "/orders/42?fail=ignored", "X-Flaky: status=429&key=k\r\n")),
        "HTTP/1.1 429 ");
    assert_begins(client_got(get(&stage, "/orders/42?fail=ignored", "")), "HTTP/1.1 200 ");
    struct rt_conn *conn = get(&stage, "/orders/42", "X-Flaky: staus=429\r\n");
    assert_begins(client_got(conn), "HTTP/1.1 400 ");
    assert_ends(client_got(conn), "unknown setting 'staus'; did you mean status\n");
    assert_int_equal(stage.flaky.bad_scripts, 1);
    stage_stop(&stage);
}

static void faults_are_what_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *target, *begins, *ends;
        bool closed, aborted;
    } rows[] = {
        {"/reset", "", "", true, true},
        {"/close", "", "", true, false},
        {"/close-mid-body?bytes=8", "HTTP/1.1 200 OK\r\n", "Content-Length: 8\r\n\r\nxxxx", true,
         false},
        {"/reset-mid-body?bytes=8&status=500", "HTTP/1.1 500 ", "Content-Length: 8\r\n\r\nxxxx",
         true, true},
        {"/truncate-chunked?bytes=3", "HTTP/1.1 200 OK\r\n", "\r\n\r\n3\r\nxxx\r\n", true, false},
        {"/garbage", "\x16\x03\x01", "\n\n", true, false},
        {"/close-after", "HTTP/1.1 200 OK\r\n", "{\"call\":1,\"status\":200}\n", false, false},
        {"/bytes/5", "HTTP/1.1 200 OK\r\n", "Content-Length: 5\r\n\r\nxxxxx", false, false},
        {"/status/204", "HTTP/1.1 204 No Content\r\n", "\r\n\r\n", false, false},
        {"/delay/20ms", "HTTP/1.1 200 OK\r\n", "{\"call\":1,\"status\":200}\n", false, false},
        {"/drip?bytes=3&every=30ms", "HTTP/1.1 200 OK\r\n", "Content-Length: 3\r\n\r\n...", false,
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct stage stage = {0};
        stage_start(&stage);
        struct rt_conn *conn = get(&stage, rows[i].target, "");
        world_pass(&stage.world, belay_span_ms(100));
        assert_begins(client_got(conn), rows[i].begins);
        assert_ends(client_got(conn), rows[i].ends);
        assert_int_equal(conn->closed, rows[i].closed);
        assert_int_equal(conn->shut, strcmp(rows[i].target, "/close-after") == 0);
        assert_int_equal(conn->aborted, rows[i].aborted);
        assert_true(list_empty(&stage.flaky.acts));
        stage_stop(&stage);
    }
}

static void a_delay_and_a_drip_take_their_time(void **state)
{
    (void)state;
    struct stage stage = {0};
    stage_start(&stage);
    struct rt_conn *conn = get(&stage, "/drip?bytes=3&every=30ms&delay=20ms", "");
    world_pass(&stage.world, belay_span_ms(19));
    assert_string_equal(client_got(conn), "");
    world_pass(&stage.world, belay_span_ms(1));
    assert_ends(client_got(conn), "\r\n\r\n.");
    world_pass(&stage.world, belay_span_ms(29));
    assert_ends(client_got(conn), "\r\n\r\n.");
    world_pass(&stage.world, belay_span_ms(1));
    assert_ends(client_got(conn), "\r\n\r\n..");
    stage_stop(&stage); /* in the middle of it */
}

static void silence_ends_when_the_client_leaves(void **state)
{
    (void)state;
    struct stage stage = {0};
    stage_start(&stage);
    struct rt_conn *conn = get(&stage, "/silence", "");
    world_pass(&stage.world, belay_span_ms(100000));
    assert_string_equal(client_got(conn), "");
    assert_false(conn->closed);
    conn->in_end = true;
    world_settle(&stage.world);
    assert_true(conn->closed);
    conn = get(&stage, "/silence?delay=1s", "");
    conn->in_end = true; /* it left before the silence began */
    world_pass(&stage.world, belay_span_ms(1000));
    assert_true(conn->closed);
    conn = get(&stage, "/silence", "");
    conn->in_reset = true;
    world_settle(&stage.world);
    assert_true(list_empty(&stage.flaky.acts));
    stage_stop(&stage);
}

static void a_reused_connection_is_closed(void **state)
{
    (void)state;
    struct stage stage = {0};
    stage_start(&stage);
    struct rt_conn *conn = get(&stage, "/close-on-reuse", "");
    assert_begins(client_got(conn), "HTTP/1.1 200 OK\r\n");
    assert_false(conn->closed);
    size_t before = buf_length(&conn->out);
    client_send(conn, "GET /close-on-reuse HTTP/1.1\r\nHost: a\r\n\r\n");
    world_settle(&stage.world);
    assert_int_equal(buf_length(&conn->out), before);
    assert_true(conn->closed);
    stage_stop(&stage);
}

static void a_call_that_crosses_the_end_is_read_and_counted(void **state)
{
    (void)state;
    struct stage stage = {0};
    char line[256];
    stage_start(&stage);
    stage.flaky.calls = tmpfile();
    assert_non_null(stage.flaky.calls);
    struct rt_conn *conn = get(&stage, "/close-after?key=k", "X-Request-Id: a\"b\r\n");
    size_t before = buf_length(&conn->out);
    client_send(conn, "GET /close-after?key=k HTTP/1.1\r\nHost: a\r\nX-Request-Id: c\r\n\r\n");
    world_settle(&stage.world);
    assert_int_equal(buf_length(&conn->out), before);
    assert_true(conn->aborted);
    assert_int_equal(stage.flaky.after_close, 1);
    assert_int_equal(flaky_counts_totals(stage.flaky.counts)->calls, 2);
    /* It took no turn. */
    (void)get(&stage, "/flaky?fail=2&key=k", "");
    static const char *const lines[] = {"{\"requestId\":\"a\\\"b\",\"plays\":\"close-after\"}\n",
                                        "{\"requestId\":\"c\",\"plays\":\"after-close\"}\n",
                                        "{\"requestId\":\"\",\"plays\":\"503\"}\n"};
    rewind(stage.flaky.calls);
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(fgets(line, sizeof line, stage.flaky.calls));
        assert_string_equal(line, lines[i]);
    }
    (void)fclose(stage.flaky.calls);
    stage_stop(&stage);
}

static void a_drip_is_over_with_its_last_byte(void **state)
{
    (void)state;
    struct stage stage = {0};
    stage_start(&stage);
    struct rt_conn *conn = get(&stage, "/drip?bytes=2&every=30ms", "");
    world_pass(&stage.world, belay_span_ms(30));
    client_send(conn, "GET /status/404 HTTP/1.1\r\nHost: a\r\n\r\n");
    world_settle(&stage.world);
    assert_non_null(strstr(client_got(conn), "\r\n\r\n..HTTP/1.1 404 "));
    stage_stop(&stage);
}

static void bodies_are_echoed_and_counted(void **state)
{
    (void)state;
    struct stage stage = {0};
    stage_start(&stage);
    static const char head[] =
        "POST /echo HTTP/1.1\r\nHost: a\r\nX-Operation-Id: op-1\r\nContent-Type: a/b\r\n"
        "Content-Length: 5\r\n\r\n";
    struct rt_conn *conn = world_request(&stage.world, head);
    client_send(conn, "hello");
    world_settle(&stage.world);
    assert_non_null(strstr(client_got(conn), "Content-Type: a/b\r\n"));
    assert_ends(client_got(conn), "\r\n\r\nhello");
    conn = world_request(&stage.world, head);
    client_send(conn, "hal");
    world_settle(&stage.world);
    conn->in_reset = true;
    world_settle(&stage.world);
    conn = get(&stage, "/_flaky/counts?operation=op-1", "");
    assert_ends(client_got(conn),
                "{\"operation\":\"op-1\",\"calls\":2,\"bodiesComplete\":1,\"bodiesCut\":1,"
                "\"bodyBytes\":8,\"methods\":{\"POST\":2}}\n");
    stage_stop(&stage);
}

static void a_body_that_came_whole_is_counted_once_when_its_client_leaves(void **state)
{
    (void)state;
    struct stage stage = {0};
    stage_start(&stage);
    struct rt_conn *conn =
        world_request(&stage.world, "POST /silence HTTP/1.1\r\nHost: a\r\n"
                                    "X-Operation-Id: op-1\r\nContent-Length: 5\r\n\r\n");
    client_send(conn, "hello");
    world_settle(&stage.world);
    conn->in_reset = true;
    world_settle(&stage.world);
    conn = get(&stage, "/_flaky/counts?operation=op-1", "");
    assert_ends(client_got(conn),
                "{\"operation\":\"op-1\",\"calls\":1,\"bodiesComplete\":1,\"bodiesCut\":0,"
                "\"bodyBytes\":5,\"methods\":{\"POST\":1}}\n");
    stage_stop(&stage);
}

static void too_long_an_echo_is_refused(void **state)
{
    (void)state;
    struct stage stage = {0};
    stage_start(&stage);
    struct rt_conn *conn = world_request(
        &stage.world, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n");
    static char piece[1000001];
    memset(piece, 'b', sizeof piece - 1);
    for (int i = 0; i < 10 && !conn->closed; i++) {
        client_send(conn, piece);
        world_settle(&stage.world);
    }
    assert_begins(client_got(conn), "HTTP/1.1 413 ");
    assert_true(conn->closed);
    stage_stop(&stage);
}

static void a_large_answer_waits_for_a_slow_reader(void **state)
{
    (void)state;
    struct stage stage = {0};
    stage_start(&stage);
    struct rt_conn *conn = world_connect(&stage.world);
    conn->write_room = 1000;
    client_send(conn, "GET /bytes/1000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    world_settle(&stage.world);
    assert_int_equal(buf_length(&conn->out), 1000);
    conn->write_room = SIZE_MAX;
    world_settle(&stage.world);
    assert_true(buf_length(&conn->out) > 1000000);
    assert_true(list_empty(&stage.flaky.acts));
    stage_stop(&stage);
}

static void chance_takes_its_share(void **state)
{
    (void)state;
    struct stage stage = {0};
    stage_start(&stage);
    stage.flaky.chance_count = 2;
    for (size_t i = 0; i < 2; i++) {
        flaky_script_init(&stage.flaky.chances[i].script);
        stage.flaky.chances[i].script.status = i == 0 ? 500 : 502;
        stage.flaky.chances[i].per_million = 250000;
    }
    stage.world.rt.luck = 0;
    assert_begins(client_got(get(&stage, "/a", "")), "HTTP/1.1 500 ");
    stage.world.rt.luck = UINT64_MAX / 4 + 1000;
    assert_begins(client_got(get(&stage, "/a", "")), "HTTP/1.1 502 ");
    stage.world.rt.luck = UINT64_MAX / 2 + 1000;
    assert_begins(client_got(get(&stage, "/a", "")), "HTTP/1.1 200 ");
    stage_stop(&stage);
}

static void the_desk_counts_and_resets(void **state)
{
    (void)state;
    struct stage stage = {0};
    stage_start(&stage);
    struct rt_conn *conn = get(&stage, "/status/404?key=k", "");
    client_send(conn, "HEAD /close HTTP/1.1\r\nHost: a\r\n\r\n");
    world_settle(&stage.world);
    conn = get(&stage, "/_flaky/counts", "");
    assert_ends(client_got(conn),
                "\r\n\r\n{\"calls\":2,\"bodiesComplete\":0,\"bodiesCut\":0,\"bodyBytes\":0,"
                "\"methods\":{\"GET\":1,\"HEAD\":1},\"statuses\":{\"404\":1},"
                "\"faults\":{\"close\":1},\"callsAfterClose\":0,\"badScripts\":0,\"badRequests\":0,"
                "\"operations\":3,"
                "\"forgotten\":0,\"connectionsAccepted\":2,\"connections\":1}\n");
    client_send(conn, "GET /_flaky/counts?operation=k HTTP/1.1\r\nHost: a\r\n\r\n"
                      "GET /_flaky/reset HTTP/1.1\r\nHost: a\r\n\r\nPOST /_flaky/reset "
                      "HTTP/1.1\r\nHost: a\r\n\r\n"
                      "GET /_flaky/what HTTP/1.1\r\nHost: a\r\n\r\n"
                      "GET /_flaky/counts?operation=k HTTP/1.1\r\nHost: a\r\n\r\n");
    world_settle(&stage.world);
    const char *got = client_got(conn);
    assert_non_null(strstr(got, "{\"operation\":\"k\",\"calls\":1,"));
    assert_non_null(strstr(got, "HTTP/1.1 405 "));
    assert_non_null(strstr(got, "HTTP/1.1 204 "));
    assert_non_null(strstr(got, "HTTP/1.1 404 "));
    assert_non_null(strstr(got, "{\"operation\":\"k\",\"calls\":0,"));
    stage_stop(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_calls_of_a_key_fail),
        cmocka_unit_test(a_header_scripts_any_path),
        cmocka_unit_test(faults_are_what_they_say),
        cmocka_unit_test(a_delay_and_a_drip_take_their_time),
        cmocka_unit_test(silence_ends_when_the_client_leaves),
        cmocka_unit_test(a_reused_connection_is_closed),
        cmocka_unit_test(a_call_that_crosses_the_end_is_read_and_counted),
        cmocka_unit_test(a_drip_is_over_with_its_last_byte),
        cmocka_unit_test(bodies_are_echoed_and_counted),
        cmocka_unit_test(a_body_that_came_whole_is_counted_once_when_its_client_leaves),
        cmocka_unit_test(too_long_an_echo_is_refused),
        cmocka_unit_test(a_large_answer_waits_for_a_slow_reader),
        cmocka_unit_test(chance_takes_its_share),
        cmocka_unit_test(the_desk_counts_and_resets),
    };
    return cmocka_run_group_tests_name("flaky", tests, NULL, NULL);
}
