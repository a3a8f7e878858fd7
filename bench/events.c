/* events.c: writes the events of many made-up operations, by the real engine and the real encoder.
 *
 * usage: bench_events BYTES [SEED]
 *
 * Eight targets on virtual time, some healthy and some not; 64 operations under way at once, so
 * that records of different operations stand among each other as they do in life. Ends with the
 * first operations that have ended when BYTES are written. The same seed gives the same bytes.
 */
#include <belay/event.h>
#include <belay/operation.h>

#include <stdio.h>
#include <stdlib.h>

enum { TARGETS = 8, OPEN = 64, WALL_START_S = 1767700800 };

struct call {
    struct belay_operation op;
    struct belay_instant due; /* when this call has something to do next */
    struct belay_admission admitted;
    unsigned target;
    bool under_way, in_attempt;
    char id[33], trace[33];
};

static uint64_t seed;
static uint64_t written_bytes;
static struct belay_policy policy;
static struct belay_target *targets[TARGETS];
static const char *const NAMES[TARGETS] = {"orders",   "payments", "stock",  "mail",
                                           "accounts", "search",   "prices", "shipping"};

/* splitmix64 */
static uint64_t luck(void)
{
    uint64_t z = (seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static struct belay_wall wall(struct belay_instant now)
{
    return (struct belay_wall){WALL_START_S * BELAY_NS_PER_S + now.ns};
}

static void put(const char *line, size_t bytes)
{
    if (bytes == 0 || fwrite(line, 1, bytes, stdout) != bytes) exit(1);
    written_bytes += bytes;
}

/* What a call comes to: the odd targets fail more. */
static struct belay_outcome outcome_of(const struct call *call)
{
    unsigned dice = (unsigned)(luck() % 1000), bad = call->target % 4 == 3 ? 120 : 15;
    if (dice >= bad) return (struct belay_outcome){.status = 200, .sent = BELAY_ANSWERED};
    switch (dice % 5) {
    case 0: return (struct belay_outcome){.status = 503, .sent = BELAY_ANSWERED};
    case 1:
        return (struct belay_outcome){
            .status = 429, .sent = BELAY_ANSWERED, .has_retry_after = true, .retry_after_ms = 1000};
    case 2:
        return (struct belay_outcome){
            .error = BELAY_ERROR_TIMEOUT, .phase = BELAY_PHASE_HEADERS, .sent = BELAY_SENT};
    case 3:
        return (struct belay_outcome){
            .error = BELAY_ERROR_RESET, .phase = BELAY_PHASE_BODY, .sent = BELAY_SENT};
    default: return (struct belay_outcome){.status = 404, .sent = BELAY_ANSWERED};
    }
}

static void begin(struct call *call, struct belay_instant now)
{
    static const struct belay_traits READ = {.safe_method = true};
    call->target = (unsigned)(luck() % TARGETS);
    call->under_way = true;
    call->in_attempt = false;
    call->due = now;
    (void)snprintf(call->id, sizeof call->id, "%016llx%016llx", (unsigned long long)luck(),
                   (unsigned long long)luck());
    (void)snprintf(call->trace, sizeof call->trace, "%016llx%016llx", (unsigned long long)luck(),
                   (unsigned long long)luck());
    belay_operation_init(&call->op, &policy, targets[call->target], &READ, now,
                         belay_instant_add(now, policy.deadline_for), NULL);
}

static void end(struct call *call, struct belay_instant now)
{
    char line[BELAY_EVENT_BYTES_MAX];
    struct belay_operation_event event = {
        .time = wall(now),
        .operation_id = belay_slice_z(call->id),
        .method = belay_slice_z("GET"),
        .target = belay_slice_z(NAMES[call->target]),
        .route = belay_slice_z("/api/v1/things/{id}"),
        .endpoint = belay_slice_z("/api/v1/things/{id}"),
        .trace_id = belay_slice_z(call->trace),
        .ending = belay_operation_finish(&call->op, now),
    };
    event.answer = event.ending.status ? event.ending.status : 504;
    put(line, belay_operation_event_encode(&event, line, sizeof line));
    call->under_way = false;
}

static void finish_attempt(struct call *call, struct belay_instant began, struct belay_instant now)
{
    char line[BELAY_EVENT_BYTES_MAX], span[17];
    struct belay_outcome outcome = outcome_of(call);
    (void)snprintf(span, sizeof span, "%016llx", (unsigned long long)luck());
    struct belay_attempt_event event = {
        .time = wall(began),
        .operation_id = belay_slice_z(call->id),
        .method = belay_slice_z("GET"),
        .target = belay_slice_z(NAMES[call->target]),
        .route = belay_slice_z("/api/v1/things/{id}"),
        .endpoint = belay_slice_z("/api/v1/things/{id}"),
        .trace_id = belay_slice_z(call->trace),
        .span_id = belay_slice_z(span),
        .outcome = outcome,
        .verdict = belay_operation_record(&call->op, &outcome, now, luck()),
        .reused = luck() % 10 != 0,
    };
    put(line, belay_attempt_event_encode(&event, line, sizeof line));
    call->in_attempt = false;
    call->due = event.verdict.retry_at;
    if (event.verdict.decision != BELAY_DECISION_RETRY) end(call, now);
}

/* One step of the call that is due: an attempt ends, or the next one is asked for. */
static void step(struct call *call)
{
    struct belay_instant now = call->due;
    if (call->in_attempt) {
        finish_attempt(call, call->op.attempt_at, now);
        return;
    }
    call->admitted = belay_operation_admit(&call->op, now);
    if (call->admitted.kind == BELAY_REFUSED) {
        end(call, now);
        return;
    }
    bool admitted = call->admitted.kind == BELAY_ADMITTED;
    int64_t took_ns = (int64_t)(luck() % 40 + 1) * (int64_t)(luck() % 40 + 1) * 100000;
    call->in_attempt = admitted;
    call->due = admitted ? belay_instant_add(now, belay_span_ns(took_ns)) : call->admitted.at;
}

int main(int argc, char **argv)
{
    static struct call calls[OPEN];
    struct belay_instant now = {BELAY_NS_PER_S};
    uint64_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    policy = belay_policy_default();
    for (unsigned i = 0; i < TARGETS; i++) {
        void *memory = malloc(belay_target_size());
        if (!memory) return 1;
        targets[i] = belay_target_init(memory, &policy, i + 1);
    }
    for (bool open = true; open;) {
        struct call *next = NULL;
        for (unsigned i = 0; i < OPEN; i++) {
            if (!calls[i].under_way && written_bytes < bytes) begin(&calls[i], now);
            if (calls[i].under_way && (!next || belay_instant_before(calls[i].due, next->due)))
                next = &calls[i];
        }
        open = next != NULL;
        if (!open) break;
        now = next->due;
        step(next);
    }
    for (unsigned i = 0; i < TARGETS; i++) {
        belay_target_deinit(targets[i]);
        free(targets[i]);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
