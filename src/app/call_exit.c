/* call_exit.c: how an operation ended, as an exit status (call_exit.h). */
#include "app/call_exit.h"

#include "base/check.h"

const struct call_exit_row CALL_EXITS[] = {
    {CALL_DONE, "done", "the answer is 2xx"},
    {CALL_STOP, "stop", "another answer, which is not repeated"},
    {CALL_USAGE, "usage", "wrong usage, or a file that cannot be used; no call was made"},
    {CALL_DEADLINE_EXCEEDED, "deadline_exceeded", "the time was over, or too short to go on"},
    {CALL_MAX_ATTEMPTS, "max_attempts", "the last attempt allowed was no better"},
    {CALL_BUDGET_EXHAUSTED, "budget_exhausted", "the target's budget has no retry left"},
    {CALL_BREAKER_OPEN, "breaker_open", "the target failed too often, and is left alone"},
    {CALL_NOT_BEFORE, "not_before", "the target asked not to be called so soon"},
    {CALL_QUOTA_EXCEEDED, "quota_exceeded", "the quota is used up"},
    {CALL_BULKHEAD_FULL, "bulkhead_full", "too many calls are in flight"},
    {CALL_CHECK_STATE, "check_state", "the outcome is unknown: it may have been carried out"},
    {CALL_NO_ANSWER, "no_answer", "an error that is not repeated, and no answer"},
    {CALL_ANSWER_CUT, "answer_cut", "the answer began, and broke off"},
    {CALL_OUTPUT, "output", "the answer could not be written"},
    {CALL_FAILED, "failed", "no call could be made: what it needs is missing here"},
    {CALL_CANCELLED, "cancelled", "by SIGINT, SIGTERM or SIGHUP"},
};
const size_t CALL_EXIT_COUNT = sizeof CALL_EXITS / sizeof CALL_EXITS[0];

const char *call_exit_word(enum call_exit code)
{
    for (size_t i = 0; i < CALL_EXIT_COUNT; i++) {
        if (CALL_EXITS[i].code == code) return CALL_EXITS[i].word;
    }
    return NULL;
}

static enum call_exit of_terminal(enum belay_terminal terminal)
{
    switch (terminal) {
    case BELAY_TERMINAL_DEADLINE_EXCEEDED: return CALL_DEADLINE_EXCEEDED;
    case BELAY_TERMINAL_BREAKER_OPEN: return CALL_BREAKER_OPEN;
    case BELAY_TERMINAL_BULKHEAD_FULL: return CALL_BULKHEAD_FULL;
    case BELAY_TERMINAL_QUOTA_EXCEEDED: return CALL_QUOTA_EXCEEDED;
    case BELAY_TERMINAL_NOT_BEFORE: return CALL_NOT_BEFORE;
    case BELAY_TERMINAL_BUDGET_EXHAUSTED: return CALL_BUDGET_EXHAUSTED;
    case BELAY_TERMINAL_MAX_ATTEMPTS: return CALL_MAX_ATTEMPTS;
    case BELAY_TERMINAL_CANCELLED: return CALL_CANCELLED;
    default: return CALL_FAILED;
    }
}

static enum call_exit of_stop(const struct belay_curl_result *result)
{
    switch (result->reason) {
    case BELAY_REASON_EFFECT_UNKNOWN:
    case BELAY_REASON_GATEWAY_UNKNOWN: return CALL_CHECK_STATE;
    case BELAY_REASON_ANSWER_STARTED: return CALL_ANSWER_CUT;
    default: return result->outcome.error == BELAY_ERROR_NONE ? CALL_STOP : CALL_NO_ANSWER;
    }
}

static enum call_exit of_decision(const struct belay_curl_result *result)
{
    switch (result->decision) {
    case BELAY_DECISION_RETURN: return CALL_DONE;
    case BELAY_DECISION_CHECK_STATE: return CALL_CHECK_STATE;
    case BELAY_DECISION_STOP: return of_stop(result);
    case BELAY_DECISION_DEADLINE_EXCEEDED: return CALL_DEADLINE_EXCEEDED;
    case BELAY_DECISION_MAX_ATTEMPTS: return CALL_MAX_ATTEMPTS;
    case BELAY_DECISION_BUDGET_EXHAUSTED: return CALL_BUDGET_EXHAUSTED;
    case BELAY_DECISION_BREAKER_OPEN: return CALL_BREAKER_OPEN;
    default: return CALL_FAILED;
    }
}

enum call_exit call_exit_of(const struct belay_curl_result *result, bool output_failed,
                            bool signalled)
{
    bool cancelled = result->refused ? result->terminal == BELAY_TERMINAL_CANCELLED
                                     : result->outcome.error == BELAY_ERROR_CANCELLED;
    if (output_failed) return CALL_OUTPUT;
    if (cancelled && signalled) return CALL_CANCELLED;
    if (result->refused) return of_terminal(result->terminal);
    if (result->ending.attempts == 0) return CALL_FAILED;
    bool failed_here = cancelled && result->outcome.sent == BELAY_UNSENT;
    return failed_here ? CALL_FAILED : of_decision(result);
}
