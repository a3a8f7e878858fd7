/* stream.h: logs of the real engine: operations on one target, on virtual time, written by the real
 * encoder; and what becomes of a log before somebody reads it. */
#ifndef TESTS_INSPECT_STREAM_H
#define TESTS_INSPECT_STREAM_H

#include "inspect/collect.h"
#include "inspect/reader.h"
#include "seed.h"

#include <belay/event.h>
#include <stdlib.h>

#define STREAM_ID_BYTES 48

struct stream_line {
    char *text;
    char id[STREAM_ID_BYTES];
    unsigned attempt; /* 0: the ending */
    enum belay_decision decision;
    int64_t at_ms; /* written */
};

struct stream {
    struct stream_line *lines;
    size_t count, capacity;
};

/* One daemon in front of one target. */
struct stream_world {
    struct rng *rng;
    struct stream *stream;
    struct belay_policy policy;
    struct belay_target *target;
    const char *name;
    int64_t wall_ns; /* of the virtual instant 0 */
    bool with_times;
    unsigned trouble_percent; /* calls that do not give 200 */
};

static inline void stream_end(struct stream *stream)
{
    for (size_t i = 0; i < stream->count; i++) free(stream->lines[i].text);
    free(stream->lines);
    *stream = (struct stream){0};
}

static inline struct stream_line *stream_insert(struct stream *stream, size_t at, const char *text)
{
    if (stream->count == stream->capacity) {
        stream->capacity = 2 * stream->capacity + 64;
        stream->lines = realloc(stream->lines, stream->capacity * sizeof *stream->lines);
        if (!stream->lines) abort();
    }
    memmove(&stream->lines[at + 1], &stream->lines[at],
            (stream->count - at) * sizeof *stream->lines);
    stream->count++;
    stream->lines[at] = (struct stream_line){.text = strdup(text)};
    return &stream->lines[at];
}

static inline void stream_delete(struct stream *stream, size_t at)
{
    free(stream->lines[at].text);
    stream->count--;
    memmove(&stream->lines[at], &stream->lines[at + 1],
            (stream->count - at) * sizeof *stream->lines);
}

/* --- the engine --- */

struct stream_call {
    struct belay_operation operation;
    char id[STREAM_ID_BYTES], trace[33], span[17];
    bool keyed, in_flight, ended;
    const char *method;
    int64_t due_ns, began_ns, attempt_ns;
    struct belay_outcome outcome;
};

static inline void stream_write(struct stream_world *world, const struct stream_call *call,
                                char *text, size_t length, unsigned attempt,
                                enum belay_decision decision, int64_t now_ns)
{
    text[length - 1] = '\0'; /* its newline */
    struct stream_line *line = stream_insert(world->stream, world->stream->count, text);
    memcpy(line->id, call->id, sizeof line->id);
    line->attempt = attempt;
    line->decision = decision;
    line->at_ms = now_ns / BELAY_NS_PER_MS;
}

static inline struct belay_wall stream_wall(const struct stream_world *world, int64_t at_ns)
{
    return (struct belay_wall){world->with_times ? world->wall_ns + at_ns : 0};
}

static inline void stream_attempt(struct stream_world *world, struct stream_call *call,
                                  const struct belay_verdict *verdict, int64_t now_ns)
{
    char text[BELAY_EVENT_BYTES_MAX];
    struct belay_attempt_event event = {.time = stream_wall(world, call->attempt_ns),
                                        .operation_id = belay_slice_z(call->id),
                                        .method = belay_slice_z(call->method),
                                        .target = belay_slice_z(world->name),
                                        .endpoint = belay_slice_z("/orders/{id}"),
                                        .trace_id = belay_slice_z(call->trace),
                                        .span_id = belay_slice_z(call->span),
                                        .outcome = call->outcome,
                                        .verdict = *verdict};
    size_t length = belay_attempt_event_encode(&event, text, sizeof text);
    stream_write(world, call, text, length, verdict->attempt, verdict->decision, now_ns);
}

