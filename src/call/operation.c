/* operation.c: one logical operation, the only composer of the policies (operation.h). */
#include "call/gates.h"

#include <belay/deadline.h>
#include <belay/retry.h>

#include "base/check.h"

enum state { READY, IN_FLIGHT, ENDED, FINISHED };

static const struct belay_span no_wait = {0};

void belay_operation_init(struct belay_operation *op, const struct belay_policy *policy,
                          struct belay_target *target, const struct belay_traits *traits,
                          struct belay_instant started_at, struct belay_instant deadline_at,
                          void (*wake)(struct belay_waiter *))
{
    /* Field by field: zeroing the whole struct first costs a tenth of an operation. */
    op->policy = policy;
    op->target = target;
    op->traits = *traits;
    op->waiter = (struct belay_waiter){.wake = wake};
    op->claim = (struct belay_claim){
        .hold_key = policy->hold.scope == BELAY_HOLD_TARGET ? 0 : traits->hold_key};
    op->started_at = op->seen_at = op->attempt_at = op->attempt_end_at = op->retry_at = started_at;
    op->deadline_at = deadline_at;
    op->previous_wait = no_wait;
    op->attempts = op->counted_attempts = 0;
    op->last_status = 0;
    op->last_decision = BELAY_DECISION_RETRY;
    op->terminal = BELAY_TERMINAL_NONE;
    op->state = READY;
    op->replay_safe = belay_traits_replay_safe(traits);
    op->stale_used = op->fresh_next = op->effect_done = op->effect_unknown = false;
}

void belay_operation_on_traits(struct belay_operation *op, const struct belay_traits *traits)
{
    CHECK(op->state != FINISHED);
    op->traits = *traits;
    op->replay_safe = belay_traits_replay_safe(traits);
}

/* The operation's own time never runs backwards. */
static struct belay_instant see(struct belay_operation *op, struct belay_instant now)
{
    op->seen_at = belay_instant_max(op->seen_at, now);
    return op->seen_at;
}

static void end(struct belay_operation *op, enum belay_terminal terminal)
{
    op->state = ENDED;
    op->terminal = terminal;
}

struct belay_admission belay_operation_admit(struct belay_operation *op, struct belay_instant now)
{
    CHECK(op->state == READY);
    struct belay_admission out = {.kind = BELAY_WAIT, .at = op->retry_at};
    now = see(op, now);
    if (now.ns < op->retry_at.ns) return out;

    struct belay_instant attempt_end_at =
        belay_deadline_attempt_end(now, op->deadline_at, op->policy->attempt_timeout_for);
    if (op->counted_attempts >= op->policy->attempts_max) {
        out = (struct belay_admission){.kind = BELAY_REFUSED,
                                       .terminal = BELAY_TERMINAL_MAX_ATTEMPTS};
    } else {
        belay__target_admit(op, now, attempt_end_at, &out);
    }
    if (out.kind == BELAY_REFUSED) {
        end(op, out.terminal);
        belay__target_leave(op, now);
    }
    if (out.kind != BELAY_ADMITTED) return out;

    op->state = IN_FLIGHT;
    op->attempt_at = now;
    op->attempt_end_at = attempt_end_at;
    op->attempts++;
    struct belay_span remaining = belay_deadline_remaining(op->deadline_at, now);
    return (struct belay_admission){
        .kind = BELAY_ADMITTED,
        .at = attempt_end_at,
        .attempt = op->attempts,
        .remaining = remaining,
        .pass_on = belay_span_ns(belay_ns_sub(remaining.ns, op->policy->reserve_for.ns)),
        .fresh_connection = op->fresh_next,
    };
}

static bool is_owned(const struct belay_operation *op)
{
    return op->traits.owned_elsewhere && !op->policy->retry_when_owned;
}

static struct belay_class classify(const struct belay_operation *op,
                                   const struct belay_outcome *outcome)
{
    return belay_classify_decide(&op->traits, &op->policy->retry_on,
                                 op->policy->retry_unsafe_refusals, outcome);
}

