/* flow.c: one operation, from the request's head to its record: asks the gates, makes the attempts,
 * tells what became of them, and does what the verdict says. Decides nothing by itself (semantics
 * 3). */
#include "proxy/flow.h"
#include "base/hash.h"

#include "base/check.h"
#include "proxy/limits.h"
#include "proxy/route.h"

#include <belay/deadline.h>
#include <belay/retry_after.h>

static const struct client_events call_events;

static struct belay_instant now_of(const struct flow *flow)
{
    return rt_now(flow->proxy->rt);
}

/* ---- the beginning ---- */

/* 0: the request may go on; else the status of the problem that it is answered with. */
static int find_route(struct flow *flow)
{
    const struct http1_head *request = flow->request;
    struct route_match match = route_find(flow->setup->listener, request->path, request->method);
    flow->route = match.route;
    if (!match.route) return match.allowed ? 405 : 404;
    bool key_missing = match.route->idempotency_key == CONF_KEY_REQUIRED && !flow->facts.one_key;
    return key_missing && !belay_method_is_safe(request->method) ? 400 : 0;
}

void flow_begin(struct proxy *proxy, struct server_exchange *exchange)
{
    struct flow *flow = proxy_take_flow(proxy);
    proxy->stats.requests++;
    server_set_user(exchange, flow);
    flow->exchange = exchange;
    flow->request = server_request_head(exchange);
    flow->began_at = server_request_began_at(exchange);
    struct belay_span elapsed = belay_instant_since(now_of(flow), flow->began_at);
    flow->began_wall.ns = belay_ns_sub(rt_wall(proxy->rt).ns, elapsed.ns);
    facts_read(&flow->facts, &flow->setup->names, flow->request);
    proxy->stats.deadlines_ignored += flow->facts.deadlines_ignored;
    int refusal = find_route(flow);
    ids_begin(flow);
    if (flow->starved) {
        flow_starve(flow);
        return;
    }
    if (refusal) {
        struct problem problem = problem_of_request(refusal);
        proxy->stats.unrouted += refusal != 400;
        answer_problem(flow, &problem);
        return;
    }
    struct belay_span own = flow->route->policy.deadline_for;
    flow->deadline_at = belay_deadline_at(flow->began_at, own,
                                          flow->facts.has_deadline ? flow->facts.deadline : own);
    rt_timer_arm(proxy->rt, &flow->timer, flow->deadline_at);
    upload_begin(flow);
}

/* ---- the gates ---- */

/* From whichever thread gave a slot back. */
static void on_wake(struct belay_waiter *waiter)
{
    struct flow *flow = CONTAINER_OF(waiter, struct flow, op.waiter);
    if (!atomic_exchange(&flow->posted, true)) rt_post(flow->proxy->rt, &flow->post);
}

/* What a server's hint holds back: a route, or whoever has these credentials. Never 0. */
static uint64_t hold_key(const struct flow *flow, size_t route)
{
    if (flow->route->policy.hold.scope == BELAY_HOLD_ROUTE) return route + 1;
    return hash_bytes(flow->facts.credentials) | 1;
}

/* A body that streams is gone after the first attempt that sent any of it: the request is then not
 * safe to repeat, whatever its method and route say. */
static void begin_operation(struct flow *flow)
{
    const struct conf_route *route = flow->route;
    enum belay_method method = flow->request->method;
    bool safe = belay_method_is_safe(method), streamed = flow->upload.streaming;
    size_t index = (size_t)(route - flow->setup->listener->routes);
    bool by_method = route->effect == CONF_EFFECT_BY_METHOD && !safe;
    bool has_key = flow->facts.one_key || (route->idempotency_key == CONF_KEY_ADDED && !safe);
    struct belay_traits traits = {
        .safe_method = safe,
        .write = route->effect == CONF_EFFECT_WRITE || by_method || streamed,
        .idempotent = (route->idempotent & (1u << method)) && !streamed,
        .keyed = route->idempotency_key != CONF_KEY_NONE && has_key && !streamed,
        .owned_elsewhere = flow->facts.owned,
        .hold_key = route->policy.hold.scope == BELAY_HOLD_TARGET ? 0 : hold_key(flow, index),
    };
    const struct belay_policy *policy = streamed ? &flow->setup->streamed[index] : &route->policy;
    belay_operation_init(&flow->op, policy, flow->setup->targets[route->target], &traits,
                         flow->began_at, flow->deadline_at, on_wake);
    flow->has_op = true;
}

