/* judge.h: the anomalies of one operation, and of one target's retries (semantics 15).
 *
 * A rule speaks only when the log proves it. What a cut log, a merged one or lines in any order
 * could look like as well is no anomaly:
 *
 * - clock_mixed: remainingMs of a later attempt is more than the earlier one's less its elapsedMs
 *   and waitMs (2 ms for rounding).
 * - retry_without_attempt: the last decision was retry, and the ending gives a status or nothing as
 *   its result; or there is no ending, and the log goes on past the operation's deadline. With no
 *   times the log is taken as whole.
 * - split_operation: as before, but another operation of the same trace calls the same method,
 *   target and endpoint when the next attempt was due (a single one at any time before the
 *   deadline, one of several just then; where the log ends before the deadline, a single one just
 *   then; without times any will do); or a requestId names another operation of the log, which is
 *   then not blamed for its retry.
 * - duplicate_request_id: one line more than once; or two attempts that differ with one requestId,
 *   unless their spanIds say that they are two calls under one operation's id (see run.h).
 * - unsafe_retry: another attempt after one that may have reached its recipient, with a method that
 *   is not safe (semantics 1: PUT and DELETE too). A `reason` that only an engine gives that knows
 *   the request to be replay-safe (backoff, retry_after, stale_connection), or a state check before
 *   the repeat, is taken at its word.
 * - early_retry: the next attempt came before retryAfterMs had passed, by waitMs, by remainingMs,
 *   or, without these, by time.
 * - attempt_gap: a number is missing between two, or between the last and what the ending says; a
 *   missing beginning only where the log surely was being written when the operation began.
 * - over_budget: over some span of time, or all, retries are more than budget_percent of the first
 *   attempts plus budget_burst. Where the reason of each says that an engine allowed it, a budget
 *   was asked, maybe a larger one, maybe those of several daemons: twice as much is allowed.
 */
#ifndef INSPECT_JUDGE_H
#define INSPECT_JUDGE_H

#include "inspect/collect.h"
#include "inspect/table.h"
#include "inspect/tally.h"

/* What is known of the whole log; times are NO_TIME_MS when no record had one. */
struct judge {
    const struct table *table;
    struct inspect_limits limits;
    int64_t written_from_ms; /* the earliest line's writing: before it, lines may have been cut */
    int64_t written_to_ms;   /* the latest line's */
    int64_t longest_ms;      /* the longest attempt */
    int64_t budget_ms;       /* the largest remainingMs: no operation had more */
    bool has_evicted;        /* so a beginning may be missing because it was forgotten */
};

/* `early`: it leaves before the log's end and incomplete, so that nothing is concluded from what is
 * missing. */
void judge_operation(const struct judge *judge, struct tally *tally,
                     const struct operation *operation, bool early);
void judge_budgets(const struct judge *judge, struct tally *tally);

#endif
