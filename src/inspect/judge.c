/* judge.c: the anomalies of one operation, and of one target's retries (judge.h). */
#include "inspect/judge.h"

#define ROUNDING_MS 2
/* Lines of several writers may be this much out of order: belay's own sink writes every 100 ms. */
#define WRITING_MS 200
/* One of many continuations under a new id may begin this much after the wait. */
#define SIBLING_LATE_MS 50

struct court {
    const struct judge *judge;
    struct tally *tally;
    bool early;
};

static struct belay_slice shown_id(const struct operation *operation)
{
    if (operation->flags & OPERATION_HIDDEN) return belay_slice("", 0);
    return belay_slice(operation->id, operation->id_length);
}

static void note(const struct court *court, enum inspect_anomaly_kind kind, const struct run *run,
                 const struct entry *entry, const char *detail)
{
    tally_note(court->tally, kind, shown_id(run->operation), entry->line, "%s", detail);
}

/* --- one attempt and the next one --- */

/* What passed between the end of one attempt and the start of another, by the deadline's clock;
 * false when that is not told. */
static bool gap_by_deadline(const struct entry *before, const struct entry *after, int64_t *gap_ms)
{
    if (before->remaining_ms == ENTRY_NONE || after->remaining_ms == ENTRY_NONE) return false;
    *gap_ms = (int64_t)before->remaining_ms - entry_span(before->elapsed_ms) -
              (int64_t)after->remaining_ms;
    return true;
}

static bool is_clock_mixed(const struct entry *before, const struct entry *after)
{
    int64_t gap_ms;
    if (after->remaining_ms == 0 || !gap_by_deadline(before, after, &gap_ms)) return false;
    return gap_ms + ROUNDING_MS < entry_span(before->wait_ms);
}

static bool is_early(const struct run *run, const struct entry *before, const struct entry *after)
{
    int64_t hint_ms = entry_span(before->retry_after_ms), gap_ms;
    if (hint_ms == 0) return false;
    if (before->wait_ms != ENTRY_NONE && before->wait_ms < hint_ms) return true;
    if (gap_by_deadline(before, after, &gap_ms)) {
        /* At 0 remaining nobody knows how much later it was. */
        return gap_ms >= 0 && after->remaining_ms > 0 && gap_ms + ROUNDING_MS < hint_ms;
    }
    int64_t end_ms = entry_end(run->operation, before);
    int64_t start_ms = entry_start(run->operation, after);
    if (end_ms == NO_TIME_MS || start_ms == NO_TIME_MS) return false;
    return start_ms >= end_ms && start_ms - end_ms + ROUNDING_MS < hint_ms;
}

static bool is_unsafe(const struct run *run, const struct entry *before)
{
    if (!(before->flags & ENTRY_UNSAFE) || (before->flags & ENTRY_UNSENT)) return false;
    if (before->decision == BELAY_DECISION_CHECK_STATE) {
        return !(run->operation->flags & OPERATION_CHECKED);
    }
    return !entry_is_replay_safe(before);
}

static void judge_neighbours(const struct court *court, const struct run *run)
{
    bool mixed = false, early = false, unsafe = false;
    for (size_t i = 1; i < run->count; i++) {
        const struct entry *before = run->attempts[i - 1], *after = run->attempts[i];
        if (after->number == before->number && after->number > 0) continue;
        if (!mixed && is_clock_mixed(before, after)) {
            mixed = true;
            tally_note(court->tally, INSPECT_CLOCK_MIXED, shown_id(run->operation), after->line,
                       "%lld ms remain before attempt %u, after %lld ms less %lld ms and the wait",
                       (long long)after->remaining_ms, (unsigned)after->number,
                       (long long)before->remaining_ms, (long long)entry_span(before->elapsed_ms));
        }
        if (after->number > before->number + 1U) continue;
        if (!early && is_early(run, before, after)) {
            early = true;
            tally_note(court->tally, INSPECT_EARLY_RETRY, shown_id(run->operation), after->line,
                       "the server asked to wait %lld ms before attempt %u",
                       (long long)before->retry_after_ms, (unsigned)after->number);
        }
        if (!unsafe && is_unsafe(run, before)) {
            unsafe = true;
            note(court, INSPECT_UNSAFE_RETRY, run, after,
                 "the method is not safe, and nothing says that the request was not sent");
        }
    }
}