static inline void stream_ending(struct stream_world *world, struct stream_call *call,
                                 int64_t now_ns)
{
    char text[BELAY_EVENT_BYTES_MAX];
    struct belay_ending ending =
        belay_operation_finish(&call->operation, (struct belay_instant){now_ns});
    struct belay_operation_event event = {.time = stream_wall(world, call->began_ns),
                                          .operation_id = belay_slice_z(call->id),
                                          .method = belay_slice_z(call->method),
                                          .target = belay_slice_z(world->name),
                                          .endpoint = belay_slice_z("/orders/{id}"),
                                          .trace_id = belay_slice_z(call->trace),
                                          .ending = ending,
                                          .answer = ending.status ? ending.status : 503};
    size_t length = belay_operation_event_encode(&event, text, sizeof text);
    stream_write(world, call, text, length, 0, BELAY_DECISION_STOP, now_ns);
    call->ended = true;
}

static inline struct belay_outcome stream_outcome(struct stream_world *world)
{
    static const int STATUSES[] = {500, 502, 503, 504, 429, 404, 301};
    struct belay_outcome outcome = {.status = 200, .sent = BELAY_ANSWERED};
    if (!test_chance(world->rng, world->trouble_percent)) return outcome;
    if (test_chance(world->rng, 60)) {
        outcome.status = STATUSES[test_below(world->rng, sizeof STATUSES / sizeof STATUSES[0])];
        if (outcome.status == 503 || outcome.status == 429) {
            outcome.has_retry_after = test_chance(world->rng, 50);
            outcome.retry_after_ms = (int64_t)test_below(world->rng, 3) * 100;
        }
        return outcome;
    }
    outcome = (struct belay_outcome){.phase = BELAY_PHASE_HEADERS, .sent = BELAY_SENT};
    outcome.error = (enum belay_error_class)(1 + test_below(world->rng, BELAY_ERROR_COUNT - 1));
    outcome.stale = outcome.error == BELAY_ERROR_CLOSED && test_chance(world->rng, 50);
    if (outcome.error == BELAY_ERROR_REFUSED || outcome.error == BELAY_ERROR_DNS) {
        outcome.phase = BELAY_PHASE_CONNECT;
        outcome.sent = BELAY_UNSENT;
    }
    return outcome;
}

static inline void stream_begin(struct stream_world *world, struct stream_call *call,
                                unsigned number, int64_t began_ns)
{
    static const char *const METHODS[] = {"GET", "GET", "HEAD", "POST", "POST", "PUT"};
    (void)snprintf(call->id, sizeof call->id, "%s-%016" PRIx64, world->name, rng_next(world->rng));
    /* Ten operations a trace: that is normal. */
    (void)snprintf(call->trace, sizeof call->trace, "%016x%016x", 7, number / 10 + 1);
    call->method = METHODS[test_below(world->rng, sizeof METHODS / sizeof METHODS[0])];
    struct belay_traits traits = belay_traits_of(belay_method_parse(belay_slice_z(call->method)));
    traits.keyed = test_chance(world->rng, 50);
    traits.state_check = test_chance(world->rng, 20);
    call->began_ns = call->due_ns = began_ns;
    struct belay_instant now = {began_ns};
    belay_operation_init(&call->operation, &world->policy, world->target, &traits, now,
                         belay_instant_add(now, world->policy.deadline_for), NULL);
}

static inline void stream_admit(struct stream_world *world, struct stream_call *call)
{
    struct belay_admission admission =
        belay_operation_admit(&call->operation, (struct belay_instant){call->due_ns});
    if (admission.kind == BELAY_REFUSED) {
        stream_ending(world, call, call->due_ns);
    } else if (admission.kind == BELAY_ADMITTED) {
        int64_t end_ns = admission.at.ns;
        call->in_flight = true;
        call->attempt_ns = call->due_ns;
        call->outcome = stream_outcome(world);
        (void)snprintf(call->span, sizeof call->span, "%016" PRIx64, rng_next(world->rng));
        call->due_ns += (int64_t)test_below(world->rng, 60 * BELAY_NS_PER_MS);
        if (call->outcome.error == BELAY_ERROR_TIMEOUT || call->due_ns > end_ns) {
            call->outcome = (struct belay_outcome){
                .error = BELAY_ERROR_TIMEOUT, .phase = BELAY_PHASE_HEADERS, .sent = BELAY_SENT};
            call->due_ns = end_ns;
        }
    } else {
        call->due_ns = admission.at.ns;
    }
}

