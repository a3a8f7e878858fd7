/* call_say.c: one line of progress, and one of failure (call_say.h). */
#include "app/call_say.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add(char line[CALL_LINE_BYTES_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(char line[CALL_LINE_BYTES_MAX], const char *format, ...)
{
    size_t used = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line + used, CALL_LINE_BYTES_MAX - used, format, arguments);
    va_end(arguments);
}

/* "0.4 s"; a wait is never told shorter than it is. */
static void add_seconds(char *line, struct belay_span span)
{
    int64_t tenths = (belay_span_ceil_ms(span) + 99) / 100;
    add(line, "%" PRId64 ".%d s", tenths / 10, (int)(tenths % 10));
}

/* "503", or "refused while connecting" */
static void add_outcome(char *line, const struct belay_outcome *outcome)
{
    static const char *const PHASES[BELAY_PHASE_COUNT] = {
        [BELAY_PHASE_DNS] = " while looking the name up",
        [BELAY_PHASE_CONNECT] = " while connecting",
        [BELAY_PHASE_TLS] = " in the TLS handshake",
        [BELAY_PHASE_SEND] = " while sending",
        [BELAY_PHASE_HEADERS] = " before an answer came",
        [BELAY_PHASE_BODY] = " in the answer's body",
    };
    if (outcome->error == BELAY_ERROR_NONE) {
        add(line, "%d", outcome->status);
        return;
    }
    const char *phase =
        (unsigned)outcome->phase < BELAY_PHASE_COUNT ? PHASES[outcome->phase] : NULL;
    add(line, "%s%s", belay_error_class_name(outcome->error), phase ? phase : "");
}

void call_say_progress(const struct belay_curl_progress *progress, uint32_t attempts_max,
                       char line[CALL_LINE_BYTES_MAX])
{
    line[0] = '\0';
    if (progress->attempt > 0) {
        add(line, "attempt %" PRIu32 " of %" PRIu32, progress->attempt, attempts_max);
    } else {
        add(line, "waiting for its turn");
    }
    if (progress->last) {
        add(line, ", saw ");
        add_outcome(line, progress->last);
    }
    if (progress->waiting && progress->wait.ns > 0) {
        add(line, ", next in ");
        add_seconds(line, progress->wait);
    }
    add(line, ", ");
    add_seconds(line, progress->remaining);
    add(line, " left");
}

static void add_attempts(char *line, const struct belay_curl_result *result)
{
    uint32_t attempts = result->ending.attempts;
    if (attempts == 0) {
        add(line, "no call was made");
        return;
    }
    add(line, "%" PRIu32 " attempt%s in %" PRId64 " ms, the last one saw ", attempts,
        attempts == 1 ? "" : "s", belay_span_floor_ms(result->ending.elapsed));
    add_outcome(line, &result->outcome);
}

static void add_reason(char *line, enum call_exit code, const char *target,
                       const struct belay_curl_result *result)
{
    switch (code) {
    case CALL_STOP:
        add(line, "the answer of %s is %d (%s)", target, result->outcome.status,
            belay_reason_name(result->reason));
        return;
    case CALL_BREAKER_OPEN: add(line, "%s failed too often; ", target); break;
    case CALL_NOT_BEFORE: add(line, "%s asked not to be called so soon; ", target); break;
    case CALL_QUOTA_EXCEEDED: add(line, "the quota for %s is used up; ", target); break;
    case CALL_BULKHEAD_FULL: add(line, "too many calls to %s are in flight; ", target); break;
    case CALL_BUDGET_EXHAUSTED: add(line, "the budget of %s has no retry left; ", target); break;
    case CALL_CHECK_STATE:
        add(line, "the outcome is unknown: %s may have carried it out; ", target);
        break;
    case CALL_FAILED: add(line, "%s: ", curl_easy_strerror(result->code)); break;
    default: add(line, "%s: ", target); break;
    }
    add_attempts(line, result);
}

/* What a gate knows, or what the last answer asked for. */
static void add_hint(char *line, const struct belay_curl_result *result)
{
    bool asked = !result->refused && result->outcome.has_retry_after;
    struct belay_span hint = asked              ? belay_span_ms(result->outcome.retry_after_ms)
                             : result->has_hint ? result->retry_hint
                                                : belay_span_ns(0);
    if (hint.ns <= 0) return;
    add(line, "; try again in ");
    add_seconds(line, hint);
}

void call_say_failure(enum call_exit code, const char *target,
                      const struct belay_curl_result *result, char line[CALL_LINE_BYTES_MAX])
{
    line[0] = '\0';
    add(line, "%s: ", call_exit_word(code));
    add_reason(line, code, target, result);
    add_hint(line, result);
    /* An answer says itself what was done, as far as it can be told. */
    bool unknown = result->ending.effect == BELAY_EFFECT_UNKNOWN && code != CALL_CHECK_STATE &&
                   code != CALL_STOP;
    if (unknown) add(line, "; the outcome is unknown: it may have been carried out");
}