static void wait_until(struct flow *flow, struct belay_instant at, bool queued)
{
    flow->state = FLOW_ASKING;
    flow->queued = queued;
    rt_timer_arm(flow->proxy->rt, &flow->timer, at);
}

static void refused(struct flow *flow, const struct belay_admission *admission)
{
    if (flow->held.any) {
        rt_timer_arm(flow->proxy->rt, &flow->timer, flow->deadline_at);
        answer_give_held(flow);
        return;
    }
    struct problem problem = problem_of_terminal(admission->terminal);
    if (admission->has_hint)
        problem_set_retry_after(&problem, belay_span_ceil_ms(admission->retry_hint));
    answer_problem(flow, &problem);
}

/* No more attempts for a client that has shut its side: most likely it has left. What there is, it
 * is given. */
static void give_up(struct flow *flow)
{
    static const struct belay_admission cancelled = {.kind = BELAY_REFUSED,
                                                     .terminal = BELAY_TERMINAL_CANCELLED};
    belay_operation_cancel(&flow->op, now_of(flow));
    refused(flow, &cancelled);
}

static void wait_to_repeat(struct flow *flow, struct belay_instant at)
{
    if (flow->half_closed)
        give_up(flow);
    else
        wait_until(flow, at, false);
}

/* ---- an attempt ---- */

static struct belay_verdict record(struct flow *flow, const struct belay_outcome *outcome)
{
    struct proxy *proxy = flow->proxy;
    struct belay_verdict verdict =
        belay_operation_record(&flow->op, outcome, rt_now(proxy->rt), rt_random(proxy->rt));
    flow->recorded = true;
    record_attempt(flow, outcome, &verdict);
    return verdict;
}

/* The answer turned out to be malformed before any of it had left: as if it had never begun. */
static bool take_back(struct flow *flow, struct belay_outcome *outcome)
{
    bool malformed =
        outcome->error == BELAY_ERROR_PROTOCOL || outcome->error == BELAY_ERROR_TOO_LARGE;
    if (!malformed || flow->recorded || !server_answer_withdraw(flow->exchange)) return false;
    flow->state = FLOW_CALLING;
    flow->answer = 0;
    outcome->answer_started = flow->paused = false;
    return true;
}

static bool client_is_slow(const struct flow *flow)
{
    return flow->paused || upload_waits_for_client(flow);
}

/* The attempt came to an error, or to an end that the client did not wait for. `ours`: for want of
 * our own memory or descriptors. */
static void lost(struct flow *flow, struct belay_outcome *outcome, bool ours)
{
    flow->proxy->stats.overloaded += ours;
    if (flow->state == FLOW_STREAMING && !take_back(flow, outcome)) {
        if (!flow->recorded) (void)record(flow, outcome);
        flow->proxy->stats.cut++;
        flow_close(flow, server_abort);
        return;
    }
    struct belay_verdict verdict = record(flow, outcome);
    if (verdict.decision == BELAY_DECISION_RETRY) {
        wait_to_repeat(flow, verdict.retry_at);
        return;
    }
    struct problem problem = ours && verdict.decision != BELAY_DECISION_CHECK_STATE
                                 ? problem_of_shortage()
                                 : problem_of_error(verdict.decision, outcome);
    answer_problem(flow, &problem);
}

static void attempt(struct flow *flow, const struct belay_admission *admission)
{
    struct proxy *proxy = flow->proxy;
    const struct belay_policy *policy = &flow->route->policy;
    if (flow->call_runs)
        client_call_cancel(&flow->call); /* the rest of an answer that is not wanted any more */
    flow->call_runs = flow->held.any = flow->recorded = false;
    flow->state = FLOW_CALLING;
    flow->attempt_wall = rt_wall(proxy->rt);
    ids_hex(rt_random(proxy->rt) | 1, flow->span_id);
    rt_timer_arm(proxy->rt, &flow->timer, admission->at);
    if (!headers_write_request(flow, admission)) {
        struct belay_outcome none = {
            .error = BELAY_ERROR_CANCELLED, .phase = BELAY_PHASE_SEND, .sent = BELAY_UNSENT};
        lost(flow, &none, true);
        return;
    }
    struct client_options options = {.connect_for = policy->connect_timeout_for,
                                     .silence_for = policy->silence_timeout_for,
                                     .fresh = admission->fresh_connection,
                                     .probe_first = !belay_traits_replay_safe(&flow->op.traits),
                                     .method = flow->request->method};
    flow->call_runs = true;
    client_call_start(flow_client(flow), &flow->call, &call_events, &options,
                      buf_slice(&flow->head), buf_slice(&flow->upload.body),
                      !flow->upload.streaming);
}

