/* exchange.c: one exchange: how it fails, pauses and streams, and what an attempt is told of it. */
#include "caller.h"

#include <stdio.h>
#include <string.h>

/* ---- failures ---- */

static void nobody_listens(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    rt_listener_close(scene.peer.listener);
    scene.peer.listener = NULL;
    struct caller *caller = call(&scene);
    assert_failed(caller, BELAY_ERROR_REFUSED, BELAY_PHASE_CONNECT);
    assert_false(caller->failure.bytes_accepted);
    scene_deinit(&scene);
}

static void connecting_takes_too_long(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    struct sim_link link = sim_link_perfect();
    link.lost = 1000;
    sim_link_set(scene.rt, NULL, &link);
    struct caller *caller = start(&scene);
    pass(&scene, 299);
    assert_int_equal(caller->failures, 0);
    pass(&scene, 2);
    assert_failed(caller, BELAY_ERROR_TIMEOUT, BELAY_PHASE_CONNECT);
    assert_int_equal(caller->ended_at_ms, 300);
    scene_deinit(&scene);
}

static void no_descriptor_is_left(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    struct sim_link link = sim_link_perfect();
    link.exhausted = 1000;
    sim_link_set(scene.rt, NULL, &link);
    assert_failed(call(&scene), BELAY_ERROR_CANCELLED, BELAY_PHASE_CONNECT);
    scene_deinit(&scene);
}

static void set_name(struct scene *scene, int64_t takes_ms, size_t count,
                     enum belay_error_class error)
{
    struct sim_name name = {.host = "orders.test", .takes = belay_span_ms(takes_ms)};
    name.result = (struct rt_resolved){.error = error, .count = count, .ttl = belay_span_ms(10000)};
    for (size_t i = 0; i < count; i++) { /* only the last of them has a listener */
        name.result.addrs[i] =
            (struct rt_addr){.family = 4, .ip = {127, 0, 0, (uint8_t)(count - i)}};
    }
    sim_name_set(scene->rt, &name);
}

static void names_are_resolved_and_kept_for_their_time(void **state)
{
    (void)state;
    struct scene scene;
    scene_named(&scene, "orders.test");
    scene.options.fresh = true;
    set_name(&scene, 40, 3, BELAY_ERROR_NONE);
    struct caller *caller = call(&scene); /* two addresses refuse, the third answers */
    assert_answered(caller, 200, "ok");
    assert_int_equal(caller->ended_at_ms, 40);
    set_name(&scene, 40, 0, BELAY_ERROR_DNS);
    assert_answered(call(&scene), 200, "ok");
    pass(&scene, 10000);
    caller = call(&scene);
    assert_failed(caller, BELAY_ERROR_DNS, BELAY_PHASE_DNS);
    assert_false(caller->failure.bytes_accepted);
    scene_deinit(&scene);
}

static void a_name_server_that_is_silent(void **state)
{
    (void)state;
    struct scene scene;
    scene_named(&scene, "orders.test");
    set_name(&scene, 10000, 1, BELAY_ERROR_NONE);
    struct caller *caller = start(&scene);
    pass(&scene, 400);
    assert_failed(caller, BELAY_ERROR_TIMEOUT, BELAY_PHASE_DNS);
    assert_int_equal(caller->ended_at_ms, 300);
    scene_deinit(&scene);
}

