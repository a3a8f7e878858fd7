/* ids.c: whose trace goes on, which ids are valid, and which fields are sent. */
#include "curl/run.h"

#include "test.h"

#include <string.h>

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"

struct row {
    const char *text;
    bool valid;
};

static const struct row TRACEPARENTS[] = {
    {"00-" TRACE "-" PARENT "-01", true},
    {"00-" TRACE "-" PARENT "-00", true},
    {"00-" TRACE "-" PARENT "-ff", true},
    {"", false},
    {"00", false},
    {"00-" TRACE "-" PARENT "-0", false},
    {"00-" TRACE "-" PARENT "-011", false},
    {"00-" TRACE "-" PARENT "-01-x", false},
    {"01-" TRACE "-" PARENT "-01", false},
    {"ff-" TRACE "-" PARENT "-01", false},
    {"00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01", false},
    {"00-00000000000000000000000000000000-" PARENT "-01", false},
    {"00-" TRACE "-0000000000000000-01", false},
    {"00-" TRACE "-" PARENT "-0g", false},
    {"00_" TRACE "-" PARENT "-01", false},
    {"00-" TRACE "_" PARENT "-01", false},
    {"00-" TRACE "-" PARENT "_01", false},
    {" 0-" TRACE "-" PARENT "-01", false},
    {"00-" TRACE "-" PARENT "-0\n", false},
};

static void test_a_traceparent_is_taken_only_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof TRACEPARENTS / sizeof TRACEPARENTS[0]; i++) {
        struct belay_curl_call call = {.traceparent = TRACEPARENTS[i].text};
        struct run run = {.call = &call};
        if (belay__curl_ids_begin(&run) != TRACEPARENTS[i].valid)
            fail_msg("'%s' was judged wrongly", TRACEPARENTS[i].text);
        if (!TRACEPARENTS[i].valid) continue;
        assert_string_equal(run.trace_id, TRACE);
        assert_memory_equal(run.trace_flags, TRACEPARENTS[i].text + 53, 2);
    }
}

static void test_an_operation_has_an_id_of_its_own_or_the_callers(void **state)
{
    (void)state;
    char longest[BELAY_OPERATION_ID_MAX + 2];
    struct belay_curl_call none = {0}, given = {.operation_id = "op-42"},
                           spaced = {.operation_id = "op 42"}, empty = {.operation_id = ""},
                           long_one = {.operation_id = longest};
    struct run first = {.call = &none}, second = {.call = &none}, run = {.call = &given};
    assert_true(belay__curl_ids_begin(&first) && belay__curl_ids_begin(&second));
    assert_int_equal(strspn(first.operation_id, "0123456789abcdef"), MADE_ID_BYTES);
    assert_int_equal(strlen(first.operation_id), MADE_ID_BYTES);
    assert_string_not_equal(first.operation_id, second.operation_id);
    assert_true(belay__curl_ids_begin(&run));
    assert_string_equal(run.operation_id, "op-42");
    assert_false(belay__curl_ids_begin(&(struct run){.call = &spaced}));
    assert_false(belay__curl_ids_begin(&(struct run){.call = &empty}));

    memset(longest, 'a', sizeof longest);
    longest[BELAY_OPERATION_ID_MAX + 1] = '\0';
    assert_false(belay__curl_ids_begin(&(struct run){.call = &long_one}));
    longest[BELAY_OPERATION_ID_MAX] = '\0';
    struct run longest_run = {.call = &long_one};
    assert_true(belay__curl_ids_begin(&longest_run));
    assert_string_equal(longest_run.operation_id, longest);
}

static bool has(const struct curl_slist *list, const char *field)
{
    for (; list; list = list->next)
        if (strcmp(list->data, field) == 0) return true;
    return false;
}

static void test_the_fields_stand_before_the_callers_and_leave_them_alone(void **state)
{
    (void)state;
    struct curl_slist *own = curl_slist_append(NULL, "X-Own: 1");
    struct belay_curl_call call = {.adds_fields = true,
                                   .headers = own,
                                   .operation_id = "op",
                                   .traceparent = "00-" TRACE "-" PARENT "-01"};
    struct belay_admission admission = {.attempt = 3, .pass_on = {1500 * BELAY_NS_PER_MS + 999999}};
    struct run run = {.call = &call, .easy = curl_easy_init()};
    assert_true(belay__curl_ids_begin(&run) && belay__curl_fields_set(&run, &admission));
    assert_true(has(run.fields, "X-Operation-Id: op"));
    assert_true(has(run.fields, "X-Request-Id: op/attempt-3"));
    assert_true(has(run.fields, "X-Request-Attempt: 3"));
    assert_true(has(run.fields, "X-Retry-Owner: belay"));
    assert_true(has(run.fields, "X-Request-Timeout-Ms: 1500"));
    assert_true(has(run.fields, "X-Own: 1"));
    assert_string_not_equal(run.span_id, PARENT);
    belay__curl_fields_clear(&run);
    assert_null(run.fields);
    assert_string_equal(own->data, "X-Own: 1");
    assert_null(own->next);

    admission.pass_on = belay_span_ns(1); /* 0 ms would say that the time is over */
    assert_true(belay__curl_fields_set(&run, &admission));
    assert_true(has(run.fields, "X-Request-Timeout-Ms: 1"));
    belay__curl_fields_clear(&run);
    curl_easy_cleanup(run.easy);
    curl_slist_free_all(own);
}

static void test_without_being_asked_none_is_set(void **state)
{
    (void)state;
    struct belay_curl_call call = {0};
    struct belay_admission admission = {.attempt = 1, .pass_on = {BELAY_NS_PER_S}};
    struct run run = {.call = &call, .easy = curl_easy_init()};
    assert_true(belay__curl_ids_begin(&run) && belay__curl_fields_set(&run, &admission));
    assert_null(run.fields);
    curl_easy_cleanup(run.easy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_traceparent_is_taken_only_whole),
        cmocka_unit_test(test_an_operation_has_an_id_of_its_own_or_the_callers),
        cmocka_unit_test(test_the_fields_stand_before_the_callers_and_leave_them_alone),
        cmocka_unit_test(test_without_being_asked_none_is_set),
    };
    return cmocka_run_group_tests_name("curl/ids", tests, NULL, NULL);
}
