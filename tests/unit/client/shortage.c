/* shortage.c: a call in which every allocation fails once ends once, by its answer or by a shortage
 * of ours, and the next call is answered. */
#include "caller.h"
#include "shortage.h"

#include <string.h>

static const long WIDTHS[] = {1, 3, SHORTAGE_FOREVER};

static void set_name(struct scene *scene)
{
    struct sim_name name = {.host = "orders.test", .takes = belay_span_ms(5)};
    name.result = (struct rt_resolved){.count = 2, .ttl = belay_span_ms(10)};
    /* Nobody listens at the first. */
    name.result.addrs[0] = (struct rt_addr){.family = 4, .ip = {127, 0, 0, 2}};
    name.result.addrs[1] = (struct rt_addr){.family = 4, .ip = {127, 0, 0, 1}};
    sim_name_set(scene->rt, &name);
}

static void give_body(struct scene *scene, struct caller *caller)
{
    static const char *const pieces[] = {"2\r\nhe\r\n", "3\r\nllo\r\n", "0\r\n\r\n"};
    for (int i = 0; i < 3; i++) {
        if (caller->failures || caller->ends) return;
        assert_int_equal(caller->writables, 1);
        struct belay_slice piece = belay_slice_z(pieces[i]);
        assert_int_equal(client_call_body(&caller->call, piece, i == 2), piece.length);
        pass(scene, 1);
    }
}

enum kind { PLAIN, IN_PIECES, PAUSED, STREAMED, KIND_COUNT };

static struct caller *one_call(struct scene *scene, enum kind kind)
{
    struct caller *caller;
    if (kind != STREAMED) {
        caller = start(scene);
        caller->pause_at = kind == PAUSED ? 1 : 0;
    } else {
        caller = start_with(
            scene, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "", false);
    }
    pass(scene, 50);
    if (kind == STREAMED) give_body(scene, caller);
    if (kind == PAUSED && caller->ends + caller->failures == 0) {
        caller->pause_at = 0;
        client_call_resume(&caller->call);
    }
    pass(scene, 1000);
    return caller;
}

static long tell(enum kind kind, long n, long width)
{
    struct scene scene;
    struct sim_link link = sim_link_perfect();
    scene_named(&scene, "orders.test");
    set_name(&scene);
    link.short_read = kind == IN_PIECES ? 1000 : 0;
    sim_link_set(scene.rt, &scene.peer.addr, &link);
    PEER_SAYS(&scene.peer, {.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                     "1\r\no\r\n1\r\nk\r\n0\r\n\r\n"});
    shortage_begin(n, width);
    struct caller *caller = one_call(&scene, kind);
    long failed = shortage_end();
    assert_int_equal(caller->ends + caller->failures, 1);
    if (caller->ends) assert_string_equal(caller->body, "ok");
    if (failed == 0) assert_int_equal(caller->ends, 1);
    /* Nobody listens at the first address; the second found no memory, or was not tried. */
    enum belay_error_class error = caller->failure.error;
    assert_true(!caller->failures || error == BELAY_ERROR_CANCELLED);
    assert_answered(one_call(&scene, kind), 200, "ok");
    assert_int_equal(stats(&scene).open, stats(&scene).idle);
    scene_deinit(&scene);
    return failed;
}

static void every_allocation_of_a_call_may_fail(void **state)
{
    (void)state;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        for (size_t w = 0; w < sizeof WIDTHS / sizeof WIDTHS[0]; w++) {
            long n = 0;
            while (tell((enum kind)kind, n, WIDTHS[w]) > 0) n++;
            assert_true(n > 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_of_a_call_may_fail)};
    return cmocka_run_group_tests_name("client/shortage", tests, NULL, NULL);
}
