/* outcome.c: the words of the closed vocabularies, one table each (outcome.h). */
#include "base/check.h"

#include <belay/outcome.h>

#include <string.h>

static const char *const error_classes[BELAY_ERROR_COUNT] = {
    [BELAY_ERROR_NONE] = "none",
    [BELAY_ERROR_DNS] = "dns",
    [BELAY_ERROR_REFUSED] = "refused",
    [BELAY_ERROR_TIMEOUT] = "timeout",
    [BELAY_ERROR_TLS] = "tls",
    [BELAY_ERROR_RESET] = "reset",
    [BELAY_ERROR_CLOSED] = "closed",
    [BELAY_ERROR_PROTOCOL] = "protocol",
    [BELAY_ERROR_TOO_LARGE] = "too_large",
    [BELAY_ERROR_CANCELLED] = "cancelled",
};

static const char *const phases[BELAY_PHASE_COUNT] = {
    [BELAY_PHASE_NONE] = "none", [BELAY_PHASE_DNS] = "dns",   [BELAY_PHASE_CONNECT] = "connect",
    [BELAY_PHASE_TLS] = "tls",   [BELAY_PHASE_SEND] = "send", [BELAY_PHASE_HEADERS] = "headers",
    [BELAY_PHASE_BODY] = "body",
};

static const char *const sents[BELAY_SENT_COUNT] = {
    [BELAY_UNSENT] = "unsent",
    [BELAY_SENT] = "sent",
    [BELAY_ANSWERED] = "answered",
};

static const char *const decisions[BELAY_DECISION_COUNT] = {
    [BELAY_DECISION_RETURN] = "return",
    [BELAY_DECISION_RETRY] = "retry",
    [BELAY_DECISION_CHECK_STATE] = "check_state",
    [BELAY_DECISION_STOP] = "stop",
    [BELAY_DECISION_DEADLINE_EXCEEDED] = "deadline_exceeded",
    [BELAY_DECISION_MAX_ATTEMPTS] = "max_attempts",
    [BELAY_DECISION_BUDGET_EXHAUSTED] = "budget_exhausted",
    [BELAY_DECISION_BREAKER_OPEN] = "breaker_open",
};

static const char *const terminals[BELAY_TERMINAL_COUNT] = {
    [BELAY_TERMINAL_NONE] = "none",
    [BELAY_TERMINAL_DEADLINE_EXCEEDED] = "deadline_exceeded",
    [BELAY_TERMINAL_BREAKER_OPEN] = "breaker_open",
    [BELAY_TERMINAL_BULKHEAD_FULL] = "bulkhead_full",
    [BELAY_TERMINAL_QUOTA_EXCEEDED] = "quota_exceeded",
    [BELAY_TERMINAL_NOT_BEFORE] = "not_before",
    [BELAY_TERMINAL_BUDGET_EXHAUSTED] = "budget_exhausted",
    [BELAY_TERMINAL_MAX_ATTEMPTS] = "max_attempts",
    [BELAY_TERMINAL_CANCELLED] = "cancelled",
    [BELAY_TERMINAL_BAD_REQUEST] = "bad_request",
};

static const char *const reasons[BELAY_REASON_COUNT] = {
    [BELAY_REASON_SUCCESS] = "success",
    [BELAY_REASON_ANSWER_STARTED] = "answer_started",
    [BELAY_REASON_EFFECT_UNKNOWN] = "effect_unknown",
    [BELAY_REASON_GATEWAY_UNKNOWN] = "gateway_unknown",
    [BELAY_REASON_NOT_REPEATABLE] = "not_repeatable",
    [BELAY_REASON_NOT_REPLAY_SAFE] = "not_replay_safe",
    [BELAY_REASON_RETRY_OWNED] = "retry_owned",
    [BELAY_REASON_NO_TIME] = "no_time",
    [BELAY_REASON_NO_ATTEMPTS] = "no_attempts",
    [BELAY_REASON_NO_BUDGET] = "no_budget",
    [BELAY_REASON_BREAKER_NOT_CLOSED] = "breaker_not_closed",
    [BELAY_REASON_BACKOFF] = "backoff",
    [BELAY_REASON_RETRY_AFTER] = "retry_after",
    [BELAY_REASON_STALE_CONNECTION] = "stale_connection",
};

static const char *const outcome_classes[BELAY_CLASS_COUNT] = {
    [BELAY_CLASS_SUCCESS] = "success",
    [BELAY_CLASS_REPEATABLE] = "repeatable",
    [BELAY_CLASS_UNKNOWN] = "unknown",
    [BELAY_CLASS_FINAL] = "final",
};

static const char *const wait_sources[BELAY_WAIT_COUNT] = {
    [BELAY_WAIT_NONE] = "none",
    [BELAY_WAIT_BACKOFF] = "backoff",
    [BELAY_WAIT_RETRY_AFTER] = "retry_after",
};
static const char *const effects[] = {
    [BELAY_EFFECT_NOT_A_WRITE] = "not_a_write",
    [BELAY_EFFECT_DONE] = "done",
    [BELAY_EFFECT_NONE] = "none",
    [BELAY_EFFECT_UNKNOWN] = "unknown",
};

static const char *name_in(const char *const *table, size_t count, unsigned value)
{
    return value < count ? table[value] : NULL;
}

/* The place of the word in the table, from `first` on; `count` when it is not there. */
static size_t find_in(const char *const *table, size_t first, size_t count, const char *word,
                      size_t length)
{
    size_t i = first;
    while (i < count && (strlen(table[i]) != length || memcmp(table[i], word, length) != 0)) i++;
    return i;
}

const char *belay_error_class_name(enum belay_error_class value)
{
    return name_in(error_classes, COUNT(error_classes), value);
}

const char *belay_phase_name(enum belay_phase value)
{
    return name_in(phases, COUNT(phases), value);
}

const char *belay_sent_name(enum belay_sent value)
{
    return name_in(sents, COUNT(sents), value);
}

const char *belay_decision_name(enum belay_decision value)
{
    return name_in(decisions, COUNT(decisions), value);
}

const char *belay_terminal_name(enum belay_terminal value)
{
    return name_in(terminals, COUNT(terminals), value);
}

const char *belay_reason_name(enum belay_reason value)
{
    return name_in(reasons, COUNT(reasons), value);
}

const char *belay_outcome_class_name(enum belay_outcome_class value)
{
    return name_in(outcome_classes, COUNT(outcome_classes), value);
}

const char *belay_wait_source_name(enum belay_wait_source value)
{
    return name_in(wait_sources, COUNT(wait_sources), value);
}

const char *belay_effect_name(enum belay_effect value)
{
    return name_in(effects, COUNT(effects), value);
}

bool belay_error_class_parse(const char *word, size_t length, enum belay_error_class *out)
{
    size_t i = find_in(error_classes, BELAY_ERROR_NONE + 1, COUNT(error_classes), word, length);
    if (i == COUNT(error_classes)) return false;
    *out = (enum belay_error_class)i;
    return true;
}

bool belay_phase_parse(const char *word, size_t length, enum belay_phase *out)
{
    size_t i = find_in(phases, BELAY_PHASE_NONE + 1, COUNT(phases), word, length);
    if (i == COUNT(phases)) return false;
    *out = (enum belay_phase)i;
    return true;
}

bool belay_sent_parse(const char *word, size_t length, enum belay_sent *out)
{
    size_t i = find_in(sents, 0, COUNT(sents), word, length);
    if (i == COUNT(sents)) return false;
    *out = (enum belay_sent)i;
    return true;
}
