/* metrics.c: every number is told once, with its help and type, in the text format's grammar. */
#include "admin/metrics.h"

#include "test.h"

#include <ctype.h>
#include <stdio.h>

static const char *written(bool (*write)(const struct admin_snapshot *, struct buf *),
                           const struct admin_snapshot *snapshot)
{
    static char text[65536];
    struct buf out;
    buf_init(&out, sizeof text - 1);
    assert_true(write(snapshot, &out));
    memcpy(text, buf_slice(&out).data, buf_length(&out));
    text[buf_length(&out)] = 0;
    buf_deinit(&out);
    return text;
}

static void samples_have_their_labels_and_values(void **state)
{
    (void)state;
    struct admin_listener listeners[2] = {{.name = belay_slice_z("127.0.0.1:8080")},
                                          {.name = belay_slice_z("b\"\\\n")}};
    listeners[0].stats.requests = UINT64_MAX;
    listeners[1].stats.server.idle = 7;
    struct admin_target target = {.name = belay_slice_z("orders"),
                                  .stats = {.in_flight = 5, .breaker_state = 2}};
    struct admin_snapshot snapshot = {.listeners = listeners,
                                      .listener_count = 2,
                                      .targets = &target,
                                      .target_count = 1,
                                      .workers = 2,
                                      .sink = {.lost = 9}};
    const char *text = written(metrics_write, &snapshot);
    assert_non_null(
        strstr(text, "\nbelay_requests_total{listener=\"127.0.0.1:8080\"} 18446744073709551615\n"
                     "belay_requests_total{listener=\"b\\\"\\\\?\"} 0\n"));
    assert_non_null(strstr(text, "\nbelay_connections_idle{listener=\"b\\\"\\\\?\"} 7\n"));
    assert_non_null(strstr(text, "\nbelay_in_flight{target=\"orders\"} 5\n"));
    assert_non_null(strstr(text, "\nbelay_breaker_state{target=\"orders\"} 2\n"));
    assert_non_null(strstr(text, "\nbelay_workers 2\n"));
    assert_non_null(strstr(text, "\nbelay_events_lost_total 9\n"));
}

/* Every family: HELP, TYPE, then its samples; counters end in _total, gauges do not; no family
 * twice. */
static void families_are_well_formed(void **state)
{
    (void)state;
    struct admin_listener listener = {.name = belay_slice_z("l")};
    struct admin_target target = {.name = belay_slice_z("t")};
    struct admin_snapshot snapshot = {
        .listeners = &listener, .listener_count = 1, .targets = &target, .target_count = 1};
    static char text[65536], seen[65536];
    (void)snprintf(text, sizeof text, "%s", written(metrics_write, &snapshot));
    int families = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char name[128], type[16], sample[128], key[140];
        assert_int_equal(sscanf(line, "# HELP %127[a-z0-9_] ", name), 1);
        line = strtok_r(NULL, "\n", &rest);
        assert_int_equal(sscanf(line, "# TYPE %127[a-z0-9_] %15s", sample, type), 2);
        assert_string_equal(sample, name);
        size_t length = strlen(name);
        bool total = length > 6 && strcmp(name + length - 6, "_total") == 0;
        assert_int_equal(total, strcmp(type, "counter") == 0);
        line = strtok_r(NULL, "\n", &rest);
        assert_int_equal(sscanf(line, "%127[a-z0-9_]", sample), 1);
        assert_string_equal(sample, name);
        assert_true(isdigit((unsigned char)line[strlen(line) - 1]));
        (void)snprintf(key, sizeof key, "|%s|", name);
        assert_null(strstr(seen, key));
        strcat(seen, key);
        families++;
    }
    assert_true(families > 40);
}

static void targets_are_json(void **state)
{
    (void)state;
    struct admin_target targets[2] = {
        {.name = belay_slice_z("a"), .stats = {.operations = 4, .breaker_state = 0}},
        {.name = belay_slice_z("b\""), .stats = {.waiting = 6, .breaker_state = 2}}};
    struct admin_snapshot snapshot = {.targets = targets, .target_count = 2};
    const char *text = written(metrics_write_targets, &snapshot);
    const char first[] =
        "{\"targets\":[{\"target\":\"a\",\"breaker\":\"closed\",\"operations\":4,\"attempts\":0,";
    assert_memory_equal(text, first, sizeof first - 1);
    assert_non_null(strstr(text, "},{\"target\":\"b\\\"\",\"breaker\":\"half_open\","));
    assert_non_null(strstr(text, "\"waiting\":6}]}\n"));
}

static void too_much_is_told_as_such(void **state)
{
    (void)state;
    struct admin_snapshot none = {0};
    for (size_t limit = 0; limit < 3000; limit += 100) {
        struct buf out;
        buf_init(&out, limit);
        assert_false(metrics_write(&none, &out));
        buf_deinit(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_have_their_labels_and_values),
        cmocka_unit_test(families_are_well_formed),
        cmocka_unit_test(targets_are_json),
        cmocka_unit_test(too_much_is_told_as_such),
    };
    return cmocka_run_group_tests_name("admin metrics", tests, NULL, NULL);
}
