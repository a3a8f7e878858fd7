/* encode.c: the records' exact bytes, and that any content gives one bounded line of valid JSON. */
#include "event/catalogue.h"

#include "base/rng.h"
#include "event/json.h"
#include "event/out.h"
#include "test.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static char room[BELAY_EVENT_BYTES_MAX + 1];

static struct belay_attempt_event seed_attempt(void)
{
    return (struct belay_attempt_event){
        .operation_id = belay_slice_z("op-42"),
        .method = belay_slice_z("GET"),
        .outcome = {.status = 503, .sent = BELAY_ANSWERED},
        .verdict = {.decision = BELAY_DECISION_RETRY,
                    .reason = BELAY_REASON_BACKOFF,
                    .attempt = 2,
                    .elapsed = belay_span_ms(80),
                    .remaining = belay_span_ms(280),
                    .wait = belay_span_ms(40),
                    .wait_source = BELAY_WAIT_BACKOFF},
    };
}

static const char *attempt(const struct belay_attempt_event *event)
{
    room[belay_attempt_event_encode(event, room, BELAY_EVENT_BYTES_MAX)] = 0;
    return room;
}

static const char *operation(const struct belay_operation_event *event)
{
    room[belay_operation_event_encode(event, room, BELAY_EVENT_BYTES_MAX)] = 0;
    return room;
}

static void test_the_least_attempt(void **state)
{
    (void)state;
    struct belay_attempt_event event = seed_attempt();
    assert_string_equal(
        attempt(&event),
        "{\"v\":1,\"operationId\":\"op-42\",\"requestId\":\"op-42/attempt-2\",\"attempt\":2,"
        "\"method\":\"GET\",\"status\":503,\"errorClass\":null,\"sent\":\"answered\",\"elapsedMs\":"
        "80,"
        "\"remainingMs\":280,\"decision\":\"retry\",\"reason\":\"backoff\",\"waitMs\":40,"
        "\"waitSource\":\"backoff\"}\n");
}

static void test_an_attempt_with_everything(void **state)
{
    (void)state;
    struct belay_attempt_event event = seed_attempt();
    event.time.ns = INT64_C(1767700800123) * BELAY_NS_PER_MS;
    event.target = belay_slice_z("orders");
    event.route = belay_slice_z("/orders/{id}");
    event.endpoint = belay_slice_z("/orders/{id}");
    event.trace_id = belay_slice_z("4bf92f3577b34da6a3ce929d0e0e4736");
    event.span_id = belay_slice_z("00f067aa0ba902b7");
    event.outcome = (struct belay_outcome){.error = BELAY_ERROR_CLOSED,
                                           .phase = BELAY_PHASE_HEADERS,
                                           .sent = BELAY_SENT,
                                           .stale = true};
    event.verdict.reason = BELAY_REASON_STALE_CONNECTION;
    event.verdict.wait = belay_span_ms(0);
    event.verdict.wait_source = BELAY_WAIT_NONE;
    event.reused = true;
    assert_string_equal(
        attempt(&event),
        "{\"v\":1,\"time\":\"2026-01-06T12:00:00.123Z\",\"operationId\":\"op-42\","
        "\"requestId\":\"op-42/attempt-2\",\"attempt\":2,\"method\":\"GET\",\"target\":\"orders\","
        "\"route\":\"/orders/{id}\",\"endpoint\":\"/orders/{id}\",\"status\":null,"
        "\"errorClass\":\"closed\",\"phase\":\"headers\",\"sent\":\"sent\",\"elapsedMs\":80,"
        "\"remainingMs\":280,\"decision\":\"retry\",\"reason\":\"stale_connection\",\"waitMs\":0,"
        "\"reused\":true,\"stale\":true,\"traceId\":\"4bf92f3577b34da6a3ce929d0e0e4736\","
        "\"spanId\":\"00f067aa0ba902b7\"}\n");
}

static void test_a_hint_is_shown_uncapped(void **state)
{
    (void)state;
    struct belay_attempt_event event = seed_attempt();
    event.outcome.has_retry_after = true;
    event.outcome.retry_after_ms = INT64_C(9999999999000);
    event.verdict.decision = BELAY_DECISION_DEADLINE_EXCEEDED;
    event.verdict.reason = BELAY_REASON_NO_TIME;
    assert_non_null(strstr(attempt(&event),
                           "\"retryAfterMs\":9999999999000,\"decision\":\"deadline_exceeded\""));
    assert_null(strstr(room, "wait"));
    event.outcome.retry_after_ms = 0;
    assert_non_null(strstr(attempt(&event), "\"retryAfterMs\":0,"));
}

