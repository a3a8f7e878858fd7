/* timeline.c: puts one operation's attempts in order and finds when each began (timeline.h). */
#include "inspect/timeline.h"

#include "inspect/suspect.h"

#include <stdlib.h>

void inspect_timeline_init(struct inspect_timeline *timeline, const char *operation_id)
{
    bool secret = suspect_find(belay_slice_z(operation_id), SUSPECT_ID) != 0;
    *timeline = (struct inspect_timeline){
        .operation_id = operation_id,
        .shown_id = secret ? INSPECT_NOT_SHOWN : operation_id,
        .deadline_ms = -1,
    };
}

/* The first record that has the text gives it. */
static void keep(char out[INSPECT_NAME_BYTES], struct belay_slice text)
{
    if (out[0] != '\0' || text.length == 0) return;
    size_t length = text.length < INSPECT_NAME_BYTES ? text.length : INSPECT_NAME_BYTES - 1;
    for (size_t i = 0; i < length; i++) out[i] = text.data[i] ? text.data[i] : '?';
    out[length] = '\0';
}

static struct belay_slice shown(const struct inspect_record *record, enum inspect_field field,
                                struct belay_slice text)
{
    if (!inspect_has(record, field)) return belay_slice(NULL, 0);
    return inspect_is_doubtful(record, field) ? belay_slice_z(INSPECT_NOT_SHOWN) : text;
}

static void keep_names(struct inspect_timeline *t, const struct inspect_record *r)
{
    keep(t->method, shown(r, INSPECT_METHOD, r->method));
    keep(t->target, shown(r, INSPECT_TARGET, r->target));
    keep(t->route, shown(r, INSPECT_ROUTE, r->route));
    keep(t->endpoint, shown(r, INSPECT_ENDPOINT, r->endpoint));
    keep(t->trace_id, shown(r, INSPECT_TRACE_ID, r->trace_id));
    keep(t->fallback, shown(r, INSPECT_FALLBACK, r->fallback));
    if (!inspect_has(r, INSPECT_TIME)) return;
    if (t->time.ns == 0 || r->time.ns < t->time.ns) t->time = r->time;
}

static struct inspect_moment moment_of(const struct inspect_record *r)
{
    return (struct inspect_moment){
        .present = r->present,
        .attempt = r->attempt,
        .status = r->status,
        .error = r->error,
        .phase = r->phase,
        .sent = r->sent,
        .decision = r->decision,
        .reason = r->reason,
        .wait_source = r->wait_source,
        .elapsed_ms = r->elapsed_ms,
        .remaining_ms = r->remaining_ms,
        .retry_after_ms = r->retry_after_ms,
        .wait_ms = r->wait_ms,
        .reused = r->reused,
        .stale = r->stale,
        .time = r->time,
        .line = r->line,
    };
}

/* A log may deliver a line twice. */
static bool is_repeat(const struct inspect_moment *a, const struct inspect_moment *b)
{
    return a->present == b->present && a->attempt == b->attempt && a->status == b->status &&
           a->error == b->error && a->decision == b->decision && a->elapsed_ms == b->elapsed_ms &&
           a->remaining_ms == b->remaining_ms && a->wait_ms == b->wait_ms &&
           a->time.ns == b->time.ns;
}

static void add_attempt(struct inspect_timeline *timeline, const struct inspect_record *record)
{
    struct inspect_moment moment = moment_of(record);
    for (size_t i = 0; i < timeline->count; i++) {
        if (!is_repeat(&timeline->moments[i], &moment)) continue;
        timeline->repeats++;
        return;
    }
    if (timeline->count == INSPECT_MOMENTS_MAX)
        timeline->left_out++;
    else
        timeline->moments[timeline->count++] = moment;
}

static void add_summary(struct inspect_timeline *timeline, const struct inspect_record *record)
{
    timeline->summary = record->present | INSPECT_BIT(INSPECT_EVENT);
    timeline->result_status = record->result_status;
    timeline->answer = record->answer;
    timeline->effect = record->effect;
    timeline->attempts = record->attempts;
    timeline->elapsed_ms = record->elapsed_ms;
    if (record->result_status == 0)
        keep(timeline->result_word, shown(record, INSPECT_RESULT, record->result_word));
}

bool inspect_timeline_add(struct inspect_timeline *timeline, const struct inspect_record *record)
{
    if (!inspect_has(record, INSPECT_OPERATION_ID) ||
        !belay_slice_equal(record->operation_id, belay_slice_z(timeline->operation_id)))
        return false;
    keep_names(timeline, record);
    if (record->kind == INSPECT_ATTEMPT)
        add_attempt(timeline, record);
    else if (record->kind == INSPECT_OPERATION)
        add_summary(timeline, record);
    return true;
}

/* By attempt; what has no number, or the same, in the order of the lines. */
static int by_attempt(const void *left, const void *right)
{
    const struct inspect_moment *a = left, *b = right;
    if (a->attempt != b->attempt) return a->attempt < b->attempt ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static int64_t end_of(const struct inspect_moment *moment)
{
    return belay_ns_add(moment->start_ms,
                        moment_has(moment, INSPECT_ELAPSED) ? moment->elapsed_ms : 0);
}

static int64_t after_wait(const struct inspect_moment *moment)
{
    return belay_ns_add(end_of(moment), moment_has(moment, INSPECT_WAIT) ? moment->wait_ms : 0);
}

/* Not before the one before it has ended and waited; later when remainingMs says so, as queues take
 * time too. */
static void place(const struct inspect_moment *first, const struct inspect_moment *before,
                  struct inspect_moment *moment)
{
    moment->start_ms = after_wait(before);
    if (!moment_has(first, INSPECT_REMAINING) || !moment_has(before, INSPECT_REMAINING) ||
        !moment_has(moment, INSPECT_REMAINING) || moment->remaining_ms > before->remaining_ms)
        return;
    int64_t start = first->remaining_ms - moment->remaining_ms;
    if (start > moment->start_ms) moment->start_ms = start;
}

void inspect_timeline_arrange(struct inspect_timeline *timeline)
{
    struct inspect_moment *moments = timeline->moments;
    if (timeline->count == 0) return;
    qsort(moments, timeline->count, sizeof *moments, by_attempt);
    for (size_t i = 1; i < timeline->count; i++) place(&moments[0], &moments[i - 1], &moments[i]);
    for (size_t i = 0; i < timeline->count; i++) {
        if (after_wait(&moments[i]) > timeline->end_ms) timeline->end_ms = after_wait(&moments[i]);
    }
    if (moment_has(&moments[0], INSPECT_REMAINING)) timeline->deadline_ms = moments[0].remaining_ms;
}
