/* load.c: a right configuration loads to the values that it says. */
#include "conf/conf.h"

#include "same.h"
#include "test.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>

static struct conf *load_text(const char *text)
{
    struct conf *conf = NULL;
    enum conf_verdict verdict = conf_parse("test.yaml", belay_slice_z(text), stderr, &conf);
    assert_int_equal(verdict, CONF_GOOD);
    return conf;
}

static void test_the_quickstart_is_right(void **state)
{
    (void)state;
    struct conf *conf = NULL;
    assert_int_equal(conf_read(SOURCE_ROOT "/examples/quickstart.yaml", stderr, &conf), CONF_GOOD);
    assert_int_equal(conf->listener_count, 1);
    assert_string_equal(conf->listeners[0].listen.host, "127.0.0.1");
    assert_int_equal(conf->listeners[0].listen.port, 8080);
    assert_int_equal(conf->target_count, 1);
    assert_string_equal(conf->targets[0].name, "orders");
    assert_int_equal(conf->targets[0].addresses[0].port, 9000);
    assert_int_equal(conf->targets[0].policy.backoff.base.ns, 50 * BELAY_NS_PER_MS);
    assert_int_equal(conf->admin.port, 9180);
    assert_string_equal(conf->events_file, "-");
    conf_give(conf);
}

static const char EVERY_LEVEL[] =
    "defaults:\n"
    "  policy: { deadline: 4s, attempts: 5, backoff: { base: 10ms } }\n"
    "targets:\n"
    "  near: { addresses: [ 127.0.0.1:9000 ], policy: { attempts: 2 } }\n"
    "  far: { addresses: [ example.test:80 ], network: internet, policy: { tls_timeout: 3s } }\n"
    "listeners:\n"
    "  - listen: 127.0.0.1:0\n"
    "    target: far\n"
    "    routes:\n"
    "      - { path: \"/orders/{id}\", method: [GET, HEAD], target: near, policy: { deadline: 1s } "
    "}\n"
    "      - { path: /far, idempotent: PUT, effect: write, idempotency_key: honoured }\n";

static void test_a_policy_comes_down_from_the_defaults_over_the_target_to_the_route(void **state)
{
    (void)state;
    struct conf *conf = load_text(EVERY_LEVEL);
    const struct conf_route *routes = conf->listeners[0].routes;
    assert_int_equal(conf->listeners[0].route_count, 3);
    assert_int_equal(routes[0].policy.deadline_for.ns, BELAY_NS_PER_S);
    assert_int_equal(routes[0].policy.attempts_max, 2);
    assert_int_equal(routes[0].policy.backoff.base.ns, 10 * BELAY_NS_PER_MS);
    assert_int_equal(routes[1].policy.deadline_for.ns, 4 * BELAY_NS_PER_S);
    assert_int_equal(routes[1].policy.attempts_max, 5);
    assert_int_equal(conf->targets[0].policy.deadline_for.ns, 4 * BELAY_NS_PER_S);
    conf_give(conf);
}

static void test_the_internet_changes_only_what_nobody_set(void **state)
{
    (void)state;
    struct conf *conf = load_text(EVERY_LEVEL);
    assert_int_equal(conf->targets[0].policy.connect_timeout_for.ns, 300 * BELAY_NS_PER_MS);
    assert_int_equal(conf->targets[1].policy.connect_timeout_for.ns, 2 * BELAY_NS_PER_S);
    assert_int_equal(conf->targets[1].policy.tls_timeout_for.ns, 3 * BELAY_NS_PER_S);
    conf_give(conf);
}

