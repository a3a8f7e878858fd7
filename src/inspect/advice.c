/* advice.c: the words of each anomaly: what is seen, why, what to check, what to do. */
#include "inspect/report.h"

static const struct inspect_advice ADVICE[] = {
    [INSPECT_MERGED_FIELDS] =
        {"merged_fields", "a failure is told as one sentence, such as \"request failed\"",
         "status, error class and decision are merged into free text, or missing",
         "can status, errorClass and decision be read for one single operation?",
         "write them as fields of their own, with closed vocabularies"},
    [INSPECT_CLOCK_MIXED] =
        {"clock_mixed", "remainingMs does not shrink by what the attempt before it took",
         "the deadline is reckoned with two clocks, or begun anew for each attempt",
         "compare remainingMs, elapsedMs and waitMs along one operation",
         "fix one instant of the monotonic clock as the deadline before the first attempt"},
    [INSPECT_RETRY_WITHOUT_ATTEMPT] =
        {"retry_without_attempt",
         "the decision was retry, but no attempt followed and no reason to stop was given",
         "the wait or a limit used up what was left, and nobody wrote that down",
         "is there an operation record, and what is its result?",
         "write deadline_exceeded, max_attempts or the reason that it was"},
    [INSPECT_SPLIT_OPERATION] = {"split_operation",
                                 "one call of one trace goes on under a second operationId",
                                 "the id is made inside the retry loop",
                                 "compare the incoming request with the request ids of one trace",
                                 "make operationId once, before the first attempt"},
    [INSPECT_DUPLICATE_REQUEST_ID] =
        {"duplicate_request_id", "two attempts that differ have one requestId",
         "the id is made for the operation and not for the attempt",
         "are the two lines the same call delivered twice, or two calls?",
         "make a new requestId for every attempt"},
    [INSPECT_UNSAFE_RETRY] =
        {"unsafe_retry", "a request that may have had an effect was sent again",
         "the retry rule looks at the status or the error alone",
         "compare the method, what was known to be sent, and what the route declares",
         "repeat only what is safe, declared idempotent, keyed, or provably not sent"},
    [INSPECT_EARLY_RETRY] = {"early_retry",
                             "an attempt was made before the server's Retry-After had passed",
                             "the hint is not read, or capped by the backoff",
                             "compare retryAfterMs with the time to the next attempt",
                             "wait at least as long as the server asked, or stop"},
    [INSPECT_STATUS_ERROR_CONFLICT] =
        {"status_error_conflict", "a status and an error class at once, or neither of them",
         "what was received is mixed up with what the client made of it",
         "which of the two did the client really see?",
         "write exactly one of them; the other is null"},
    [INSPECT_FULL_URL] = {"full_url", "a field holds a whole URL, or a query string",
                          "what came in is logged as it came",
                          "look for query strings, user names and ids in that field",
                          "write the route's template instead"},
    [INSPECT_SECRET_IN_FIELD] =
        {"secret_in_field", "a field holds something that looks like a credential",
         "header values or URLs are logged without redaction",
         "find where the field is filled; whoever reads the log has the credential",
         "remove it at the source, then replace the credential"},
    [INSPECT_OVER_BUDGET] =
        {"over_budget", "more retries were sent to a target than its budget allows",
         "every caller retries, and nobody counts the retries together",
         "compare retries with first attempts of that target over the same time",
         "share one retry budget between all callers of the target"},
    [INSPECT_ATTEMPT_GAP] = {"attempt_gap", "attempts of one operation are numbered with holes",
                             "a line was lost, or the counter goes on without a call",
                             "look for `lost` records and for attempts without an event",
                             "count attempts where the call is made, and keep every event"},
};

const struct inspect_advice *inspect_advice(enum inspect_anomaly_kind kind)
{
    return &ADVICE[kind];
}
