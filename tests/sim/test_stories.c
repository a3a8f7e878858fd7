/* test_stories.c: the five stories as golden traces, with the number of calls at the origin. */
#include "caller.h"
#include "egress.h"
#include "golden.h"
#include "origin.h"

static const char ORDERS[] = "targets:\n"
                             "  orders:\n"
                             "    addresses: [ 127.0.0.1:9000 ]\n"
                             "    policy:\n"
                             "      deadline: 400ms\n"
                             "      reserve: 0ms\n"
                             "      attempts: 3\n"
                             "      attempt_timeout: 200ms\n"
                             "      backoff: { kind: constant, base: 40ms }\n"
                             "listeners:\n"
                             "  - listen: 127.0.0.1:8080\n"
                             "    kind: egress\n"
                             "    routes:\n"
                             "      - { path: '/orders/{id}', target: orders }\n";

/* One request through belay to an origin that follows the script; how often the origin was called.
 */
static size_t tell(const char *name, const char *script, const char *method, int status)
{
    struct rt *rt = rt_create(1);
    struct history history;
    struct egress egress;
    history_init(&history, rt);
    history.tracing = true;
    struct origin *origin = origin_create(&history, "origin", 9000, script, ORIGIN_IN_TURN);
    egress_init(&egress, &history, ORDERS);
    struct caller_plan plan = {.to = egress.addr, .count = 1};
    plan.requests[0] =
        (struct caller_request){.operation = "op-42", .method = method, .path = "/orders/7"};
    plan.requests[0].body_bytes = strcmp(method, "POST") == 0 ? 100 : 0;
    struct caller *caller = caller_create(&history, &plan);
    (void)sim_run_until(rt, belay_instant_add(rt_now(rt), belay_span_ms(60000)));

    assert_true(caller_done(caller));
    assert_int_equal(caller_reply(caller, 0)->kind, REPLY_WHOLE);
    assert_int_equal(caller_reply(caller, 0)->status, status);
    size_t calls = origin_calls_of(origin, "op-42");
    assert_int_equal(calls, origin_calls(origin));
    golden_check(&history, name);
    caller_destroy(caller);
    egress_deinit(&egress);
    origin_destroy(origin);
    history_deinit(&history);
    rt_destroy(rt);
    return calls;
}

static void first_success(void **state)
{
    (void)state;
    assert_int_equal(tell("first-success", "ok 50ms", "GET", 200), 1);
}

static void two_503_then_success(void **state)
{
    (void)state;
    assert_int_equal(tell("503-503-200", "503 80ms\n503 80ms\nok 50ms", "GET", 200), 3);
}

static void deadline_used_up(void **state)
{
    (void)state;
    assert_int_equal(tell("deadline-used-up", "503 170ms\n503 170ms\nok 20ms", "GET", 503), 2);
}

static void get_timeout(void **state)
{
    (void)state;
    assert_int_equal(tell("get-timeout", "accept then silence\nok 50ms", "GET", 200), 2);
}

static void post_timeout(void **state)
{
    (void)state;
    assert_int_equal(tell("post-timeout", "accept then silence\nok 50ms", "POST", 504), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_success),    cmocka_unit_test(two_503_then_success),
        cmocka_unit_test(deadline_used_up), cmocka_unit_test(get_timeout),
        cmocka_unit_test(post_timeout),
    };
    return cmocka_run_group_tests_name("stories", tests, NULL, NULL);
}