void flow_ask(struct flow *flow)
{
    if (!flow->has_op) begin_operation(flow);
    struct belay_admission admission = belay_operation_admit(&flow->op, now_of(flow));
    switch (admission.kind) {
    case BELAY_ADMITTED: attempt(flow, &admission); break;
    case BELAY_WAIT: wait_until(flow, admission.at, false); break;
    case BELAY_QUEUED: wait_until(flow, admission.at, true); break;
    case BELAY_REFUSED: refused(flow, &admission); break;
    }
}

static struct belay_outcome cut_short(const struct flow *flow, enum belay_error_class error)
{
    bool answered = flow->state == FLOW_STREAMING;
    bool sent = client_call_bytes_accepted(&flow->call);
    return (struct belay_outcome){.error = error,
                                  .phase = client_call_phase(&flow->call),
                                  .sent = answered ? BELAY_ANSWERED
                                          : sent   ? BELAY_SENT
                                                   : BELAY_UNSENT,
                                  .answer_started = answered};
}

static void out_of_time(struct flow *flow)
{
    struct belay_outcome outcome =
        cut_short(flow, client_is_slow(flow) ? BELAY_ERROR_CANCELLED : BELAY_ERROR_TIMEOUT);
    client_call_cancel(&flow->call);
    flow->call_runs = false;
    lost(flow, &outcome, false);
}

void flow_starve(struct flow *flow)
{
    if (flow->call_runs) {
        struct belay_outcome outcome = cut_short(flow, BELAY_ERROR_CANCELLED);
        client_call_cancel(&flow->call);
        flow->call_runs = false;
        lost(flow, &outcome, true);
        return;
    }
    struct problem problem = problem_of_shortage();
    flow->proxy->stats.overloaded++;
    flow->terminal = BELAY_TERMINAL_CANCELLED;
    answer_problem(flow, &problem);
}

void flow_on_timer(struct rt_timer *timer)
{
    struct flow *flow = CONTAINER_OF(timer, struct flow, timer);
    bool calling = flow->state == FLOW_CALLING || flow->state == FLOW_STREAMING;
    /* Else a wait is over; or the upload took all the time, which the first gate sees. */
    if (calling)
        out_of_time(flow);
    else
        flow_ask(flow);
}

void flow_on_post(struct rt_post *post)
{
    struct flow *flow = CONTAINER_OF(post, struct flow, post);
    atomic_store(&flow->posted, false);
    if (flow->exchange && flow->state == FLOW_ASKING && flow->queued) flow_ask(flow);
}

/* ---- what the target says ---- */

/* Two hints are none (semantics 6). */
static void read_hint(struct belay_outcome *outcome, const struct http1_head *head, struct rt *rt)
{
    const struct http1_field *hint =
        head->status >= 300 ? http1_find(head, HTTP1_RETRY_AFTER) : NULL;
    if (!hint || (head->repeated_ids & (UINT64_C(1) << HTTP1_RETRY_AFTER))) return;
    outcome->has_retry_after =
        belay_retry_after_parse(hint->value, rt_wall(rt), &outcome->retry_after_ms, NULL);
}

/* The recipient's own limits lower our pace before they are hit (semantics 6). */
static void read_limits(struct flow *flow, const struct http1_head *head)
{
    struct limits_told told = limits_read(head, rt_wall(flow->proxy->rt));
    struct belay_target *target = flow->setup->targets[flow->route->target];
    if (told.any) belay_target_on_limit(target, now_of(flow), told.left, told.reset_for);
}

static void on_head(struct client_call *call, const struct http1_head *head)
{
    struct flow *flow = CONTAINER_OF(call, struct flow, call);
    struct belay_outcome *outcome = &flow->outcome;
    *outcome = (struct belay_outcome){.status = head->status, .sent = BELAY_ANSWERED};
    read_hint(outcome, head, flow->proxy->rt);
    if (flow->route->policy.quota.enabled) read_limits(flow, head);
    if (belay_operation_decides_at_head(&flow->op, head->status)) {
        struct belay_verdict verdict = record(flow, outcome);
        if (verdict.decision == BELAY_DECISION_RETRY) {
            answer_hold(flow, head);
            wait_to_repeat(flow, verdict.retry_at);
            return;
        }
    }
    answer_pass_on(flow, head);
}

