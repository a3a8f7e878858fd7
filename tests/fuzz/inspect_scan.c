/* inspect_scan.c: any bytes as a line of a log; what is found in them stays the same when our own
 * encoder writes it. */
#include "base/check.h"
#include "inspect/reader.h"

#include <belay/event.h>
#include <stdlib.h>

#define MS_MAX INT64_C(1000000000000)

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length);

static bool has(const struct inspect_record *record, enum inspect_field field)
{
    return (record->present & INSPECT_BIT(field)) != 0;
}

/* No field is usable and faulty at once, and no text is there that does not count. */
static void check_faults(const struct inspect_record *record)
{
    CHECK((record->present & (record->wrong_type | record->wrong_word)) == 0);
    CHECK(!has(record, INSPECT_ATTEMPT_NUMBER) || record->attempt >= 1);
    CHECK(record->status == 0 || (record->status >= 100 && record->status <= 599));
    CHECK(record->elapsed_ms >= 0 && record->remaining_ms >= 0 && record->wait_ms >= 0);
    CHECK((record->secret | record->full_url) == 0 || record->suspect.length > 0);
    CHECK(has(record, INSPECT_TARGET) || record->target.length == 0);
    CHECK(has(record, INSPECT_OPERATION_ID) || record->operation_id.length == 0);
}

/* Short enough that the encoder does not cut it, whatever is to be escaped. */
static bool fits(struct belay_slice text, size_t bytes_max)
{
    return text.length * 6 <= bytes_max;
}

static bool can_be_encoded(const struct inspect_record *record)
{
    return record->kind == INSPECT_ATTEMPT && has(record, INSPECT_OPERATION_ID) &&
           has(record, INSPECT_METHOD) && has(record, INSPECT_ATTEMPT_NUMBER) &&
           fits(record->operation_id, BELAY_OPERATION_ID_MAX) && fits(record->method, 32) &&
           fits(record->target, 128) && fits(record->route, 256) && fits(record->endpoint, 256) &&
           record->elapsed_ms < MS_MAX && record->remaining_ms < MS_MAX && record->wait_ms < MS_MAX;
}

static struct belay_attempt_event event_of(const struct inspect_record *record)
{
    return (struct belay_attempt_event){
        .time = record->time,
        .operation_id = record->operation_id,
        .method = record->method,
        .target = record->target,
        .route = record->route,
        .endpoint = record->endpoint,
        .reused = record->reused,
        .outcome = {.status = record->status,
                    .error = record->error,
                    .phase = record->phase,
                    .sent = record->sent,
                    .stale = record->stale,
                    .has_retry_after = has(record, INSPECT_RETRY_AFTER),
                    .retry_after_ms = record->retry_after_ms},
        .verdict = {.decision = record->decision,
                    .reason = record->reason,
                    .attempt = record->attempt,
                    .elapsed = belay_span_ms(record->elapsed_ms),
                    .remaining = belay_span_ms(record->remaining_ms),
                    .wait = belay_span_ms(record->wait_ms),
                    .wait_source = record->wait_source},
    };
}

static void check_same(const struct inspect_record *a, const struct inspect_record *b)
{
    CHECK(b->kind == INSPECT_ATTEMPT && !b->foreign_fields);
    CHECK((b->wrong_type | b->wrong_word | b->repeated) == 0);
    CHECK(belay_slice_equal(a->operation_id, b->operation_id));
    CHECK(belay_slice_equal(a->method, b->method) && belay_slice_equal(a->target, b->target));
    CHECK(belay_slice_equal(a->route, b->route) && belay_slice_equal(a->endpoint, b->endpoint));
    CHECK(a->status == b->status && a->error == b->error && a->phase == b->phase);
    CHECK(a->sent == b->sent && a->decision == b->decision && a->reason == b->reason);
    CHECK(a->attempt == b->attempt && a->reused == b->reused && a->stale == b->stale);
    CHECK(a->elapsed_ms == b->elapsed_ms && a->remaining_ms == b->remaining_ms);
    CHECK(a->retry_after_ms == b->retry_after_ms);
    CHECK(a->decision != BELAY_DECISION_RETRY || a->wait_ms == b->wait_ms);
    /* The encoder shows milliseconds, and what is before 1970 as its first instant. */
    int64_t shown_ns = a->time.ns < 0 ? 0 : a->time.ns - a->time.ns % BELAY_NS_PER_MS;
    CHECK(a->time.ns == 0 || b->time.ns == shown_ns);
}

static void check_round_trip(const struct inspect_record *record)
{
    char line[BELAY_EVENT_BYTES_MAX];
    struct inspect_record again;
    bool junk = false;
    struct belay_attempt_event event = event_of(record);
    size_t length = belay_attempt_event_encode(&event, line, sizeof line);
    CHECK(length > 0);
    CHECK(inspect_scan(line, length - 1, &again, &junk) && !junk);
    check_same(record, &again);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length)
{
    char *line = malloc(length ? length : 1);
    struct inspect_record record;
    bool junk = false;
    CHECK(line);
    if (length) memcpy(line, bytes, length);
    if (inspect_scan(line, length, &record, &junk)) {
        check_faults(&record);
        if (can_be_encoded(&record)) check_round_trip(&record);
    }
    free(line);
    return 0;
}
