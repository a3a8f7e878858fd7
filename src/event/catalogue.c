/* catalogue.c: the one list of what stands in an event (catalogue.h). */
#include "event/catalogue.h"
#include "base/check.h"

#include <belay/event.h>

static const char *error_name(unsigned value)
{
    return value == BELAY_ERROR_NONE ? NULL : belay_error_class_name((enum belay_error_class)value);
}

static const char *phase_name(unsigned value)
{
    return belay_phase_name((enum belay_phase)value);
}

static const char *sent_name(unsigned value)
{
    return belay_sent_name((enum belay_sent)value);
}

static const char *decision_name(unsigned value)
{
    return belay_decision_name((enum belay_decision)value);
}

static const char *reason_name(unsigned value)
{
    return belay_reason_name((enum belay_reason)value);
}

static const char *wait_source_name(unsigned value)
{
    return belay_wait_source_name((enum belay_wait_source)value);
}

/* A call that is no write has none to tell. */
static const char *effect_name(unsigned value)
{
    return value == BELAY_EFFECT_NOT_A_WRITE ? NULL : belay_effect_name((enum belay_effect)value);
}

#define KEY(name) .key = ",\"" name "\":", .key_bytes = sizeof name + 3
#define AT(member) .offset = offsetof(struct RECORD, member)

#define RECORD belay_attempt_event
static const struct event_field ATTEMPT[] = {
    {KEY("v"), .type = EVENT_VERSION},
    {KEY("time"), AT(time), .type = EVENT_TIME, .presence = EVENT_IF_SET},
    {KEY("operationId"), AT(operation_id), .type = EVENT_TEXT, .bytes_max = BELAY_OPERATION_ID_MAX},
    {KEY("requestId"), AT(operation_id), .type = EVENT_REQUEST_ID,
     .bytes_max = BELAY_OPERATION_ID_MAX},
    {KEY("attempt"), AT(verdict.attempt), .type = EVENT_COUNT},
    {KEY("method"), AT(method), .type = EVENT_TEXT, .bytes_max = 32},
    {KEY("target"), AT(target), .type = EVENT_TEXT, .presence = EVENT_IF_SET, .bytes_max = 128},
    {KEY("route"), AT(route), .type = EVENT_TEXT, .presence = EVENT_IF_SET, .bytes_max = 256},
    {KEY("endpoint"), AT(endpoint), .type = EVENT_TEXT, .presence = EVENT_IF_SET, .bytes_max = 256},
    {KEY("status"), AT(outcome.status), .type = EVENT_STATUS},
    {KEY("errorClass"), AT(outcome.error), .type = EVENT_WORD, .name = error_name},
    {KEY("phase"), AT(outcome.phase), .type = EVENT_WORD, .presence = EVENT_IF_SET,
     .name = phase_name},
    {KEY("sent"), AT(outcome.sent), .type = EVENT_WORD, .name = sent_name},
    {KEY("elapsedMs"), AT(verdict.elapsed), .type = EVENT_SPAN},
    {KEY("remainingMs"), AT(verdict.remaining), .type = EVENT_SPAN},
    {KEY("retryAfterMs"), AT(outcome.retry_after_ms), .type = EVENT_INTEGER,
     .presence = EVENT_IF_HINT},
    {KEY("decision"), AT(verdict.decision), .type = EVENT_WORD, .name = decision_name},
    {KEY("reason"), AT(verdict.reason), .type = EVENT_WORD, .name = reason_name},
    {KEY("waitMs"), AT(verdict.wait), .type = EVENT_SPAN, .presence = EVENT_IF_RETRY},
    {KEY("waitSource"), AT(verdict.wait_source), .type = EVENT_WORD, .presence = EVENT_IF_WAIT,
     .name = wait_source_name},
    {KEY("reused"), AT(reused), .type = EVENT_TRUE, .presence = EVENT_IF_SET},
    {KEY("stale"), AT(outcome.stale), .type = EVENT_TRUE, .presence = EVENT_IF_SET},
    {KEY("traceId"), AT(trace_id), .type = EVENT_TEXT, .presence = EVENT_IF_SET, .bytes_max = 32},
    {KEY("spanId"), AT(span_id), .type = EVENT_TEXT, .presence = EVENT_IF_SET, .bytes_max = 16},
};
#undef RECORD

#define RECORD belay_operation_event
static const struct event_field OPERATION[] = {
    {KEY("v"), .type = EVENT_VERSION},
    {KEY("event"), .type = EVENT_KIND, .word = "operation"},
    {KEY("time"), AT(time), .type = EVENT_TIME, .presence = EVENT_IF_SET},
    {KEY("operationId"), AT(operation_id), .type = EVENT_TEXT, .bytes_max = BELAY_OPERATION_ID_MAX},
    {KEY("method"), AT(method), .type = EVENT_TEXT, .presence = EVENT_IF_SET, .bytes_max = 32},
    {KEY("target"), AT(target), .type = EVENT_TEXT, .presence = EVENT_IF_SET, .bytes_max = 128},
    {KEY("route"), AT(route), .type = EVENT_TEXT, .presence = EVENT_IF_SET, .bytes_max = 256},
    {KEY("endpoint"), AT(endpoint), .type = EVENT_TEXT, .presence = EVENT_IF_SET, .bytes_max = 256},
    {KEY("result"), AT(ending), .type = EVENT_RESULT},
    {KEY("answer"), AT(answer), .type = EVENT_STATUS, .presence = EVENT_IF_SET},
    {KEY("effect"), AT(ending.effect), .type = EVENT_WORD, .presence = EVENT_IF_SET,
     .name = effect_name},
    {KEY("attempts"), AT(ending.attempts), .type = EVENT_COUNT},
    {KEY("elapsedMs"), AT(ending.elapsed), .type = EVENT_SPAN},
    {KEY("fallback"), AT(fallback), .type = EVENT_TEXT, .presence = EVENT_IF_SET, .bytes_max = 64},
    {KEY("traceId"), AT(trace_id), .type = EVENT_TEXT, .presence = EVENT_IF_SET, .bytes_max = 32},
};
#undef RECORD

#define RECORD belay_lost_event
static const struct event_field LOST[] = {
    {KEY("v"), .type = EVENT_VERSION},
    {KEY("event"), .type = EVENT_KIND, .word = "lost"},
    {KEY("records"), AT(records), .type = EVENT_INTEGER},
};
#undef RECORD

const struct event_record event_attempt_record = {ATTEMPT, COUNT(ATTEMPT)};
const struct event_record event_operation_record = {OPERATION, COUNT(OPERATION)};
const struct event_record event_lost_record = {LOST, COUNT(LOST)};