static bool on_body(struct client_call *call, struct belay_slice piece)
{
    struct flow *flow = CONTAINER_OF(call, struct flow, call);
    if (flow->state == FLOW_STREAMING) {
        flow->paused = !server_answer_body(flow->exchange, piece);
        return !flow->paused;
    }
    answer_hold_body(flow, piece);
    if (flow->held.lost) {
        client_call_cancel(call);
        flow->call_runs = false;
    }
    return true;
}

static void on_end(struct client_call *call)
{
    struct flow *flow = CONTAINER_OF(call, struct flow, call);
    flow->call_runs = false;
    if (flow->state != FLOW_STREAMING) {
        flow->held.whole = true;
        return;
    }
    if (!flow->recorded) (void)record(flow, &flow->outcome);
    flow->proxy->stats.passed_on++;
    flow_close(flow, server_answer_end);
}

static void on_failed(struct client_call *call, const struct client_failure *failure)
{
    struct flow *flow = CONTAINER_OF(call, struct flow, call);
    flow->call_runs = false;
    if (flow->state == FLOW_ASKING) {
        flow->held.lost = true;
        return;
    }
    if (failure->stale) {
        /* One restart of a service must not cost a budget token for each pooled connection
         * (semantics 5a). */
        client_drop_idle(flow_client(flow));
    }
    struct belay_outcome outcome = {.error = failure->error,
                                    .phase = failure->phase,
                                    .sent = failure->head_read        ? BELAY_ANSWERED
                                            : failure->bytes_accepted ? BELAY_SENT
                                                                      : BELAY_UNSENT,
                                    .answer_started = flow->state == FLOW_STREAMING,
                                    .stale = failure->stale};
    lost(flow, &outcome, failure->error == BELAY_ERROR_CANCELLED);
}

static void on_call_writable(struct client_call *call)
{
    upload_go_on(CONTAINER_OF(call, struct flow, call));
}

static const struct client_events call_events = {.head = on_head,
                                                 .body = on_body,
                                                 .end = on_end,
                                                 .failed = on_failed,
                                                 .writable = on_call_writable};

/* ---- what the client does ---- */

void flow_writable(struct flow *flow)
{
    flow->paused = false;
    if (flow->call_runs) client_call_resume(&flow->call);
}

void flow_half_closed(struct flow *flow)
{
    bool between_attempts = flow->state == FLOW_ASKING && flow->op.attempts > 0;
    flow->half_closed = true;
    if (between_attempts) give_up(flow);
}

void flow_gone(struct flow *flow, int status)
{
    bool calling = flow->state == FLOW_CALLING || flow->state == FLOW_STREAMING;
    flow->proxy->stats.clients_gone++;
    flow->terminal = status ? BELAY_TERMINAL_BAD_REQUEST : BELAY_TERMINAL_CANCELLED;
    if (!flow->answer) flow->answer = status;
    if (calling && !flow->recorded) {
        struct belay_outcome outcome = cut_short(flow, BELAY_ERROR_CANCELLED);
        (void)record(flow, &outcome);
    } else if (flow->state == FLOW_ASKING) {
        belay_operation_cancel(&flow->op, now_of(flow));
    }
    flow_close(flow, NULL);
}

/* ---- the end ---- */

static struct belay_ending ending_of(struct flow *flow)
{
    if (flow->has_op) return belay_operation_finish(&flow->op, now_of(flow));
    bool safe = belay_method_is_safe(flow->request->method);
    return (struct belay_ending){.word = belay_terminal_name(flow->terminal),
                                 .effect = safe ? BELAY_EFFECT_NOT_A_WRITE : BELAY_EFFECT_NONE,
                                 .elapsed = belay_instant_since(now_of(flow), flow->began_at)};
}

void flow_close(struct flow *flow, void (*how)(struct server_exchange *))
{
    struct server_exchange *exchange = flow->exchange;
    rt_timer_disarm(flow->proxy->rt, &flow->timer);
    if (flow->call_runs) client_call_cancel(&flow->call);
    flow->call_runs = false;
    struct belay_ending ending = ending_of(flow);
    record_operation(flow, &ending);
    server_set_user(exchange, NULL);
    proxy_give_flow(flow);
    if (how) how(exchange);
}
