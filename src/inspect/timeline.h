/* timeline.h: one operation, attempt by attempt, put together from its records alone.
 *
 * Starts are on the operation's own clock: its first attempt begins at 0. They come from
 * remainingMs where it shrinks as it must, else from elapsedMs and waitMs; wall clocks are not
 * asked. A text that looks like a secret is not kept. Bounded: of an operation with more attempts
 * the first ones are kept, the others counted.
 */
#ifndef INSPECT_TIMELINE_H
#define INSPECT_TIMELINE_H

#include "inspect/record.h"

#define INSPECT_MOMENTS_MAX 256
#define INSPECT_NAME_BYTES 256 /* longer texts are cut */

struct inspect_moment { /* one attempt; `present` says which fields it had */
    uint32_t present, attempt;
    int status;
    enum belay_error_class error;
    enum belay_phase phase;
    enum belay_sent sent;
    enum belay_decision decision;
    enum belay_reason reason;
    enum belay_wait_source wait_source;
    int64_t elapsed_ms, remaining_ms, retry_after_ms, wait_ms;
    bool reused, stale;
    struct belay_wall time;
    uint64_t line;
    int64_t start_ms; /* arranged */
};

static inline bool moment_has(const struct inspect_moment *moment, enum inspect_field field)
{
    return (moment->present & INSPECT_BIT(field)) != 0;
}

struct inspect_timeline {
    const char *operation_id, *shown_id; /* the latter for people: may be INSPECT_NOT_SHOWN */
    char method[INSPECT_NAME_BYTES], target[INSPECT_NAME_BYTES], route[INSPECT_NAME_BYTES],
        endpoint[INSPECT_NAME_BYTES], trace_id[INSPECT_NAME_BYTES], fallback[INSPECT_NAME_BYTES],
        result_word[INSPECT_NAME_BYTES];
    size_t count;
    struct inspect_moment moments[INSPECT_MOMENTS_MAX]; /* arranged: by attempt */
    uint64_t repeats;                                   /* the same record again */
    uint64_t left_out;                                  /* attempts beyond INSPECT_MOMENTS_MAX */
    uint32_t summary; /* fields of the operation record; 0: none was seen */
    int result_status, answer;
    enum belay_effect effect;
    uint32_t attempts;
    int64_t elapsed_ms;
    struct belay_wall time; /* of the earliest record that had one; 0: none */
    int64_t end_ms;         /* arranged: of the last attempt, or of the wait that followed */
    int64_t deadline_ms;    /* arranged: after the first attempt's start; -1: not known */
};

/* `operation_id` is borrowed. */
void inspect_timeline_init(struct inspect_timeline *timeline, const char *operation_id);
/* False, and nothing is kept, when the record is of another operation. */
bool inspect_timeline_add(struct inspect_timeline *timeline, const struct inspect_record *record);
/* After the last record: orders the attempts and finds where each began. */
void inspect_timeline_arrange(struct inspect_timeline *timeline);
static inline bool inspect_timeline_empty(const struct inspect_timeline *timeline)
{
    return timeline->count == 0 && timeline->summary == 0;
}

#endif
