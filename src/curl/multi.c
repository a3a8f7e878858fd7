/* multi.c: operations over one multi handle: asks the gates, makes the attempts, does what the
 * verdicts say. Decides nothing by itself (semantics 3). */
#include "curl/run.h"

#include <search.h>
#include <stdlib.h>

/* ---- rings ---- */

static void ring_init(struct ring *ring)
{
    ring->next = ring->prev = ring;
}

static void ring_remove(struct ring *node)
{
    node->next->prev = node->prev;
    node->prev->next = node->next;
}

static void ring_add(struct ring *ring, struct ring *node)
{
    node->next = ring;
    node->prev = ring->prev;
    node->prev->next = node;
    ring->prev = node;
}

/* NULL at the end of the ring. */
static struct run *run_at(const struct ring *ring, struct ring *node)
{
    return node == ring ? NULL : CONTAINER_OF(node, struct run, ring);
}

/* ---- handles ---- */

static int compare_easy(const void *a, const void *b)
{
    uintptr_t one = (uintptr_t) * (CURL *const *)a, other = (uintptr_t) * (CURL *const *)b;
    return (one > other) - (one < other);
}

/* Of those under way; NULL: not the library's. */
static struct run *run_of(struct belay_curl_multi *multi, CURL *easy)
{
    struct run **found = tfind(&easy, &multi->by_easy, compare_easy);
    return found ? *found : NULL;
}

/* ---- time ---- */

/* An attempt is cut in the last whole millisecond of its time, so that it is never late; a wait is
 * never cut short. */
static bool is_due(const struct run *run, struct belay_instant now)
{
    int64_t early = run->state == RUN_CALLING ? BELAY_NS_PER_MS - 1 : 0;
    return run->due_at.ns <= belay_ns_add(now.ns, early);
}

static void schedule(struct run *run, enum run_state state, struct belay_instant at)
{
    struct belay_curl_multi *multi = run->multi;
    run->state = state;
    run->due_at = at;
    int64_t early = state == RUN_CALLING ? BELAY_NS_PER_MS - 1 : 0;
    multi->next_at =
        belay_instant_min(multi->next_at, (struct belay_instant){belay_ns_sub(at.ns, early)});
}

/* ---- records ---- */

static struct belay_slice trace_id_of(const struct run *run)
{
    return belay_slice_z(run->call->traceparent ? run->trace_id : NULL);
}

static void tell_attempt(const struct run *run)
{
    const struct belay_curl_call *call = run->call;
    struct belay_attempt_event event = {
        .time = run->attempt.time,
        .operation_id = belay_slice_z(run->operation_id),
        .method = belay_slice_z(run->method),
        .target = belay_slice_z(call->target_name),
        .route = belay_slice_z(call->route),
        .endpoint = run->endpoint,
        .trace_id = trace_id_of(run),
        .span_id = belay_slice_z(call->traceparent ? run->span_id : NULL),
        .outcome = run->outcome,
        .verdict = run->verdict,
        .reused = run->attempt.reused,
    };
    if (call->on_attempt) call->on_attempt(call->user, &event);
}

static void tell_operation(const struct run *run)
{
    const struct belay_curl_call *call = run->call;
    struct belay_operation_event event = {
        .time = run->began_wall,
        .operation_id = belay_slice_z(run->operation_id),
        .method = belay_slice_z(run->method),
        .target = belay_slice_z(call->target_name),
        .route = belay_slice_z(call->route),
        .endpoint = run->endpoint,
        .trace_id = trace_id_of(run),
        .ending = call->result.ending,
        .answer = call->result.status,
    };
    if (call->on_operation) call->on_operation(call->user, &event);
}

bool belay__curl_record(struct run *run, const struct belay_outcome *outcome)
{
    struct belay_instant now = belay_curl_now();
    run->outcome = *outcome;
    run->verdict = belay_operation_record(&run->op, outcome, now, belay__curl_luck());
    run->ended_one = true;
    tell_attempt(run);
    bool again = run->verdict.decision == BELAY_DECISION_RETRY;
    if (again) schedule(run, RUN_ASKING, run->verdict.retry_at);
    return again;
}

