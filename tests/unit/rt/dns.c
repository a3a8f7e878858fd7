/* dns.c: literals, the hosts file, answers with their TTL, names that do not exist, silence and
 * cancelling. */
#include "name_server.h"
#include "rt/rt_uv.h"
#include "world.h"

struct answer {
    struct world *world;
    int count;
    struct rt_resolved result;
};

static void on_done(void *owner, const struct rt_resolved *result)
{
    struct answer *answer = owner;
    answer->count++;
    answer->result = *result;
    world_told(answer->world);
}

static struct rt_resolve *look_up(struct answer *answer, const char *host)
{
    return rt_resolve(answer->world->rt, belay_slice_z(host), 80, on_done, answer);
}

static void a_literal_answers_later_like_any_other(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct answer answer = {.world = &world};
    assert_non_null(look_up(&answer, "127.0.0.9"));
    assert_int_equal(answer.count, 0);
    world_run(&world, 1);
    assert_int_equal(answer.result.error, BELAY_ERROR_NONE);
    assert_int_equal(answer.result.count, 1);
    assert_int_equal(answer.result.addrs[0].ip[3], 9);
    assert_int_equal(answer.result.addrs[0].port, 80);
    assert_true(answer.result.ttl.ns > 3600 * BELAY_NS_PER_S);
    world_deinit(&world);
}

static void localhost_is_known(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct answer answer = {.world = &world};
    assert_non_null(look_up(&answer, "localhost"));
    assert_int_equal(answer.count, 0);
    world_run(&world, 1);
    assert_int_equal(answer.result.error, BELAY_ERROR_NONE);
    assert_true(answer.result.count >= 1);
    assert_int_equal(answer.result.addrs[0].family, 4);
    assert_int_equal(answer.result.addrs[0].ip[0], 127);
    assert_int_equal(answer.result.addrs[0].port, 80);
    world_deinit(&world);
}

static void names_that_cannot_be_are_dns_errors(void **state)
{
    (void)state;
    static char long_name[400];
    memset(long_name, 'a', sizeof(long_name) - 1);
    const char *const names[] = {"", long_name, "a..b"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct world world;
        world_init(&world);
        struct answer answer = {.world = &world};
        assert_non_null(look_up(&answer, names[i]));
        assert_int_equal(answer.count, 0);
        world_run(&world, 1);
        assert_int_equal(answer.result.error, BELAY_ERROR_DNS);
        assert_int_equal(answer.result.count, 0);
        world_deinit(&world);
    }
}

/* ---- with a name server of our own ---- */

static void an_answer_has_its_addresses_and_ttl(void **state)
{
    (void)state;
    struct name_server server;
    struct world world;
    name_server_start(&server);
    world_init(&world);
    assert_true(dns_use_servers(world.rt, server.address));
    struct answer known = {.world = &world}, unknown = known;
    assert_non_null(look_up(&known, "known.test"));
    assert_non_null(look_up(&unknown, "unknown.test"));
    world_run(&world, 2);
    assert_int_equal(known.result.error, BELAY_ERROR_NONE);
    assert_int_equal(known.result.count, 1);
    assert_int_equal(known.result.addrs[0].ip[3], 5);
    assert_int_equal(known.result.ttl.ns, 77 * BELAY_NS_PER_S);
    assert_int_equal(unknown.result.error, BELAY_ERROR_DNS);
    world_deinit(&world);
    name_server_stop(&server);
}

static void nothing_comes_after_cancel_and_the_bound_holds(void **state)
{
    (void)state;
    struct name_server server;
    struct world world;
    name_server_start(&server);
    world_init(&world);
    assert_true(dns_use_servers(world.rt, server.address));
    struct answer answer = {.world = &world};
    /* A silent name server keeps them all under way, cancelled or not. */
    for (int i = 0; i < 256; i++) rt_resolve_cancel(look_up(&answer, "silent.test"));
    rt_resolve_cancel(look_up(&answer, "127.0.0.1"));
    struct answer over = {.world = &world};
    assert_non_null(look_up(&over, "known.test"));
    world_run(&world, 1);
    assert_int_equal(over.result.error, BELAY_ERROR_DNS);
    assert_int_equal(answer.count, 0);
    world_deinit(&world);
    name_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_literal_answers_later_like_any_other),
        cmocka_unit_test(localhost_is_known),
        cmocka_unit_test(names_that_cannot_be_are_dns_errors),
        cmocka_unit_test(an_answer_has_its_addresses_and_ttl),
        cmocka_unit_test(nothing_comes_after_cancel_and_the_bound_holds),
    };
    return cmocka_run_group_tests_name("dns", tests, NULL, NULL);
}
