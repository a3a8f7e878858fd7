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

/* Which kinds of presence hold for this record, one bit each. Only attempt events have fields that
 * depend on the verdict. */
static unsigned presences(const struct event_record *catalogue, const void *record)
{
    unsigned held = 1u << EVENT_ALWAYS;
    if (catalogue != &event_attempt_record) return held;
    const struct belay_attempt_event *attempt = record;
    if (attempt->outcome.has_retry_after) held |= 1u << EVENT_IF_HINT;
    if (attempt->verdict.decision != BELAY_DECISION_RETRY) return held;
    held |= 1u << EVENT_IF_RETRY;
    if (attempt->verdict.wait_source != BELAY_WAIT_NONE) held |= 1u << EVENT_IF_WAIT;
    return held;
}

static char *put_null(char *at)
{
    return event_json_text(at, "null", 4);
}

static char *put_word(char *at, const char *word)
{
    return word ? event_json_word(at, word) : put_null(at);
}

static char *put_request_id(char *at, const struct event_field *field, const void *record,
                            const void *value)
{
    static const char JOINT[] = "/attempt-";
    *at = '"';
    at = event_json_escape(at + 1, *(const struct belay_slice *)value, field->bytes_max);
    at = event_json_text(at, JOINT, sizeof JOINT - 1);
    at = event_json_number(at, ((const struct belay_attempt_event *)record)->verdict.attempt);
    return event_json_text(at, "\"", 1);
}

static char *put_result(char *at, const struct belay_ending *ending)
{
    at = event_json_text(at, "{\"status\":", 10);
    at = ending->status > 0 ? event_json_number(at, ending->status) : put_word(at, ending->word);
    return event_json_text(at, "}", 1);
}

static char *put(char *at, const struct event_field *field, const void *record, const void *value)
{
    switch ((enum event_type)field->type) {
    case EVENT_VERSION: return event_json_number(at, BELAY_EVENT_VERSION);
    case EVENT_KIND: return event_json_word(at, field->word);
    case EVENT_TIME: return event_json_time(at, *(const struct belay_wall *)value);
    case EVENT_TEXT:
        return event_json_string(at, *(const struct belay_slice *)value, field->bytes_max);
    case EVENT_REQUEST_ID: return put_request_id(at, field, record, value);
    case EVENT_COUNT: return event_json_number(at, *(const uint32_t *)value);
    case EVENT_INTEGER: return event_json_number(at, *(const int64_t *)value);
    case EVENT_STATUS:
        return read_int(value) > 0 ? event_json_number(at, read_int(value)) : put_null(at);
    case EVENT_WORD: return put_word(at, field->name((unsigned)read_int(value)));
    case EVENT_SPAN:
        return event_json_number(at, belay_span_floor_ms(*(const struct belay_span *)value));
    case EVENT_TRUE: return event_json_text(at, "true", 4);
    case EVENT_RESULT: return put_result(at, value);
    }
    return at;
}

/* `out` has BELAY_EVENT_BYTES_MAX bytes, which the catalogue's sum does not reach. */
static size_t encode_whole(const struct event_record *catalogue, const void *record, char *out)
{
    unsigned held = presences(catalogue, record);
    char *at = out;
    for (size_t i = 0; i < catalogue->count; i++) {
        const struct event_field *field = &catalogue->fields[i];
        const void *value = (const char *)record + field->offset;
        bool present = field->presence == EVENT_IF_SET ? is_set(field, value)
                                                       : (held >> field->presence & 1) != 0;
        if (!present) continue;
        memcpy(at, field->key, EVENT_KEY_BYTES);
        at = put(at + field->key_bytes, field, record, value);
    }
    out[0] = '{'; /* in place of the first key's comma */
    at = event_json_text(at, "}\n", 2);
    return (size_t)(at - out);
}

static size_t encode(const struct event_record *catalogue, const void *record, char *out,
                     size_t capacity)
{
    char whole[BELAY_EVENT_BYTES_MAX];
    if (capacity >= BELAY_EVENT_BYTES_MAX) return encode_whole(catalogue, record, out);
    size_t bytes = encode_whole(catalogue, record, whole);
    if (bytes > capacity) return 0;
    memcpy(out, whole, bytes);
    return bytes;
}

size_t belay_attempt_event_encode(const struct belay_attempt_event *event, char *out,
                                  size_t capacity)
{
    return encode(&event_attempt_record, event, out, capacity);
}

size_t belay_operation_event_encode(const struct belay_operation_event *event, char *out,
                                    size_t capacity)
{
    return encode(&event_operation_record, event, out, capacity);
}

size_t belay_lost_event_encode(const struct belay_lost_event *event, char *out, size_t capacity)
{
    return encode(&event_lost_record, event, out, capacity);
}