/* ---- the end ---- */

static void end(struct run *run, CURLcode code)
{
    struct belay_curl_result *result = &run->call->result;
    bool answered = run->attempt.passed || code == CURLE_OK || code == CURLE_HTTP_RETURNED_ERROR;
    result->code = code;
    result->status = answered ? run->attempt.head.status : 0;
    result->decision = run->verdict.decision;
    result->reason = run->verdict.reason;
    result->outcome = run->outcome;
    belay__curl_attempt_stop(run);
    belay__curl_restore(run);
    result->ending = belay_operation_finish(&run->op, belay_curl_now());
    tell_operation(run);
    belay__curl_head_clear(&run->attempt.head);
    run->state = RUN_DONE;
    (void)tdelete(run, &run->multi->by_easy, compare_easy);
    ring_remove(&run->ring);
    ring_add(&run->multi->done, &run->ring);
}

static CURLcode code_of_refusal(const struct run *run, enum belay_terminal terminal)
{
    if (run->ended_one) return run->code;
    if (terminal == BELAY_TERMINAL_DEADLINE_EXCEEDED) return CURLE_OPERATION_TIMEDOUT;
    if (terminal == BELAY_TERMINAL_CANCELLED) return CURLE_ABORTED_BY_CALLBACK;
    return CURLE_COULDNT_CONNECT;
}

/* No more attempts. An answer that was held is the caller's now, and ends by itself. */
static void refuse(struct run *run, const struct belay_admission *admission)
{
    struct belay_curl_result *result = &run->call->result;
    result->refused = true;
    result->terminal = admission->terminal;
    result->has_hint = admission->has_hint;
    result->retry_hint = admission->retry_hint;
    if (run->held) {
        run->held = false;
        run->attempt.end_at = run->deadline_at;
        schedule(run, RUN_CALLING, run->deadline_at);
        (void)curl_easy_pause(run->easy, CURLPAUSE_CONT); /* what fails ends the transfer */
        return;
    }
    /* With CURLOPT_FAILONERROR a head is all that is given of such an answer. */
    if (run->ended_one && run->code == CURLE_HTTP_RETURNED_ERROR) (void)belay__curl_head_give(run);
    end(run, code_of_refusal(run, admission->terminal));
}

/* ---- attempts ---- */

static void lost(struct run *run, const struct belay_outcome *outcome, CURLcode code)
{
    belay__curl_attempt_stop(run);
    run->code = code;
    if (run->attempt.recorded || !belay__curl_record(run, outcome)) end(run, code);
}

static struct belay_instant clock_of(const struct run *run)
{
    const struct attempt *attempt = &run->attempt;
    return attempt->begun > 0 ? attempt->end_at
                              : belay_instant_min(attempt->end_at, attempt->connect_end_at);
}

static void attempt(struct run *run, const struct belay_admission *admission)
{
    CURLcode code = belay__curl_attempt_start(run, admission);
    if (code == CURLE_OK) {
        schedule(run, RUN_CALLING, clock_of(run));
        return;
    }
    struct belay_outcome none = {
        .error = BELAY_ERROR_CANCELLED, .phase = BELAY_PHASE_SEND, .sent = BELAY_UNSENT};
    lost(run, &none, code);
}

static void ask(struct run *run)
{
    struct belay_admission admission = belay_operation_admit(&run->op, belay_curl_now());
    switch (admission.kind) {
    case BELAY_ADMITTED: attempt(run, &admission); break;
    case BELAY_WAIT:
    case BELAY_QUEUED: schedule(run, RUN_ASKING, admission.at); break;
    case BELAY_REFUSED: refuse(run, &admission); break;
    }
}

