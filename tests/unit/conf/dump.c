/* dump.c: what is dumped loads to the same snapshot, whatever was configured. */
#include "conf/conf.h"

#include "base/buf.h"
#include "base/rng.h"
#include "conf/value.h"

#include "same.h"
#include "test.h"

#include <stdlib.h>
#include <time.h>

static struct conf *parse(const char *text, FILE *errors)
{
    struct conf *conf = NULL;
    bool good = conf_parse("dump.yaml", belay_slice_z(text), errors, &conf) == CONF_GOOD;
    return good ? conf : NULL;
}

static char *dump(const struct conf *conf)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    conf_dump(conf, out);
    fclose(out);
    return text;
}

static void check_same_route(const struct conf_route *a, const struct conf_route *b)
{
    assert_int_equal(!a->path, !b->path);
    if (a->path) assert_string_equal(a->path, b->path);
    assert_int_equal(a->methods, b->methods);
    assert_int_equal(a->target, b->target);
    assert_int_equal(a->effect, b->effect);
    assert_int_equal(a->idempotent, b->idempotent);
    assert_int_equal(a->idempotency_key, b->idempotency_key);
}

static void check_same(const struct conf *a, const struct conf *b)
{
    assert_int_equal(a->target_count, b->target_count);
    for (size_t i = 0; i < a->target_count; i++) {
        assert_string_equal(a->targets[i].name, b->targets[i].name);
        assert_string_equal(a->targets[i].addresses[0].host, b->targets[i].addresses[0].host);
        assert_int_equal(a->targets[i].addresses[0].port, b->targets[i].addresses[0].port);
        check_same_policy(&a->targets[i].policy, &b->targets[i].policy);
    }
    assert_int_equal(a->listener_count, b->listener_count);
    for (size_t i = 0; i < a->listener_count; i++) {
        const struct conf_listener *left = &a->listeners[i], *right = &b->listeners[i];
        assert_int_equal(left->route_count, right->route_count);
        for (size_t r = 0; r < left->route_count; r++) {
            check_same_route(&left->routes[r], &right->routes[r]);
            check_same_policy(&left->routes[r].policy, &right->routes[r].policy);
        }
    }
}

/* False when the text is no right configuration. */
static bool check_round_trip(const char *text, FILE *errors)
{
    struct conf *first = parse(text, errors);
    if (!first) return false;
    char *once = dump(first);
    struct conf *second = parse(once, stderr);
    if (!second) fail_msg("does not load:\n%s", once);
    char *twice = dump(second);
    assert_string_equal(once, twice);
    check_same(first, second);
    conf_give(first);
    conf_give(second);
    free(once);
    free(twice);
    return true;
}

static void test_texts_that_need_care(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {
        "events: { file: \"-\" }",
        "events: { file: none }",
        "events: { file: \"a: b # c\" }",
        "events: { file: \"quote \\\" and \\\\ back\" }",
        "events: { file: \"журнал событий\" }",
        "events: { file: \"\\x85 \\u2028 \\uFEFF \\U0001F600\" }",
        "events: { file: \" blanks \" }",
        "events: { file: \"{}\" }",
        "events: { file: \"123\" }",
        "events: { file: \"'\" }",
        "admin: { listen: none }",
        "admin: { listen: \"[::1]:9180\" }",
        "headers: { deadline_in: [], deadline_out: \"!#$%&'*+-.^_`|~\", retry_marks: null }",
        "workers: 1024",
    };
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "%s\ntargets: { t: { addresses: [127.0.0.1:9000] } }\n"
                 "listeners: [ { listen: 127.0.0.1:8080, target: t } ]\n",
                 TEXTS[i]);
        if (!check_round_trip(text, stderr)) fail_msg("%s", TEXTS[i]);
    }
}

static const char LEVELS[] =
    "defaults: { policy: { breaker: { window: 20s, probes: 3 }, quota: { rate: 7/m }, hold: off } "
    "}\n"
    "targets:\n"
    "  a: { addresses: [127.0.0.1:9000], policy: { breaker: off, quota: off } }\n"
    "  \"b.c-d_e\": { addresses: [\"[::1]:9001\"], network: internet, policy: { quota: { burst: 2 "
    "} } }\n"
    "  \"77\": { addresses: [example.test:9002], policy: { keep_alive: off, bulkhead: off, "
    "retry_on: [] } }\n"
    "listeners:\n"
    "  - { listen: 127.0.0.1:8080, target: a, routes: [ { path: \"/{x}\", target: \"77\" }, { "
    "method: PUT } ] }\n"
    "  - { listen: \"[::]:0\", target: b.c-d_e }\n"
    "  - { listen: 0.0.0.0:0, routes: [ { path: /, target: \"77\", idempotent: [POST, PATCH], "
    "effect: read,\n"
    "      idempotency_key: added, policy: { attempts: 1, retry_on: [100, 599, too_large] } } ] "
    "}\n";

static void test_every_level_and_switch(void **state)
{
    (void)state;
    assert_true(check_round_trip(LEVELS, stderr));
    struct conf *conf = parse(LEVELS, stderr);
    assert_false(conf->targets[0].policy.breaker.enabled);
    assert_int_equal(conf->targets[0].policy.breaker.window.ns, 10 * BELAY_NS_PER_S);
    assert_false(conf->targets[0].policy.quota.enabled);
    assert_int_equal(conf->targets[1].policy.breaker.window.ns, 20 * BELAY_NS_PER_S);
    assert_true(conf->targets[1].policy.quota.enabled);
    assert_int_equal(conf->targets[1].policy.quota.burst, 2);
    assert_int_equal(conf->targets[1].policy.hold.max.ns, 0);
    assert_int_equal(conf->targets[2].policy.idle_max, 0);
    conf_give(conf);
}

