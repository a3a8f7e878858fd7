/* retry.c: the rules of a decision, in their order (retry.h). */
#include <belay/retry.h>

#include <belay/deadline.h>

static struct belay_retry_plan plan(enum belay_decision decision, enum belay_reason reason)
{
    struct belay_retry_plan p = {decision, reason};
    return p;
}

static enum belay_reason repeat_reason(const struct belay_retry_facts *facts)
{
    if (facts->stale_repeat) return BELAY_REASON_STALE_CONNECTION;
    return facts->wait_source == BELAY_WAIT_RETRY_AFTER ? BELAY_REASON_RETRY_AFTER
                                                        : BELAY_REASON_BACKOFF;
}

struct belay_retry_plan belay_retry_decide(const struct belay_retry_facts *facts)
{
    enum belay_reason reason = facts->reason;
    bool gateway = reason == BELAY_REASON_GATEWAY_UNKNOWN;

    if (facts->kind == BELAY_CLASS_SUCCESS) return plan(BELAY_DECISION_RETURN, reason);
    /* Rule 2 is about a loss: a whole answer that streamed because it is not to be repeated keeps
     * its own reason. */
    if (facts->answer_started && !facts->answered)
        return plan(BELAY_DECISION_STOP, BELAY_REASON_ANSWER_STARTED);
    if (facts->kind == BELAY_CLASS_UNKNOWN) {
        if (facts->answer_started || (gateway && !facts->state_check))
            return plan(BELAY_DECISION_STOP, reason);
        return plan(BELAY_DECISION_CHECK_STATE, reason);
    }
    if (facts->kind == BELAY_CLASS_FINAL) return plan(BELAY_DECISION_STOP, reason);
    if (facts->owned) return plan(BELAY_DECISION_STOP, BELAY_REASON_RETRY_OWNED);
    if (facts->answer_started) return plan(BELAY_DECISION_STOP, BELAY_REASON_ANSWER_STARTED);
    if (!belay_deadline_allows(facts->remaining, facts->wait, facts->reserve)) {
        return plan(BELAY_DECISION_DEADLINE_EXCEEDED, BELAY_REASON_NO_TIME);
    }
    if (!facts->attempts_left) return plan(BELAY_DECISION_MAX_ATTEMPTS, BELAY_REASON_NO_ATTEMPTS);
    return plan(BELAY_DECISION_RETRY, repeat_reason(facts));
}

struct belay_retry_plan belay_retry_decide_shared(struct belay_retry_plan planned, bool has_token,
                                                  bool closed)
{
    if (!has_token) return plan(BELAY_DECISION_BUDGET_EXHAUSTED, BELAY_REASON_NO_BUDGET);
    if (!closed) return plan(BELAY_DECISION_BREAKER_OPEN, BELAY_REASON_BREAKER_NOT_CLOSED);
    return planned;
}