static void cut(struct run *run, CURLcode code)
{
    belay__curl_know(run);
    struct belay_outcome outcome = belay__curl_attempt_outcome(run, code);
    lost(run, &outcome, code);
}

/* The clock of the attempt, or that of connecting: TLS has one of its own, which begins when the
 * connection is made. */
static void on_clock(struct run *run)
{
    struct attempt *attempt = &run->attempt;
    struct belay_span tls_for = run->policy.tls_timeout_for;
    if (attempt->begun == 0 && !attempt->tls_clock && belay__curl_is_connected(run)) {
        attempt->tls_clock = true;
        attempt->connect_end_at =
            tls_for.ns > 0 ? belay_instant_add(belay_curl_now(), tls_for) : belay_instant_never();
    }
    run->due_at = clock_of(run);
    if (is_due(run, belay_curl_now()))
        cut(run, CURLE_OPERATION_TIMEDOUT);
    else
        schedule(run, RUN_CALLING, run->due_at);
}

static void on_done(struct run *run, CURLcode code)
{
    bool held = run->held;
    belay__curl_attempt_stop(run);
    run->code = code;
    if (run->state == RUN_ASKING) { /* the answer was lost while it was held */
        if (held && code == CURLE_OK) run->code = CURLE_PARTIAL_FILE;
        return;
    }
    if (run->attempt.recorded) {
        end(run, code);
        return;
    }
    belay__curl_know(run);
    struct belay_outcome outcome = belay__curl_attempt_outcome(run, code);
    if (!belay__curl_record(run, &outcome)) {
        if (code == CURLE_HTTP_RETURNED_ERROR) (void)belay__curl_head_give(run);
        end(run, code);
    }
}

/* ---- the loop ---- */

static void read_messages(struct belay_curl_multi *multi)
{
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi->multi, &left))) {
        struct run *run = run_of(multi, message->easy_handle);
        if (run && message->msg == CURLMSG_DONE) on_done(run, message->data.result);
    }
}

static void do_due(struct run *run, struct belay_instant now)
{
    bool woken = atomic_exchange(&run->woken, false) && run->state == RUN_ASKING;
    if (!woken && !is_due(run, now)) {
        schedule(run, run->state, run->due_at);
    } else if (run->state == RUN_ASKING) {
        ask(run);
    } else {
        on_clock(run);
    }
}

void belay_curl_multi_run(struct belay_curl_multi *multi)
{
    read_messages(multi);
    struct belay_instant now = belay_curl_now();
    bool woken = atomic_exchange(&multi->woken, false);
    if (!woken && now.ns < multi->next_at.ns) return;
    multi->next_at = belay_instant_never();
    struct ring *node = multi->running.next, *next;
    for (; node != &multi->running; node = next) {
        next = node->next;
        do_due(CONTAINER_OF(node, struct run, ring), now);
    }
}

struct belay_instant belay_curl_multi_next_at(const struct belay_curl_multi *multi)
{
    return multi->next_at;
}

int belay_curl_multi_timeout_ms(const struct belay_curl_multi *multi, int max_ms)
{
    struct belay_span left = belay_instant_since(multi->next_at, belay_curl_now());
    int64_t ms = belay_span_ceil_ms(left);
    return ms < max_ms ? (int)ms : max_ms;
}

/* ---- life ---- */

/* From whichever thread gave a slot back. */
static void on_wake(struct belay_waiter *waiter)
{
    struct run *run = CONTAINER_OF(waiter, struct run, op.waiter);
    struct belay_curl_multi *multi = run->multi;
    atomic_store(&run->woken, true);
    atomic_store(&multi->woken, true);
    if (multi->wake)
        multi->wake(multi->wake_data);
    else
        (void)curl_multi_wakeup(multi->multi);
}