/* --- request ids --- */

static void judge_request_ids(const struct court *court, const struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct entry *entry = run->attempts[i];
        if (entry->flags & ENTRY_REPEATED) {
            note(court, INSPECT_DUPLICATE_REQUEST_ID, run, entry,
                 "the same line was delivered more than once");
            return;
        }
        for (size_t other = 0; other < i && entry->request != 0; other++) {
            const struct entry *before = run->attempts[other];
            if (before->request != entry->request || run_is_rerun(before, entry)) continue;
            note(court, INSPECT_DUPLICATE_REQUEST_ID, run, entry,
                 "two attempts that differ have one requestId");
            return;
        }
    }
}

/* --- numbers --- */

static int64_t began_at(const struct judge *judge, const struct run *run)
{
    const struct operation *operation = run->operation;
    if (run->ending && run->ending->start_ms != ENTRY_NO_TIME) {
        return entry_start(operation, run->ending);
    }
    const struct entry *first = run->attempts[0];
    int64_t start_ms = entry_start(operation, first);
    if (start_ms == NO_TIME_MS || first->remaining_ms == ENTRY_NONE) return NO_TIME_MS;
    return start_ms - (judge->budget_ms - (int64_t)first->remaining_ms);
}

/* The beginning is missing, and no cut of the log can have taken it. */
static bool lacks_beginning(const struct judge *judge, const struct run *run)
{
    if (run->count == 0 || run->attempts[0]->number <= 1) return false;
    if (judge->has_evicted || (run->operation->flags & OPERATION_SIBLING)) return false;
    int64_t began_ms = began_at(judge, run);
    return began_ms != NO_TIME_MS && began_ms > judge->written_from_ms + WRITING_MS;
}

static void judge_numbers(const struct court *court, const struct run *run)
{
    if (court->early || run->count == 0 || run->attempts[0]->number == 0) return;
    if (run->operation->uncounted > 0) return;
    unsigned missing = lacks_beginning(court->judge, run) ? 1 : 0;
    for (size_t i = 1; i < run->count && missing == 0; i++) {
        unsigned expected = run->attempts[i - 1]->number + 1U;
        if (run->attempts[i]->number > expected) missing = expected;
    }
    unsigned last = run->attempts[run->count - 1]->number;
    if (missing == 0 && run_made(run) > last) missing = last + 1;
    if (missing == 0) return;
    tally_note(court->tally, INSPECT_ATTEMPT_GAP, shown_id(run->operation),
               run->attempts[run->count - 1]->line, "attempt %u of %u is missing", missing,
               run_made(run));
}

/* --- how it ended --- */

/* The log says nothing more, but it may have been cut before the next attempt could be told. */
static bool may_go_on(const struct judge *judge, const struct run *run)
{
    const struct entry *last = run->attempts[run->count - 1];
    int64_t start_ms = entry_start(run->operation, last);
    if (start_ms == NO_TIME_MS) return false;
    int64_t due_ms =
        start_ms + entry_span(last->elapsed_ms) + entry_span(last->wait_ms) + judge->longest_ms;
    if (last->remaining_ms != ENTRY_NONE) due_ms = start_ms + (int64_t)last->remaining_ms;
    return due_ms + WRITING_MS >= judge->written_to_ms;
}

static bool ends_in_retry(const struct court *court, const struct run *run)
{
    const struct entry *last = run->count > 0 ? run->attempts[run->count - 1] : NULL;
    if (court->early || !last || last->decision != BELAY_DECISION_RETRY) return false;
    if (!run->ending) return true;
    return !(run->ending->flags & ENTRY_FINAL) && run_made(run) == last->number;
}

/* A sibling began when the next attempt was due: the only one at any time before the deadline, one
 * of several just then. Where the next attempt may still come (`open`), only a single one that came
 * just then is proof. */
static bool has_successor(const struct run *run, bool open)
{
    const struct operation *operation = run->operation;
    const struct entry *last = run->attempts[run->count - 1];
    int64_t end_ms = entry_end(operation, last);
    bool single = !(operation->flags & OPERATION_CROWD);
    if (!(operation->flags & OPERATION_SIBLING) || (open && !single)) return false;
    if (end_ms == NO_TIME_MS) return true;
    int64_t due_ms = end_ms + entry_span(last->wait_ms);
    int64_t until_ms = due_ms + SIBLING_LATE_MS;
    if (single && !open && last->remaining_ms != ENTRY_NONE) {
        until_ms = entry_start(operation, last) + (int64_t)last->remaining_ms;
    }
    return operation->sibling_at_ms >= due_ms - ROUNDING_MS && operation->sibling_at_ms <= until_ms;
}