static void test_parts_of_a_millisecond_are_floored(void **state)
{
    (void)state;
    struct belay_attempt_event event = seed_attempt();
    event.verdict.elapsed = belay_span_ns(1999999);
    event.verdict.remaining = belay_span_ns(-5);
    assert_non_null(strstr(attempt(&event), "\"elapsedMs\":1,\"remainingMs\":0,"));
}

static void test_operation_records(void **state)
{
    (void)state;
    struct belay_operation_event event = {
        .operation_id = belay_slice_z("op-43"),
        .method = belay_slice_z("POST"),
        .ending = {.word = "check_state",
                   .effect = BELAY_EFFECT_UNKNOWN,
                   .attempts = 1,
                   .elapsed = belay_span_ms(120)},
        .answer = 504,
        .fallback = belay_slice_z("stale"),
    };
    assert_string_equal(
        operation(&event),
        "{\"v\":1,\"event\":\"operation\",\"operationId\":\"op-43\",\"method\":\"POST\","
        "\"result\":{\"status\":\"check_state\"},\"answer\":504,\"effect\":\"unknown\","
        "\"attempts\":1,"
        "\"elapsedMs\":120,\"fallback\":\"stale\"}\n");
    event = (struct belay_operation_event){
        .operation_id = belay_slice_z("a"),
        .ending = {.status = 200, .effect = BELAY_EFFECT_NOT_A_WRITE}};
    assert_string_equal(operation(&event),
                        "{\"v\":1,\"event\":\"operation\",\"operationId\":\"a\","
                        "\"result\":{\"status\":200},\"attempts\":0,\"elapsedMs\":0}\n");
    event.ending.effect = BELAY_EFFECT_DONE;
    assert_non_null(strstr(operation(&event), "\"effect\":\"done\""));
    event.ending.effect = BELAY_EFFECT_NONE;
    assert_non_null(strstr(operation(&event), "\"effect\":\"none\""));
}

static void test_what_does_not_fit_is_not_half_written(void **state)
{
    (void)state;
    struct belay_attempt_event event = seed_attempt();
    size_t length = strlen(attempt(&event));
    for (size_t capacity = 0; capacity < length; capacity++) {
        assert_int_equal(belay_attempt_event_encode(&event, room, capacity), 0);
    }
    assert_int_equal(belay_attempt_event_encode(&event, room, length), length);
}

/* Random bytes of any length in every text: the line is valid JSON, has one newline, and fits. */
static void test_any_content_gives_one_bounded_line(void **state)
{
    (void)state;
    static char junk[1000];
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct rng rng;
        rng_seed(&rng, seed);
        for (size_t i = 0; i < sizeof junk; i++)
            junk[i] = (char)(rng_next(&rng) >> (seed % 2 ? 56 : 59));
        struct belay_attempt_event event = seed_attempt();
        struct belay_slice *texts[] = {&event.operation_id, &event.method,   &event.target,
                                       &event.route,        &event.endpoint, &event.trace_id,
                                       &event.span_id};
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
            *texts[i] = belay_slice(junk + i, 1 + (size_t)rng_next(&rng) % (sizeof junk - i - 1));
        }
        event.time.ns = (int64_t)rng_next(&rng);
        event.outcome.has_retry_after = event.outcome.stale = event.reused = true;
        event.outcome.retry_after_ms = INT64_MAX;
        event.outcome.phase = BELAY_PHASE_HEADERS;
        event.verdict.attempt = UINT32_MAX;
        event.verdict.elapsed = event.verdict.remaining = event.verdict.wait =
            belay_span_ns(INT64_MAX);
        size_t length = belay_attempt_event_encode(&event, room, BELAY_EVENT_BYTES_MAX);
        assert_true(length > 0);
        assert_ptr_equal(memchr(room, '\n', length), room + length - 1);
        json_error_t error;
        json_t *parsed = json_loadb(room, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
        if (!parsed) fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
        assert_int_equal(json_object_size(parsed), 24);
        json_decref(parsed);
    }
}