static void begin(struct run *run)
{
    const struct belay_curl_call *call = run->call;
    struct belay_traits unknown_yet = {.write = call->write, .owned_elsewhere = call->owned};
    struct belay_instant now = belay_curl_now();
    struct belay_span own = run->policy.deadline_for;
    run->began_wall = belay__curl_wall();
    run->deadline_at = belay_instant_add(
        now, call->deadline_for.ns > 0 ? belay_span_min(own, call->deadline_for) : own);
    belay_operation_init(&run->op, &run->policy, run->target, &unknown_yet, now, run->deadline_at,
                         on_wake);
    belay__curl_know_early(run);
    schedule(run, RUN_ASKING, now);
}

static void run_free(struct run *run)
{
    belay_target_destroy(run->own_target);
    free(run);
}

static struct run *run_create(struct belay_curl_multi *multi, CURL *easy,
                              struct belay_curl_call *call)
{
    struct run *run = calloc(1, sizeof *run);
    if (!run) return NULL;
    run->multi = multi;
    run->easy = easy;
    run->call = call;
    run->policy = call->policy ? *call->policy : belay_policy_default();
    run->target = call->target;
    if (run->target) return run;
    run->target = run->own_target = belay_target_create(&run->policy, belay__curl_luck());
    if (run->target) return run;
    free(run);
    return NULL;
}

CURLcode belay_curl_multi_add(struct belay_curl_multi *multi, CURL *easy,
                              struct belay_curl_call *call)
{
    if (!easy || run_of(multi, easy) || call->reserved[0]) return CURLE_BAD_FUNCTION_ARGUMENT;
    if (curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, call->prereq) != CURLE_OK)
        return CURLE_UNKNOWN_OPTION;
    struct run *run = run_create(multi, easy, call);
    if (!run) return CURLE_OUT_OF_MEMORY;
    if (!belay__curl_ids_begin(run)) {
        run_free(run);
        return CURLE_BAD_FUNCTION_ARGUMENT;
    }
    if (!tsearch(run, &multi->by_easy, compare_easy)) {
        run_free(run);
        return CURLE_OUT_OF_MEMORY;
    }
    call->reserved[0] = run;
    call->result = (struct belay_curl_result){0};
    ring_add(&multi->running, &run->ring);
    begin(run);
    return CURLE_OK;
}

static void cancel(struct run *run)
{
    struct belay_admission cancelled = {.kind = BELAY_REFUSED,
                                        .terminal = BELAY_TERMINAL_CANCELLED};
    if (run->state == RUN_CALLING) cut(run, CURLE_ABORTED_BY_CALLBACK);
    if (run->state != RUN_ASKING) return;
    belay__curl_attempt_stop(run);
    belay_operation_cancel(&run->op, belay_curl_now());
    run->code = CURLE_ABORTED_BY_CALLBACK;
    refuse(run, &cancelled);
}

void belay_curl_multi_cancel(struct belay_curl_multi *multi, struct belay_curl_call *call)
{
    struct run *run = call->reserved[0];
    if (run && run->multi == multi && run->state != RUN_DONE) cancel(run);
}

struct belay_curl_call *belay_curl_multi_take(struct belay_curl_multi *multi)
{
    struct run *run = run_at(&multi->done, multi->done.next);
    if (!run) return NULL;
    struct belay_curl_call *call = run->call;
    call->reserved[0] = NULL;
    ring_remove(&run->ring);
    run_free(run);
    return call;
}

struct belay_curl_multi *belay_curl_multi_create(CURLM *curl_multi, void (*wake)(void *wake_data),
                                                 void *wake_data)
{
    struct belay_curl_multi *multi = calloc(1, sizeof *multi);
    if (!multi) return NULL;
    multi->multi = curl_multi;
    multi->wake = wake;
    multi->wake_data = wake_data;
    multi->next_at = belay_instant_never();
    ring_init(&multi->running);
    ring_init(&multi->done);
    return multi;
}

void belay_curl_multi_destroy(struct belay_curl_multi *multi)
{
    if (!multi) return;
    struct run *run;
    while ((run = run_at(&multi->running, multi->running.next))) cancel(run);
    while (belay_curl_multi_take(multi)) continue;
    free(multi);
}