bool belay_operation_decides_at_head(const struct belay_operation *op, int status)
{
    struct belay_outcome outcome = {.status = status, .sent = BELAY_ANSWERED};
    enum belay_outcome_class kind = classify(op, &outcome).kind;
    if (kind == BELAY_CLASS_UNKNOWN) return op->traits.state_check;
    return kind == BELAY_CLASS_REPEATABLE && !is_owned(op);
}

enum belay_outcome_class belay_operation_class(const struct belay_operation *op,
                                               const struct belay_outcome *outcome)
{
    return classify(op, outcome).kind;
}

/* Section 5a: goes again at once on a fresh connection, once an operation, whatever the list of
 * outcomes says. */
static bool is_stale_repeat(const struct belay_operation *op, const struct belay_outcome *outcome)
{
    return outcome->stale && outcome->error != BELAY_ERROR_NONE && op->replay_safe &&
           !op->stale_used;
}

static void draw_wait(struct belay_operation *op, const struct belay_outcome *outcome,
                      struct belay_retry_facts *facts, uint64_t luck)
{
    const struct belay_backoff_config *config = &op->policy->backoff;
    facts->wait_source = BELAY_WAIT_BACKOFF;
    if (facts->stale_repeat) return; /* no wait */
    if (outcome->has_retry_after) {
        struct belay_span spare =
            belay_span_ns(belay_ns_sub(facts->remaining.ns, facts->reserve.ns));
        facts->wait =
            belay_backoff_decide_hint(config, belay_span_ms(outcome->retry_after_ms), spare, luck);
        facts->wait_source = BELAY_WAIT_RETRY_AFTER;
        return;
    }
    facts->wait = belay_backoff_decide(config, op->counted_attempts, op->previous_wait, luck);
    op->previous_wait = facts->wait;
}

static void fill_facts(struct belay_operation *op, const struct belay_outcome *outcome,
                       const struct belay_class *outcome_class, struct belay_instant now,
                       uint64_t luck, struct belay_retry_facts *facts)
{
    *facts = (struct belay_retry_facts){
        .kind = outcome_class->kind,
        .reason = outcome_class->reason,
        .answered = outcome->error == BELAY_ERROR_NONE,
        .answer_started = outcome->answer_started,
        .state_check = op->traits.state_check,
        .owned = is_owned(op),
        .stale_repeat = is_stale_repeat(op, outcome),
        .remaining = belay_deadline_remaining(op->deadline_at, now),
        .reserve = op->policy->reserve_for,
        .wait_source = BELAY_WAIT_NONE,
    };
    if (facts->stale_repeat) {
        facts->kind = BELAY_CLASS_REPEATABLE;
        op->stale_used = true;
    } else {
        op->counted_attempts++;
    }
    facts->attempts_left = op->counted_attempts < op->policy->attempts_max;
    if (facts->kind == BELAY_CLASS_REPEATABLE) draw_wait(op, outcome, facts, luck);
}

static void fill_report(const struct belay_operation *op, const struct belay_outcome *outcome,
                        enum belay_health health, struct belay_instant now,
                        struct belay__report *report)
{
    bool too_many = outcome->error == BELAY_ERROR_NONE && outcome->status == 429;
    bool unavailable = outcome->error == BELAY_ERROR_NONE && outcome->status == 503;
    struct belay_span hint =
        outcome->has_retry_after ? belay_span_ms(outcome->retry_after_ms) : no_wait;
    *report = (struct belay__report){
        .result = {.health = health,
                   .timed_out = outcome->error == BELAY_ERROR_TIMEOUT,
                   .cancelled = outcome->error == BELAY_ERROR_CANCELLED,
                   .allowed = belay_instant_since(op->attempt_end_at, op->attempt_at),
                   .elapsed = belay_instant_since(now, op->attempt_at),
                   .hint = too_many ? hint : no_wait},
        .now = now,
        .too_many = too_many,
        .holds = outcome->has_retry_after && (too_many || unavailable),
        .hint = hint,
    };
}