static void test_routes_keep_their_order_and_the_own_target_is_the_last(void **state)
{
    (void)state;
    struct conf *conf = load_text(EVERY_LEVEL);
    const struct conf_route *routes = conf->listeners[0].routes;
    assert_string_equal(routes[0].path, "/orders/{id}");
    assert_int_equal(routes[0].methods, 1u << BELAY_METHOD_GET | 1u << BELAY_METHOD_HEAD);
    assert_int_equal(routes[0].target, 0);
    assert_int_equal(routes[1].target, 1);
    assert_int_equal(routes[1].idempotent, 1u << BELAY_METHOD_PUT);
    assert_int_equal(routes[1].effect, CONF_EFFECT_WRITE);
    assert_int_equal(routes[1].idempotency_key, CONF_KEY_HONOURED);
    assert_null(routes[2].path);
    assert_int_equal(routes[2].methods, 0);
    assert_int_equal(routes[2].target, 1);
    conf_give(conf);
}

static void check_file(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, SOURCE_ROOT "/examples/%s", name);
    struct conf *conf = NULL;
    if (conf_read(path, stderr, &conf) != CONF_GOOD) fail_msg("%s", path);
    conf_give(conf);
}

static void test_every_example_is_right(void **state)
{
    (void)state;
    DIR *examples = opendir(SOURCE_ROOT "/examples");
    assert_non_null(examples);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(examples));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".yaml") != 0) continue;
        check_file(entry->d_name);
        count++;
    }
    closedir(examples);
    assert_true(count >= 3);
}

/* Every name of the design, at the value that it has there. */
static const char EVERY_NAME[] =
    "admin:   { listen: 127.0.0.1:9180 }\n"
    "events:  { file: /var/log/belay/events.ndjson }\n"
    "workers: 0\n"
    "defaults:\n"
    "  policy: { deadline: 10s }\n"
    "targets:\n"
    "  orders:\n"
    "    addresses: [ 127.0.0.1:9000 ]\n"
    "    network: local\n"
    "    policy:\n"
    "      deadline: 2s\n"
    "      reserve: 5ms\n"
    "      connect_timeout: 300ms\n"
    "      tls_timeout: 1s\n"
    "      silence_timeout: 5s\n"
    "      attempt_timeout: none\n"
    "      attempts: 3\n"
    "      backoff: { kind: additive, base: 200ms, max: 5s }\n"
    "      retry_on: [ timeout, reset, closed, refused, dns, 429, 502, 503, 504 ]\n"
    "      budget: { ratio: 10%, burst: 10 }\n"
    "      breaker: { window: 10s, min_calls: 20, failure_rate: 50%, slow_after: none,\n"
    "                 slow_rate: 100%, consecutive: 10, open_for: 5s, open_max: 60s, probes: 1,\n"
    "                 probe_successes: 1, min_timeout: 100ms }\n"
    "      bulkhead: { max: 64, queue: 0 }\n"
    "      quota: { rate: 50/s, burst: 10, queue: 0 }\n"
    "      hold: { max: 60s, scope: target }\n"
    "      replay_buffer: 256KiB\n"
    "      keep_alive: { idle: 4s, max: 256 }\n"
    "listeners:\n"
    "  - listen: 127.0.0.1:8080\n"
    "    kind: egress\n"
    "    target: orders\n"
    "    routes:\n"
    "      - path: /orders/{id}\n"
    "        method: [GET, HEAD]\n"
    "        target: orders\n"
    "        effect: read\n"
    "        idempotent: [PUT]\n"
    "        idempotency_key: none\n"
    "        policy: { deadline: 1s }\n";

static void test_every_name_loads_to_its_default(void **state)
{
    (void)state;
    struct conf *conf = load_text(EVERY_NAME);
    struct belay_policy expected = belay_policy_default();
    expected.deadline_for = belay_span_ms(2000);
    expected.quota.enabled = true;
    expected.quota.per_call = belay_span_ms(20);
    check_same_policy(&conf->targets[0].policy, &expected);
    assert_int_equal(conf->listeners[0].route_count, 2);
    assert_int_equal(conf->listeners[0].routes[0].policy.deadline_for.ns, BELAY_NS_PER_S);
    assert_int_equal(conf->listeners[0].routes[0].effect, CONF_EFFECT_READ);
    conf_give(conf);
}