static inline void stream_step(struct stream_world *world, struct stream_call *call)
{
    if (!call->in_flight) {
        stream_admit(world, call);
        return;
    }
    struct belay_instant now = {call->due_ns};
    struct belay_verdict verdict =
        belay_operation_record(&call->operation, &call->outcome, now, rng_next(world->rng));
    call->in_flight = false;
    stream_attempt(world, call, &verdict, now.ns);
    if (verdict.decision == BELAY_DECISION_RETRY) {
        call->due_ns = verdict.retry_at.ns;
    } else {
        stream_ending(world, call, now.ns);
    }
}

/* `count` operations, begun over `for_ms`; appends their lines in the order they were written. */
static inline void stream_run(struct stream_world *world, unsigned count, int64_t for_ms)
{
    struct stream_call *calls = calloc(count, sizeof *calls);
    world->target = belay_target_create(&world->policy, rng_next(world->rng));
    if (!calls || !world->target) abort();
    for (unsigned i = 0; i < count; i++) {
        int64_t span_ns = for_ms * BELAY_NS_PER_MS;
        stream_begin(world, &calls[i], i,
                     (int64_t)rng_scale(rng_next(world->rng), (uint64_t)span_ns));
    }
    for (;;) {
        struct stream_call *next = NULL;
        for (unsigned i = 0; i < count; i++) {
            if (calls[i].ended) continue;
            if (!next || calls[i].due_ns < next->due_ns) next = &calls[i];
        }
        if (!next) break;
        stream_step(world, next);
    }
    belay_target_destroy(world->target);
    free(calls);
}

/* --- what becomes of a log --- */

static inline void stream_shuffle(struct stream *stream, struct rng *rng)
{
    for (size_t i = stream->count; i > 1; i--) {
        size_t other = (size_t)test_below(rng, i);
        struct stream_line line = stream->lines[i - 1];
        stream->lines[i - 1] = stream->lines[other];
        stream->lines[other] = line;
    }
}

static inline void stream_cut(struct stream *stream, size_t head, size_t tail)
{
    for (size_t i = 0; i < tail && stream->count > 0; i++) stream_delete(stream, stream->count - 1);
    for (size_t i = 0; i < head && stream->count > 0; i++) stream_delete(stream, 0);
}

static inline void stream_wrap(struct stream *stream, struct rng *rng)
{
    for (size_t i = 0; i < stream->count; i++) {
        struct stream_line *line = &stream->lines[i];
        char text[BELAY_EVENT_BYTES_MAX + 128];
        if (test_chance(rng, 50)) {
            (void)snprintf(text, sizeof text, "2026-11-30T20:00:00Z host belay[42]: %s",
                           line->text);
        } else {
            (void)snprintf(text, sizeof text, "{\"stream\":\"stdout\",\"log\":%s}", line->text);
        }
        free(line->text);
        line->text = strdup(text);
    }
}

/* Reads the lines as a reader would; the caller destroys the collector. */
static inline const struct inspect_report *stream_report(const struct stream *stream,
                                                         const struct inspect_limits *limits,
                                                         struct inspect_collector **collector)
{
    *collector = inspect_collector_create(limits);
    for (size_t i = 0; i < stream->count; i++) {
        struct inspect_record record;
        bool junk = false;
        char *text = strdup(stream->lines[i].text); /* scanning may unescape in place */
        if (!text || !inspect_scan(text, strlen(text), &record, &junk)) abort();
        record.line = i + 1;
        if (!inspect_collect(*collector, &record)) abort();
        free(text);
    }
    return inspect_collector_report(*collector);
}

#endif
