/* encode.c: walks the catalogue and writes one record as a line of JSON (belay/event.h). */
#include "event/catalogue.h"
#include "event/json.h"

#include <belay/event.h>

static int read_int(const void *at)
{
    int value;
    memcpy(&value, at, sizeof value);
    return value;
}

static bool is_set(const struct event_field *field, const void *at)
{
    switch (field->type) {
    case EVENT_TEXT: return ((const struct belay_slice *)at)->length > 0;
    case EVENT_TIME: return ((const struct belay_wall *)at)->ns != 0;
    case EVENT_TRUE: return *(const bool *)at;
    default: return read_int(at) != 0;
    }
}

/* Only attempt events have fields that depend on the verdict. */
static bool is_present(const struct event_field *field, const void *record, const void *at)
{
    const struct belay_attempt_event *attempt = record;
    switch (field->presence) {
    case EVENT_IF_SET: return is_set(field, at);
    case EVENT_IF_RETRY: return attempt->verdict.decision == BELAY_DECISION_RETRY;
    case EVENT_IF_WAIT:
        return attempt->verdict.decision == BELAY_DECISION_RETRY && attempt->verdict.wait_source != BELAY_WAIT_NONE;
    case EVENT_IF_HINT: return attempt->outcome.has_retry_after;
    default: return true;
    }
}

/* Words come from closed lists: nothing in them needs escaping. */
static void put_word(struct json *json, const char *word)
{
    if (!word) {
        json_text(json, "null", 4);
        return;
    }
    json_text(json, "\"", 1);
    json_text(json, word, strlen(word));
    json_text(json, "\"", 1);
}

static void put_status(struct json *json, int status)
{
    if (status > 0) {
        json_number(json, status);
    } else {
        json_text(json, "null", 4);
    }
}

static void put_request_id(struct json *json, const struct event_field *field, const void *record, const void *at)
{
    static const char JOINT[] = "/attempt-";
    json_text(json, "\"", 1);
    json_escape(json, *(const struct belay_slice *)at, field->bytes_max);
    json_text(json, JOINT, sizeof JOINT - 1);
    json_number(json, ((const struct belay_attempt_event *)record)->verdict.attempt);
    json_text(json, "\"", 1);
}

static void put_result(struct json *json, const struct belay_ending *ending)
{
    json_text(json, "{\"status\":", 10);
    if (ending->status > 0) {
        json_number(json, ending->status);
    } else {
        put_word(json, ending->word);
    }
    json_text(json, "}", 1);
}

static void put(struct json *json, const struct event_field *field, const void *record, const void *at)
{
    switch ((enum event_type)field->type) {
    case EVENT_VERSION: json_number(json, BELAY_EVENT_VERSION); break;
    case EVENT_KIND: put_word(json, field->word); break;
    case EVENT_TIME: json_time(json, *(const struct belay_wall *)at); break;
    case EVENT_TEXT: json_string(json, *(const struct belay_slice *)at, field->bytes_max); break;
    case EVENT_REQUEST_ID: put_request_id(json, field, record, at); break;
    case EVENT_COUNT: json_number(json, *(const uint32_t *)at); break;
    case EVENT_INTEGER: json_number(json, *(const int64_t *)at); break;
    case EVENT_STATUS: put_status(json, read_int(at)); break;
    case EVENT_WORD: put_word(json, field->name((unsigned)read_int(at))); break;
    case EVENT_SPAN: json_number(json, belay_span_floor_ms(*(const struct belay_span *)at)); break;
    case EVENT_TRUE: json_text(json, "true", 4); break;
    case EVENT_RESULT: put_result(json, at); break;
    }
}

static size_t encode(const struct event_record *catalogue, const void *record, char *out, size_t capacity)
{
    struct json json = {.at = out, .end = out + capacity};
    json_text(&json, "{", 1);
    for (size_t i = 0; i < catalogue->count; i++) {
        const struct event_field *field = &catalogue->fields[i];
        const void *at = (const char *)record + field->offset;
        if (!is_present(field, record, at)) continue;
        size_t comma = i == 0;
        json_text(&json, field->key + comma, field->key_bytes - comma);
        put(&json, field, record, at);
    }
    json_text(&json, "}\n", 2);
    return json.full ? 0 : (size_t)(json.at - out);
}

size_t belay_attempt_event_encode(const struct belay_attempt_event *event, char *out, size_t capacity)
{
    return encode(&event_attempt_record, event, out, capacity);
}

size_t belay_operation_event_encode(const struct belay_operation_event *event, char *out, size_t capacity)
{
    return encode(&event_operation_record, event, out, capacity);
}

size_t belay_lost_event_encode(const struct belay_lost_event *event, char *out, size_t capacity)
{
    return encode(&event_lost_record, event, out, capacity);
}