static void test_the_documented_example(void **state)
{
    (void)state;
    struct conf *conf = NULL;
    assert_int_equal(conf_read(SOURCE_ROOT "/examples/quickstart.yaml", stderr, &conf), CONF_GOOD);
    char *text = dump(conf);
    assert_true(check_round_trip(text, stderr));
    free(text);
    conf_give(conf);
}

/* ---- every option at any of its values ---- */

static void add(struct buf *text, const char *piece)
{
    assert_true(buf_add(text, piece, strlen(piece)));
}

static bool is_varied(const struct option *option, bool of_route)
{
    bool has_values = value_has_number(option) && option->type != TYPE_SWITCH;
    return option->scope == SCOPE_POLICY && has_values && !(of_route && option->target_only);
}

/* `key: value` for a dotted name, as nested flow mappings. */
static void add_option(struct buf *text, const struct option *option, int64_t number)
{
    char value[VALUE_TEXT_BYTES_MAX];
    value_text(option, number, value);
    const char *dot = strchr(option->name, '.');
    char line[160];
    if (dot) {
        snprintf(line, sizeof line, "%.*s: { %s: %s }", (int)(dot - option->name), option->name,
                 dot + 1, value);
    } else {
        snprintf(line, sizeof line, "%s: %s", option->name, value);
    }
    add(text, line);
}

/* Around the option every other one is out of its way. */
static const char WIDE[] =
    "defaults: { policy: { deadline: 24h, reserve: 0s, backoff: { base: 0s, max: 24h },\n"
    "  breaker: { open_for: 1ms, open_max: 24h }, quota: { rate: 50/s } } }\n";

static void check_option(const struct option *option, int64_t number)
{
    struct buf text;
    buf_init(&text, 10000);
    add(&text, WIDE);
    add(&text, "targets: { t: { addresses: [127.0.0.1:9000], policy: { ");
    add_option(&text, option, number);
    add(&text, " } } }\nlisteners: [ { listen: 127.0.0.1:8080, target: t } ]\n");
    assert_true(buf_add(&text, "", 1));
    const char *z = buf_slice(&text).data;
    if (!check_round_trip(z, stderr)) fail_msg("%s", z);
    struct conf *conf = parse(z, stderr);
    assert_int_equal(value_number(option, &conf->targets[0].policy), number);
    conf_give(conf);
    buf_deinit(&text);
}

static void test_every_option_at_its_default_least_and_most(void **state)
{
    (void)state;
    struct belay_policy defaults = belay_policy_default();
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &OPTIONS[i];
        if (!is_varied(option, false)) continue;
        for (int word = 0; option->words && option->words[word]; word++) check_option(option, word);
        if (option->words) continue;
        check_option(option, option->min);
        check_option(option, option->max);
        if (option->zero) check_option(option, 0);
        if (option->initial) check_option(option, value_number(option, &defaults));
    }
}

static int64_t any_number(struct rng *rng, const struct option *option)
{
    if (option->zero && rng_scale(rng_next(rng), 4) == 0) return 0;
    if (option->type == TYPE_WORD) {
        uint64_t count = 0;
        while (option->words[count]) count++;
        return (int64_t)rng_scale(rng_next(rng), count);
    }
    uint64_t luck = rng_scale(rng_next(rng), (uint64_t)(option->max - option->min) + 1);
    /* Small values are what people write, and what rarely breaks a relation. */
    return option->min + (int64_t)(luck >> rng_scale(rng_next(rng), 40));
}

/* Groups are written once, so an option of a group that is there already is left out. */
static void add_policy(struct rng *rng, struct buf *text, bool of_route)
{
    add(text, "policy: { ");
    const char *last_group = "";
    const char *comma = "";
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &OPTIONS[i];
        if (!is_varied(option, of_route) || rng_scale(rng_next(rng), 3) != 0) continue;
        size_t group = strcspn(option->name, ".");
        bool is_open =
            strcspn(last_group, ".") == group && strncmp(last_group, option->name, group) == 0;
        if (is_open || strncmp(option->name, "quota", 5) == 0) continue;
        last_group = option->name;
        add(text, comma);
        comma = ", ";
        add_option(text, option, any_number(rng, option));
    }
    add(text, " }");
}

static void test_any_configuration(void **state)
{
    (void)state;
    const uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)seed);
    struct rng rng;
    rng_seed(&rng, seed);
    struct buf text;
    buf_init(&text, 100000);
    FILE *nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
    int right = 0;
    for (int n = 0; n < 3000; n++) {
        buf_clear(&text);
        add(&text, "targets: { t: { addresses: [127.0.0.1:9000], ");
        add_policy(&rng, &text, false);
        add(&text,
            " } }\nlisteners: [ { listen: 127.0.0.1:8080, routes: [ { path: /a, target: t, ");
        add_policy(&rng, &text, true);
        add(&text, " } ] } ]\n");
        assert_true(buf_add(&text, "", 1));
        right += check_round_trip(buf_slice(&text).data, nowhere);
    }
    print_message("%d of 3000 were right\n", right);
    assert_true(right > 50);
    fclose(nowhere);
    buf_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_that_need_care),
        cmocka_unit_test(test_every_level_and_switch),
        cmocka_unit_test(test_the_documented_example),
        cmocka_unit_test(test_every_option_at_its_default_least_and_most),
        cmocka_unit_test(test_any_configuration),
    };
    return cmocka_run_group_tests_name("conf/dump", tests, NULL, NULL);
}