static void silence_is_measured_from_the_last_byte(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    PEER_SAYS(&scene.peer,
              {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", .after_ms = 4000});
    struct caller *caller = start(&scene);
    struct caller *other = NULL;
    pass(&scene, 2000);
    other = start(&scene);
    pass(&scene, 6999);
    assert_int_equal(caller->failures, 0);
    pass(&scene, 2);
    assert_failed(caller, BELAY_ERROR_TIMEOUT, BELAY_PHASE_BODY);
    assert_int_equal(caller->ended_at_ms, 9000);
    assert_true(caller->failure.head_read);
    assert_int_equal(other->failures, 0);
    pass(&scene, 2000);
    assert_int_equal(other->ended_at_ms, 11000);
    scene_deinit(&scene);
}

static void dripping_is_not_silence(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    PEER_SAYS(&scene.peer,
              {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndrip", .drip_ms = 4900});
    struct caller *caller = start(&scene);
    pass(&scene, 4900 * 50);
    assert_answered(caller, 200, "drip");
    scene_deinit(&scene);
}

static void what_is_no_answer(void **state)
{
    (void)state;
    static char flood[40000];
    static const struct {
        const char *bytes;
        enum belay_error_class error;
        enum belay_phase phase;
        enum peer_then then;
    } rows[] = {
        {"HTTP/1.1 99 X\r\n\r\n", BELAY_ERROR_PROTOCOL, BELAY_PHASE_HEADERS, PEER_KEEP},
        {"HTTP/3 200\r\n\r\n", BELAY_ERROR_PROTOCOL, BELAY_PHASE_HEADERS, PEER_KEEP},
        {"garbage\r\n\r\n", BELAY_ERROR_PROTOCOL, BELAY_PHASE_HEADERS, PEER_KEEP},
        {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
         BELAY_ERROR_PROTOCOL, BELAY_PHASE_HEADERS, PEER_KEEP},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", BELAY_ERROR_PROTOCOL,
         BELAY_PHASE_BODY, PEER_KEEP},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", BELAY_ERROR_CLOSED, BELAY_PHASE_BODY,
         PEER_CLOSE},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", BELAY_ERROR_RESET, BELAY_PHASE_BODY,
         PEER_RESET},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", BELAY_ERROR_CLOSED,
         BELAY_PHASE_BODY, PEER_CLOSE},
        {"HTTP/1.1 200 OK\r\n\r\nup to", BELAY_ERROR_RESET, BELAY_PHASE_BODY, PEER_RESET},
        {"HTTP/1.1 200 OK\r\nConte", BELAY_ERROR_CLOSED, BELAY_PHASE_HEADERS, PEER_CLOSE},
        {"", BELAY_ERROR_CLOSED, BELAY_PHASE_HEADERS, PEER_CLOSE},
        {flood, BELAY_ERROR_TOO_LARGE, BELAY_PHASE_HEADERS, PEER_KEEP},
    };
    memset(flood, 'x', sizeof flood - 1);
    memcpy(flood, "HTTP/1.1 200 OK\r\nX: ", 20);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene scene;
        scene_init(&scene);
        struct peer_reply reply = {.bytes = rows[i].bytes, .then = rows[i].then, .then_ms = 1};
        scene.peer.script = &reply;
        struct caller *caller = call(&scene);
        assert_failed(caller, rows[i].error, rows[i].phase);
        assert_true(caller->failure.bytes_accepted);
        assert_false(caller->failure.stale);
        assert_int_equal(stats(&scene).open, 0);
        scene_deinit(&scene);
    }
}