/* Rules 1 to 6 by itself, then the target's books and rules 7 to 9 in one locked step. */
static struct belay_retry_plan decide(struct belay_operation *op,
                                      const struct belay_outcome *outcome, enum belay_health health,
                                      struct belay_instant now,
                                      const struct belay_retry_facts *facts)
{
    struct belay__report report;
    struct belay_retry_plan plan = belay_retry_decide(facts);
    fill_report(op, outcome, health, now, &report);
    report.wants_retry = plan.decision == BELAY_DECISION_RETRY;
    struct belay__shared_facts shared = belay__target_record(op, &report);
    return report.wants_retry ? belay_retry_decide_shared(plan, shared.has_token, shared.closed)
                              : plan;
}

struct belay_verdict belay_operation_record(struct belay_operation *op,
                                            const struct belay_outcome *outcome,
                                            struct belay_instant now, uint64_t luck)
{
    CHECK(op->state == IN_FLIGHT);
    CHECK((outcome->error == BELAY_ERROR_NONE) == (outcome->status > 0));
    struct belay_retry_facts facts;
    now = see(op, now);
    struct belay_class outcome_class = classify(op, outcome);
    fill_facts(op, outcome, &outcome_class, now, luck, &facts);
    struct belay_retry_plan plan = decide(op, outcome, outcome_class.health, now, &facts);
    bool retries = plan.decision == BELAY_DECISION_RETRY;

    op->state = retries ? READY : ENDED;
    op->last_decision = plan.decision;
    op->last_status = outcome->status;
    op->effect_done |= outcome_class.effect == BELAY_EFFECT_DONE;
    op->effect_unknown |= outcome_class.effect == BELAY_EFFECT_UNKNOWN;
    op->fresh_next = outcome->stale;
    op->retry_at = retries ? belay_instant_add(now, facts.wait) : now;
    return (struct belay_verdict){
        .decision = plan.decision,
        .reason = plan.reason,
        .attempt = op->attempts,
        .elapsed = belay_instant_since(now, op->attempt_at),
        .remaining = belay_deadline_remaining(op->deadline_at, op->attempt_at),
        .wait = retries ? facts.wait : no_wait,
        .wait_source = retries ? facts.wait_source : BELAY_WAIT_NONE,
        .retry_at = op->retry_at,
    };
}

/* An attempt that nobody recorded may have reached its recipient. */
static void abandon(struct belay_operation *op, struct belay_instant now)
{
    if (op->state == IN_FLIGHT) op->effect_unknown = true;
    if (op->state != ENDED) end(op, BELAY_TERMINAL_CANCELLED);
    belay__target_leave(op, see(op, now));
}

void belay_operation_cancel(struct belay_operation *op, struct belay_instant now)
{
    CHECK(op->state != FINISHED);
    abandon(op, now);
}

static enum belay_effect effect_of(const struct belay_operation *op)
{
    if (!op->traits.write) return BELAY_EFFECT_NOT_A_WRITE;
    if (op->effect_done) return BELAY_EFFECT_DONE;
    return op->effect_unknown ? BELAY_EFFECT_UNKNOWN : BELAY_EFFECT_NONE;
}

struct belay_ending belay_operation_finish(struct belay_operation *op, struct belay_instant now)
{
    CHECK(op->state != FINISHED);
    abandon(op, now);
    op->state = FINISHED;
    struct belay_ending ending = {
        .effect = effect_of(op),
        .attempts = op->attempts,
        .elapsed = belay_instant_since(op->seen_at, op->started_at),
    };
    if (op->terminal != BELAY_TERMINAL_NONE) {
        ending.word = belay_terminal_name(op->terminal);
    } else if (op->last_decision == BELAY_DECISION_RETURN) {
        ending.status = op->last_status;
    } else {
        ending.word = belay_decision_name(op->last_decision);
    }
    return ending;
}