static void judge_end(const struct court *court, const struct run *run)
{
    if (run->operation->lender != 0 && run->count > 0 &&
        (table_find_hash(court->judge->table, run->operation->lender) ||
         table_recall(court->judge->table, run->operation->lender) != TABLE_NEVER_SEEN)) {
        note(court, INSPECT_SPLIT_OPERATION, run, run->attempts[0],
             "its requestId names another operation of this log");
        return;
    }
    if (!ends_in_retry(court, run) || run->operation->flags & OPERATION_LENDS) return;
    const struct entry *last = run->attempts[run->count - 1];
    bool open = !run->ending && may_go_on(court->judge, run);
    if (has_successor(run, open)) {
        note(court, INSPECT_SPLIT_OPERATION, run, last,
             "it ends with retry, and another operation of its trace goes on");
        return;
    }
    if (open) return;
    tally_note(court->tally, INSPECT_RETRY_WITHOUT_ATTEMPT, shown_id(run->operation), last->line,
               "attempt %u was to be repeated, and nothing more is told", (unsigned)last->number);
}

/* --- all of one operation --- */

static bool is_open(const struct run *run)
{
    if (run->ending || run->tangled) return false;
    const struct entry *last = run->attempts[run->count - 1];
    return last->decision == ENTRY_NO_WORD || last->decision == BELAY_DECISION_RETRY;
}

static void judge_run(void *context, const struct run *run)
{
    const struct court *court = context;
    tally_count_run(court->tally, run);
    court->tally->open_operations += is_open(run);
    judge_request_ids(court, run);
    if (run->tangled) return;
    judge_neighbours(court, run);
    judge_numbers(court, run);
    judge_end(court, run);
}

void judge_operation(const struct judge *judge, struct tally *tally,
                     const struct operation *operation, bool early)
{
    struct court court = {.judge = judge, .tally = tally, .early = early};
    run_each(operation, judge_run, &court);
}

/* --- a target's retries --- */

/* The largest sum of retries less their share of first attempts over any points in a row, in
 * hundredths of a retry (Kadane). */
static int64_t worst_span(const struct series *series, unsigned percent)
{
    int64_t worst = 0, sum = 0;
    for (size_t point = 0; point < series->shown.count; point++) {
        sum += 100 * (int64_t)series->retries[point] - percent * (int64_t)series->firsts[point];
        if (sum < 0) sum = 0;
        if (sum > worst) worst = sum;
    }
    return worst;
}

static void judge_budget(const struct judge *judge, struct tally *tally,
                         const struct tally_target *target)
{
    const struct inspect_target *shown = &target->shown;
    uint64_t firsts = shown->attempts - shown->retries;
    unsigned callers = target->unpaid_retries == 0 ? 2 : 1;
    unsigned percent = judge->limits.budget_percent * callers;
    int64_t spare = 100 * (int64_t)judge->limits.budget_burst * callers;
    int64_t over = 100 * (int64_t)shown->retries - percent * (int64_t)firsts;
    int64_t over_span = worst_span(&target->series, percent);
    if (over <= spare && over_span <= spare) return;
    uint64_t too_many = ((uint64_t)((over > over_span ? over : over_span) - spare) + 99) / 100;
    for (size_t i = 0; i < target->retriers; i++) {
        tally_note(tally, INSPECT_OVER_BUDGET, belay_slice_z(target->retrier[i].id),
                   target->retrier[i].line, "%llu retries for %llu first attempts: %llu too many",
                   (unsigned long long)shown->retries, (unsigned long long)firsts,
                   (unsigned long long)too_many);
    }
    if (too_many > target->retriers) {
        tally->shelves[INSPECT_OVER_BUDGET].count += too_many - target->retriers;
    }
}

void judge_budgets(const struct judge *judge, struct tally *tally)
{
    for (size_t i = 0; i < tally->target_count; i++) {
        judge_budget(judge, tally, &tally->targets[i]);
    }
}