static void interim_answers_are_dropped_up_to_a_number(void **state)
{
    (void)state;
    char bytes[4096] = "";
    for (int count = 0; count < 20; count += 4) {
        struct scene scene;
        scene_init(&scene);
        bytes[0] = '\0';
        for (int i = 0; i < count; i++) {
            strcat(bytes, i % 2 ? "HTTP/1.1 100 C\r\n\r\n" : "HTTP/1.1 103 E\r\nLink: x\r\n\r\n");
        }
        strcat(bytes, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        struct peer_reply reply = {.bytes = bytes};
        scene.peer.script = &reply;
        struct caller *caller = call(&scene);
        if (count <= 16)
            assert_answered(caller, 200, "ok");
        else
            assert_failed(caller, BELAY_ERROR_PROTOCOL, BELAY_PHASE_HEADERS);
        scene_deinit(&scene);
    }
}

/* ---- cancelling, pausing, streaming ---- */

static void a_cancelled_call_is_heard_of_no_more(void **state)
{
    (void)state;
    static const int64_t moments_ms[] = {0, 1, 50, 99};
    for (size_t i = 0; i < 4; i++) {
        struct scene scene;
        scene_init(&scene);
        PEER_SAYS(&scene.peer,
                  {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\nok", .after_ms = 50});
        struct caller *caller = start(&scene);
        pass(&scene, moments_ms[i]);
        client_call_cancel(&caller->call);
        pass(&scene, 10000);
        assert_int_equal(caller->ends + caller->failures, 0);
        assert_int_equal(stats(&scene).open, 0);
        assert_int_equal(peer_open(&scene.peer), 0);
        scene_deinit(&scene);
    }
}

static void a_pause_stops_the_bytes_and_the_clock(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    PEER_SAYS(&scene.peer, {.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                     "2\r\nab\r\n2\r\ncd\r\n2\r\nef\r\n0\r\n\r\n"});
    struct caller *caller = start(&scene);
    caller->pause_at = 2;
    pass(&scene, 60000);
    assert_string_equal(caller->body, "ab");
    assert_int_equal(caller->failures + caller->ends, 0);
    caller->pause_at = 4;
    client_call_resume(&caller->call);
    assert_string_equal(caller->body, "ab"); /* not from inside */
    pass(&scene, 60000);
    assert_string_equal(caller->body, "abcd");
    caller->pause_at = 0;
    client_call_resume(&caller->call);
    pass(&scene, 1);
    assert_answered(caller, 200, "abcdef");
    assert_int_equal(stats(&scene).idle, 1);
    scene_deinit(&scene);
}

static void a_body_is_streamed(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    static const char head[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n";
    struct caller *caller = start_with(&scene, head, "abc", false);
    pass(&scene, 1);
    assert_int_equal(caller->writables, 1);
    pass(&scene, 60000); /* the caller owes bytes: no clock runs */
    assert_int_equal(caller->failures, 0);
    assert_int_equal(client_call_body(&caller->call, belay_slice_z("def"), false), 3);
    pass(&scene, 60000);
    assert_int_equal(caller->failures, 0);
    assert_int_equal(client_call_body(&caller->call, belay_slice_z("ghi"), true), 3);
    pass(&scene, 1);
    assert_answered(caller, 200, "ok");
    assert_non_null(strstr(peer_seen(&scene.peer), "\r\n\r\nabcdefghi\n--\n"));
    assert_int_equal(stats(&scene).idle, 1);
    scene_deinit(&scene);
}

static void a_body_that_is_not_taken_waits(void **state)
{
    (void)state;
    static char bytes[200000];
    struct scene scene;
    scene_init(&scene);
    memset(bytes, 'b', sizeof bytes - 1);
    PEER_SAYS(&scene.peer, {.bytes = KEEP_SILENT, .at_head = true, .deaf = true});
    static const char head[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n";
    struct caller *caller = start_with(&scene, head, "", false);
    pass(&scene, 1);
    size_t taken = client_call_body(&caller->call, belay_slice_z(bytes), false);
    assert_true(taken < sizeof bytes - 1);
    assert_int_equal(client_call_phase(&caller->call), BELAY_PHASE_SEND);
    pass(&scene, 5000);
    assert_int_equal(caller->writables, 1);
    assert_failed(caller, BELAY_ERROR_TIMEOUT, BELAY_PHASE_SEND);
    scene_deinit(&scene);
}

static void an_early_answer_is_given_and_ends_the_connection(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    PEER_SAYS(&scene.peer,
              {.bytes = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno", .at_head = true});
    static const char head[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n";
    struct caller *caller = start_with(&scene, head, "abc", false);
    pass(&scene, 10);
    assert_answered(caller, 413, "no");
    assert_int_equal(stats(&scene).open, 0);
    scene_deinit(&scene);
}

static void any_cut_of_the_bytes_gives_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct scene scene;
        scene_init(&scene);
        struct sim_link link = sim_link_perfect();
        link.short_read = link.short_write = 700;
        link.spurious = 300;
        sim_link_set(scene.rt, NULL, &link);
        PEER_SAYS(&scene.peer,
                  {.bytes =
                       "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "2;x\r\nab\r\n3\r\ncde\r\n0\r\nT: u\r\n\r\n"});
        for (uint64_t skip = 0; skip < seed; skip++) (void)sim_luck(scene.rt, 2);
        for (int i = 0; i < 3; i++) {
            assert_answered(call(&scene), 200, "abcde");
        }
        assert_int_equal(scene.peer.accepted, 1);
        scene_deinit(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(connecting_takes_too_long),
        cmocka_unit_test(no_descriptor_is_left),
        cmocka_unit_test(names_are_resolved_and_kept_for_their_time),
        cmocka_unit_test(a_name_server_that_is_silent),
        cmocka_unit_test(silence_is_measured_from_the_last_byte),
        cmocka_unit_test(dripping_is_not_silence),
        cmocka_unit_test(what_is_no_answer),
        cmocka_unit_test(interim_answers_are_dropped_up_to_a_number),
        cmocka_unit_test(a_cancelled_call_is_heard_of_no_more),
        cmocka_unit_test(a_pause_stops_the_bytes_and_the_clock),
        cmocka_unit_test(a_body_is_streamed),
        cmocka_unit_test(a_body_that_is_not_taken_waits),
        cmocka_unit_test(an_early_answer_is_given_and_ends_the_connection),
        cmocka_unit_test(any_cut_of_the_bytes_gives_the_same),
    };
    return cmocka_run_group_tests_name("client/exchange", tests, NULL, NULL);
}