static void test_files_of_other_editors(void **state)
{
    (void)state;
    struct conf *conf = load_text("\xef\xbb\xbf"
                                  "targets:\r\n  t: { addresses: [127.0.0.1:9000] }\r\n"
                                  "listeners:\r\n- { listen: 127.0.0.1:0, target: t }\r\n");
    assert_string_equal(conf->targets[0].name, "t");
    conf_give(conf);
}

/* What tools write that know only YAML 1.1, where `off` is a boolean. */
static void test_false_switches_a_group_off(void **state)
{
    (void)state;
    struct conf *conf =
        load_text("defaults: { policy: { breaker: false, hold: false, keep_alive: false } }\n"
                  "targets: { t: { addresses: [127.0.0.1:9000] } }\n"
                  "listeners: [ { listen: 127.0.0.1:0, target: t } ]\n");
    const struct belay_policy *policy = &conf->targets[0].policy;
    assert_false(policy->breaker.enabled);
    assert_int_equal(policy->hold.max.ns, 0);
    assert_int_equal(policy->idle_max, 0);
    conf_give(conf);
}

/* A short deadline needs no other option beside it, and a longer one further down gets its own. */
static void test_a_default_is_cut_to_the_deadline(void **state)
{
    (void)state;
    struct conf *conf =
        load_text("targets: { t: { addresses: [127.0.0.1:9000], policy: { deadline: 100ms } } }\n"
                  "listeners:\n"
                  "  - listen: 127.0.0.1:0\n"
                  "    target: t\n"
                  "    routes: [ { path: /slow, policy: { deadline: 800ms } } ]\n");
    const struct conf_route *routes = conf->listeners[0].routes;
    assert_int_equal(routes[1].policy.connect_timeout_for.ns, 100 * BELAY_NS_PER_MS);
    assert_int_equal(routes[1].policy.tls_timeout_for.ns, 100 * BELAY_NS_PER_MS);
    assert_int_equal(routes[0].policy.connect_timeout_for.ns, 300 * BELAY_NS_PER_MS);
    assert_int_equal(routes[0].policy.tls_timeout_for.ns, 800 * BELAY_NS_PER_MS);
    conf_give(conf);
}

static void *take_and_give(void *conf)
{
    for (int i = 0; i < 100000; i++) conf_give(conf_take(conf));
    conf_give(conf);
    return NULL;
}

static void test_threads_share_a_snapshot(void **state)
{
    (void)state;
    struct conf *conf = load_text(EVERY_LEVEL);
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, conf_take(conf)), 0);
    }
    conf_give(conf);
    for (size_t i = 0; i < 4; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void test_the_last_reference_frees(void **state)
{
    (void)state;
    struct conf *conf = load_text(EVERY_LEVEL);
    assert_ptr_equal(conf_take(conf), conf);
    conf_give(conf);
    assert_string_equal(conf->targets[0].name, "near");
    conf_give(conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_quickstart_is_right),
        cmocka_unit_test(test_a_policy_comes_down_from_the_defaults_over_the_target_to_the_route),
        cmocka_unit_test(test_the_internet_changes_only_what_nobody_set),
        cmocka_unit_test(test_routes_keep_their_order_and_the_own_target_is_the_last),
        cmocka_unit_test(test_every_example_is_right),
        cmocka_unit_test(test_every_name_loads_to_its_default),
        cmocka_unit_test(test_files_of_other_editors),
        cmocka_unit_test(test_false_switches_a_group_off),
        cmocka_unit_test(test_a_default_is_cut_to_the_deadline),
        cmocka_unit_test(test_threads_share_a_snapshot),
        cmocka_unit_test(test_the_last_reference_frees),
    };
    return cmocka_run_group_tests_name("conf/load", tests, NULL, NULL);
}
