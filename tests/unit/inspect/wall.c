/* wall.c: RFC 3339 times, at their borders; the encoder's own times come back. */
#include "test.h"

#include "event/json.h"
#include "inspect/wall.h"

#include <string.h>

static int64_t parsed(const char *text)
{
    struct belay_wall time;
    if (!wall_parse(belay_slice_z(text), &time)) fail_msg("refused: %s", text);
    return time.ns;
}

static void accepted(void **state)
{
    (void)state;
    assert_int_equal(parsed("1970-01-01T00:00:00Z"), 0);
    assert_int_equal(parsed("1970-01-01T00:00:00.000000001Z"), 1);
    assert_int_equal(parsed("1970-01-01T00:00:00.0000000019Z"), 1);
    assert_int_equal(parsed("1970-01-01t00:00:01z"), BELAY_NS_PER_S);
    assert_int_equal(parsed("1970-01-01 00:00:01Z"), BELAY_NS_PER_S);
    assert_int_equal(parsed("1970-01-01T01:00:00+01:00"), 0);
    assert_int_equal(parsed("1969-12-31T23:30:00-00:30"), 0);
    assert_int_equal(parsed("1969-12-31T23:59:59.5Z"), -BELAY_NS_PER_S / 2);
    assert_int_equal(parsed("2024-02-29T00:00:00Z"), INT64_C(1709164800000000000));
    assert_int_equal(parsed("2000-02-29T00:00:00Z"), INT64_C(951782400000000000));
    assert_int_equal(parsed("2016-12-31T23:59:60Z"), parsed("2017-01-01T00:00:00Z"));
    assert_int_equal(parsed("2262-04-11T23:47:16.854775807Z"), INT64_MAX);
}

static void refused(void **state)
{
    (void)state;
    static const char *const ROWS[] = {
        "",
        "2026",
        "2026-01-06",
        "2026-01-06T12:00:00",
        "2026-01-06T12:00:00.Z",
        "2026-01-06T12:00:00.1",
        "2026-13-06T12:00:00Z",
        "2026-00-06T12:00:00Z",
        "2026-01-00T12:00:00Z",
        "2026-01-32T12:00:00Z",
        "2026-04-31T12:00:00Z",
        "2026-02-29T12:00:00Z",
        "1900-02-29T12:00:00Z",
        "2026-01-06T24:00:00Z",
        "2026-01-06T12:60:00Z",
        "2026-01-06T12:00:61Z",
        "2026/01/06T12:00:00Z",
        "2026-01-06X12:00:00Z",
        "2026-01-06T12:00:00+0100",
        "2026-01-06T12:00:00+24:00",
        "2026-01-06T12:00:00+01:60",
        "2026-01-06T12:00:00Zx",
        "-026-01-06T12:00:00Z",
        "2262-04-11T23:47:16.854775808Z",
        "2300-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
    };
    struct belay_wall time;
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        if (wall_parse(belay_slice_z(ROWS[i]), &time)) fail_msg("accepted: %s", ROWS[i]);
    }
}

/* Every day of four centuries and more. */
static void round_trip(void **state)
{
    (void)state;
    for (int64_t day = 0; day < 106000; day++) {
        char text[JSON_TIME_BYTES + JSON_SLACK_BYTES];
        struct belay_wall time = {(day * 86400000 + day * 7919 % 86400000) * BELAY_NS_PER_MS}, back;
        (void)event_json_time(text, time);
        assert_true(wall_parse(belay_slice(text + 1, JSON_TIME_BYTES - 2), &back));
        assert_int_equal(back.ns, time.ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(accepted), cmocka_unit_test(refused),
                                       cmocka_unit_test(round_trip)};
    return cmocka_run_group_tests_name("wall", tests, NULL, NULL);
}
