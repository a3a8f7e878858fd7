/* shortage.c: an admin page while every allocation fails once: told whole, or that there is no
 * memory, and the next one is told. */
#include "test.h"

#include "admin/admin.h"
#include "caller.h"
#include "shortage.h"

#include <string.h>

static void snapshot(void *owner, struct admin_snapshot *out)
{
    *out = *(const struct admin_snapshot *)owner;
}

struct desk {
    struct rt *rt;
    struct history history;
    struct admin *admin;
    struct rt_addr addr;
};

static struct reply ask(struct desk *desk, const char *path)
{
    struct caller_plan plan = {
        .to = desk->addr, .requests = {{.method = "GET", .path = path}}, .count = 1};
    struct caller *caller = caller_create(&desk->history, &plan);
    (void)sim_run_until(desk->rt, belay_instant_add(rt_now(desk->rt), belay_span_ms(1000)));
    assert_true(caller_done(caller));
    struct reply reply = *caller_reply(caller, 0);
    caller_destroy(caller);
    return reply;
}

/* A page longer than what an exchange has room for from its beginning. */
static void desk_init(struct desk *desk, const struct admin_snapshot *told)
{
    const char *error;
    desk->rt = rt_create(1);
    desk->addr = (struct rt_addr){.family = 4, .ip = {127, 0, 0, 1}};
    history_init(&desk->history, desk->rt);
    desk->admin = admin_create(desk->rt, snapshot, (void *)(uintptr_t)told);
    assert_non_null(desk->admin);
    assert_true(admin_listen(desk->admin, &desk->addr, &error));
    admin_addr(desk->admin, &desk->addr);
}

static void desk_deinit(struct desk *desk)
{
    struct sim_open open;
    admin_destroy(desk->admin);
    (void)sim_run_until(desk->rt, belay_instant_never());
    sim_open(desk->rt, &open);
    assert_int_equal(open.conns + open.listeners + open.timers + open.hooks, 0);
    rt_destroy(desk->rt);
    history_deinit(&desk->history);
}

static void every_page_is_told_or_that_memory_lacks(void **state)
{
    (void)state;
    static const char *const pages[] = {"/livez", "/readyz", "/metrics", "/targets", "/none"};
    static const long widths[] = {1, 3, SHORTAGE_FOREVER};
    struct admin_target targets[40];
    struct admin_snapshot told = {.targets = targets, .target_count = 40};
    memset(targets, 0, sizeof targets);
    for (size_t i = 0; i < 40; i++) targets[i].name = belay_slice_z("orders");
    for (size_t p = 0; p < sizeof pages / sizeof pages[0] * 3; p++) {
        const char *page = pages[p / 3];
        bool failed = true;
        for (long n = 0; failed; n++) {
            struct desk desk;
            desk_init(&desk, &told);
            shortage_begin(n, widths[p % 3]);
            struct reply reply = ask(&desk, page);
            failed = shortage_end() > 0;
            int good = strcmp(page, "/none") == 0 ? 404 : 200;
            if (reply.kind == REPLY_WHOLE)
                assert_true(reply.status == good || (failed && reply.status == 503));
            else
                assert_true(failed && (reply.kind == REPLY_CUT || reply.kind == REPLY_RESET));
            reply = ask(&desk, page);
            assert_int_equal(reply.kind, REPLY_WHOLE);
            assert_int_equal(reply.status, good);
            desk_deinit(&desk);
        }
    }
}

static void an_admin_without_memory_is_none(void **state)
{
    (void)state;
    struct admin_snapshot told = {0};
    struct rt *rt = rt_create(1);
    struct admin *admin = NULL;
    long n = 0;
    for (; !admin; n++) {
        shortage_begin(n, 1);
        admin = admin_create(rt, snapshot, &told);
        assert_int_equal(shortage_end() == 0, admin != NULL);
    }
    assert_true(n > 2);
    admin_destroy(admin);
    rt_destroy(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_page_is_told_or_that_memory_lacks),
        cmocka_unit_test(an_admin_without_memory_is_none),
    };
    return cmocka_run_group_tests_name("admin/shortage", tests, NULL, NULL);
}
