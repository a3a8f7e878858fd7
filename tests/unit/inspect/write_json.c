/* write_json.c: the report as JSON is valid for any bytes, and its names stay. */
#include "sample.h"
#include "test.h"

#include <jansson.h>
#include <string.h>

static json_t *parse(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!value) fail_msg("%s at %d: %.60s", error.text, error.position, text + error.position);
    assert_int_equal(text[strlen(text) - 1], '\n');
    assert_null(memchr(text, '\n', strlen(text) - 1));
    return value;
}

static void test_trouble(void **state)
{
    (void)state;
    const char *text = sample_json(sample_trouble(), sample_timeline());
    sample_expect("trouble.json", text);
    json_t *root = parse(text);
    json_t *first = json_array_get(json_object_get(root, "anomalies"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "kind")), "unsafe_retry");
    assert_int_equal(json_integer_value(json_object_get(first, "count")), 2);
    assert_int_equal(json_array_size(json_object_get(first, "operationIds")), 2);
    json_t *gap = json_array_get(json_object_get(root, "anomalies"), 2);
    assert_string_equal(json_string_value(json_object_get(gap, "kind")), "attempt_gap");
    assert_int_equal(json_integer_value(json_object_get(gap, "count")), 23);
    assert_int_equal(json_array_size(json_object_get(gap, "operationIds")), INSPECT_EXAMPLES_MAX);
    json_decref(root);
}

static void test_clean_has_no_anomalies(void **state)
{
    (void)state;
    json_t *root = parse(sample_json(sample_clean(), NULL));
    assert_int_equal(json_array_size(json_object_get(root, "anomalies")), 0);
    assert_int_equal(json_array_size(json_object_get(root, "targets")), 1);
    assert_null(json_object_get(root, "operation"));
    json_decref(root);
}

/* Texts of every length around the pieces they are written in, of every byte. */
static void test_any_bytes(void **state)
{
    (void)state;
    static const char *const UNITS[] = {"\x01",     "\x7f",     "\"",           "\\",
                                        "\xff",     "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                        "\xe2\x82", "\xf0\x9f", "\x80"};
    static char name[4096];
    struct inspect_target target = {.name = name};
    const struct inspect_report report = {.target_count = 1, .targets = &target};
    for (size_t unit = 0; unit < sizeof UNITS / sizeof UNITS[0]; unit++) {
        for (size_t lead = 0; lead < 5; lead++) {
            name[0] = '\0';
            for (size_t i = 0; i < lead; i++) strcat(name, "a");
            for (size_t i = 0; i < 600; i++) strcat(name, UNITS[unit]);
            json_decref(parse(sample_json(&report, NULL)));
        }
    }
    for (unsigned byte = 1; byte < 256; byte++) {
        name[0] = (char)byte;
        name[1] = '\0';
        json_decref(parse(sample_json(&report, NULL)));
    }
}

static void test_a_long_text_stays_whole(void **state)
{
    (void)state;
    static char name[2048];
    struct inspect_target target = {.name = name};
    const struct inspect_report report = {.target_count = 1, .targets = &target};
    for (size_t i = 0; i < 500; i++) strcat(name, "\xe2\x82\xac");
    json_t *root = parse(sample_json(&report, NULL));
    json_t *first = json_array_get(json_object_get(root, "targets"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "target")), name);
    json_decref(root);
}

static void test_nothing_at_all(void **state)
{
    (void)state;
    static const struct inspect_report report;
    struct inspect_timeline *timeline = calloc(1, sizeof *timeline);
    assert_non_null(timeline);
    inspect_timeline_init(timeline, "nobody");
    assert_string_equal(
        sample_json(&report, timeline),
        "{\"targets\":[],\"anomalies\":[],\"read\":{\"lines\":0,\"bytes\":0,\"records\":0},"
        "\"operation\":{\"operationId\":\"nobody\",\"endMs\":0,\"attempts\":[]}}\n");
    free(timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trouble),        cmocka_unit_test(test_clean_has_no_anomalies),
        cmocka_unit_test(test_any_bytes),      cmocka_unit_test(test_a_long_text_stays_whole),
        cmocka_unit_test(test_nothing_at_all),
    };
    return cmocka_run_group_tests_name("write_json", tests, NULL, NULL);
}