/* The most that a value of each type can take. */
static size_t value_bytes_max(const struct event_field *field)
{
    switch ((enum event_type)field->type) {
    case EVENT_TIME: return JSON_TIME_BYTES;
    case EVENT_TEXT: return field->bytes_max + (size_t)2;
    case EVENT_REQUEST_ID:
        return field->bytes_max + (size_t)2 + sizeof "/attempt-" + JSON_NUMBER_BYTES_MAX;
    case EVENT_RESULT: return sizeof "{\"status\":}" + EVENT_WORD_BYTES_MAX + 2;
    default: return EVENT_WORD_BYTES_MAX + 2;
    }
}

static void test_no_record_can_outgrow_its_room(void **state)
{
    (void)state;
    const struct event_record *records[] = {&event_attempt_record, &event_operation_record,
                                            &event_lost_record};
    for (size_t r = 0; r < 3; r++) {
        size_t bytes = sizeof "}\n" + JSON_SLACK_BYTES;
        for (size_t i = 0; i < records[r]->count; i++) {
            bytes += EVENT_KEY_BYTES + value_bytes_max(&records[r]->fields[i]);
        }
        assert_true(bytes <= BELAY_EVENT_BYTES_MAX);
    }
}

static void test_words_are_as_short_as_promised(void **state)
{
    (void)state;
    for (int i = 0; i < BELAY_REASON_COUNT; i++) {
        assert_true(strlen(belay_reason_name((enum belay_reason)i)) <= EVENT_WORD_BYTES_MAX);
    }
    for (int i = 0; i < BELAY_DECISION_COUNT; i++) {
        assert_true(strlen(belay_decision_name((enum belay_decision)i)) <= EVENT_WORD_BYTES_MAX);
    }
    for (int i = 1; i < BELAY_TERMINAL_COUNT; i++) {
        assert_true(strlen(belay_terminal_name((enum belay_terminal)i)) <= EVENT_WORD_BYTES_MAX);
    }
}

static void test_catalogue_keys_are_unique_and_well_formed(void **state)
{
    (void)state;
    const struct event_record *records[] = {&event_attempt_record, &event_operation_record,
                                            &event_lost_record};
    for (size_t r = 0; r < 3; r++) {
        for (size_t i = 0; i < records[r]->count; i++) {
            const struct event_field *field = &records[r]->fields[i];
            assert_int_equal(strnlen(field->key, EVENT_KEY_BYTES), field->key_bytes);
            for (size_t j = 0; j < i; j++) {
                assert_memory_not_equal(field->key, records[r]->fields[j].key, EVENT_KEY_BYTES);
            }
        }
    }
}

/* A destination with room for a number of records. */
struct shelf {
    struct event_out out;
    int left;
    size_t bytes;
};

static char *shelf_reserve(struct event_out *out, size_t bytes)
{
    assert_int_equal(bytes, BELAY_EVENT_BYTES_MAX);
    return ((struct shelf *)(void *)out)->left-- > 0 ? room : NULL;
}

static void shelf_commit(struct event_out *out, size_t bytes)
{
    ((struct shelf *)(void *)out)->bytes += bytes;
}

static void test_a_full_destination_is_said(void **state)
{
    (void)state;
    struct shelf shelf = {{shelf_reserve, shelf_commit}, 2, 0};
    struct belay_attempt_event first = seed_attempt();
    struct belay_operation_event last = {.operation_id = belay_slice_z("op-42")};
    assert_true(event_out_attempt(&shelf.out, &first));
    assert_true(event_out_operation(&shelf.out, &last));
    assert_false(event_out_attempt(&shelf.out, &first));
    assert_false(event_out_operation(&shelf.out, &last));
    assert_true(event_out_attempt(NULL, &first));
    assert_true(event_out_operation(NULL, &last));
    assert_int_equal(shelf.bytes, strlen(attempt(&first)) + strlen(operation(&last)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_least_attempt),
        cmocka_unit_test(test_an_attempt_with_everything),
        cmocka_unit_test(test_a_hint_is_shown_uncapped),
        cmocka_unit_test(test_parts_of_a_millisecond_are_floored),
        cmocka_unit_test(test_operation_records),
        cmocka_unit_test(test_what_does_not_fit_is_not_half_written),
        cmocka_unit_test(test_any_content_gives_one_bounded_line),
        cmocka_unit_test(test_no_record_can_outgrow_its_room),
        cmocka_unit_test(test_words_are_as_short_as_promised),
        cmocka_unit_test(test_catalogue_keys_are_unique_and_well_formed),
        cmocka_unit_test(test_a_full_destination_is_said),
    };
    return cmocka_run_group_tests_name("event/encode", tests, NULL, NULL);
}
