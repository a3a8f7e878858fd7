/* story.h: made-up logs as records, for the tests of what is concluded from them. */
#ifndef TESTS_INSPECT_STORY_H
#define TESTS_INSPECT_STORY_H

#include "inspect/collect.h"

#include <belay/event.h>
#include <stdio.h>
#include <stdlib.h>

#define STORY_ID_BYTES 64

struct story_line {
    struct inspect_record record; /* its ids point into the texts below */
    char operation_id[STORY_ID_BYTES], request_id[STORY_ID_BYTES + 16], trace_id[33], span_id[17];
};

struct story {
    struct story_line **lines;
    size_t count, capacity;
};

static inline void story_end(struct story *story)
{
    for (size_t i = 0; i < story->count; i++) free(story->lines[i]);
    free(story->lines);
    *story = (struct story){0};
}

static inline struct story_line *story_add(struct story *story)
{
    if (story->count == story->capacity) {
        story->capacity = story->capacity * 2 + 16;
        story->lines = realloc(story->lines, story->capacity * sizeof(struct story_line *));
    }
    struct story_line *line = calloc(1, sizeof *line);
    if (!line || !story->lines) abort();
    story->lines[story->count++] = line;
    return line;
}

static inline void story_has(struct story_line *line, enum inspect_field field)
{
    line->record.present |= INSPECT_BIT(field);
}

static inline void story_lacks(struct story_line *line, enum inspect_field field)
{
    line->record.present &= ~INSPECT_BIT(field);
}

static inline void story_operation_id(struct story_line *line, const char *id)
{
    (void)snprintf(line->operation_id, sizeof line->operation_id, "%s", id);
    line->record.operation_id = belay_slice_z(line->operation_id);
    story_has(line, INSPECT_OPERATION_ID);
}

static inline void story_request_id(struct story_line *line, const char *id)
{
    (void)snprintf(line->request_id, sizeof line->request_id, "%s", id);
    line->record.request_id = belay_slice_z(line->request_id);
    story_has(line, INSPECT_REQUEST_ID);
}

static inline void story_trace(struct story_line *line, const char *trace, const char *span)
{
    (void)snprintf(line->trace_id, sizeof line->trace_id, "%s", trace);
    (void)snprintf(line->span_id, sizeof line->span_id, "%s", span);
    line->record.trace_id = belay_slice_z(line->trace_id);
    line->record.span_id = belay_slice_z(line->span_id);
    if (trace[0]) story_has(line, INSPECT_TRACE_ID);
    if (span[0]) story_has(line, INSPECT_SPAN_ID);
}

static inline void story_time(struct story_line *line, int64_t ms)
{
    line->record.time.ns = ms * BELAY_NS_PER_MS;
    story_has(line, INSPECT_TIME);
}

/* The minimal contract: an attempt by GET, with a status (or an error class when it is 0), without
 * time, reason and wait. */
static inline struct story_line *story_attempt(struct story *story, const char *id, unsigned number,
                                               int status, int64_t elapsed_ms, int64_t remaining_ms,
                                               enum belay_decision decision)
{
    struct story_line *line = story_add(story);
    char request[STORY_ID_BYTES + 16];
    line->record.kind = INSPECT_ATTEMPT;
    story_operation_id(line, id);
    (void)snprintf(request, sizeof request, "%s/attempt-%u", id, number);
    story_request_id(line, request);
    line->record.attempt = number;
    line->record.method = belay_slice_z("GET");
    line->record.status = status;
    line->record.error = status == 0 ? BELAY_ERROR_TIMEOUT : BELAY_ERROR_NONE;
    line->record.elapsed_ms = elapsed_ms;
    line->record.remaining_ms = remaining_ms;
    line->record.decision = decision;
    line->record.present |= INSPECT_BIT(INSPECT_ATTEMPT_NUMBER) | INSPECT_BIT(INSPECT_METHOD) |
                            INSPECT_BIT(INSPECT_STATUS) | INSPECT_BIT(INSPECT_ERROR_CLASS) |
                            INSPECT_BIT(INSPECT_ELAPSED) | INSPECT_BIT(INSPECT_REMAINING) |
                            INSPECT_BIT(INSPECT_DECISION);
    return line;
}

static inline void story_wait(struct story_line *line, int64_t wait_ms)
{
    line->record.wait_ms = wait_ms;
    story_has(line, INSPECT_WAIT);
}

/* `word` may be NULL: the result is the status. */
static inline struct story_line *story_ending(struct story *story, const char *id,
                                              unsigned attempts, int status, const char *word,
                                              int64_t elapsed_ms)
{
    struct story_line *line = story_add(story);
    line->record.kind = INSPECT_OPERATION;
    story_operation_id(line, id);
    line->record.method = belay_slice_z("GET");
    line->record.result_status = status;
    line->record.result_word = belay_slice_z(word);
    line->record.attempts = attempts;
    line->record.elapsed_ms = elapsed_ms;
    line->record.present |= INSPECT_BIT(INSPECT_METHOD) | INSPECT_BIT(INSPECT_RESULT) |
                            INSPECT_BIT(INSPECT_ATTEMPTS) | INSPECT_BIT(INSPECT_ELAPSED) |
                            INSPECT_BIT(INSPECT_EVENT);
    return line;
}

static const struct inspect_limits story_limits = {
    .open_max = 100000, .budget_percent = 10, .budget_burst = 10};

/* The report of the lines in their order; the caller destroys the collector. */
static inline const struct inspect_report *story_report(const struct story *story,
                                                        const struct inspect_limits *limits,
                                                        struct inspect_collector **collector)
{
    *collector = inspect_collector_create(limits);
    for (size_t i = 0; i < story->count; i++) {
        struct inspect_record record = story->lines[i]->record;
        record.line = i + 1;
        if (!inspect_collect(*collector, &record)) abort();
    }
    return inspect_collector_report(*collector);
}

#endif
