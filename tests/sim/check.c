/* check.c: the checkers of a history (check.h). Records carry whole milliseconds, so instants are
 * known to 1 ms. */
#include "check.h"

#include <belay/breaker.h>
#include <stdarg.h>
#include <stdlib.h>

#define MS BELAY_NS_PER_MS

static bool broken(char why[CHECK_WHY_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool broken(char why[CHECK_WHY_BYTES], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, CHECK_WHY_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

static bool same(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static const struct operation_record *find_operation(const struct history *history, const char *id)
{
    for (size_t i = 0; i < history->operations.count; i++) {
        if (same(history_operation(history, i)->operation, id))
            return history_operation(history, i);
    }
    return NULL;
}

static const struct attempt_record *find_attempt(const struct history *history, const char *id,
                                                 uint32_t attempt)
{
    for (size_t i = 0; i < history->attempts.count; i++) {
        const struct attempt_record *record = history_attempt(history, i);
        if (record->attempt == attempt && same(record->operation, id)) return record;
    }
    return NULL;
}

/* At most 1 ms after the true start, for elapsedMs is floored. */
static int64_t attempt_start_ns(const struct attempt_record *record)
{
    return record->at.ns - record->elapsed_ms * MS;
}

static int64_t operation_start_ns(const struct operation_record *record)
{
    return record->at.ns - record->elapsed_ms * MS;
}

/* ---- numbers ---- */

static uint32_t attempts_of(const struct history *history, const char *id)
{
    uint32_t count = 0;
    for (size_t i = 0; i < history->attempts.count; i++)
        count += same(history_attempt(history, i)->operation, id);
    return count;
}

static uint32_t records_of(const struct history *history, const char *id)
{
    uint32_t count = 0;
    for (size_t i = 0; i < history->operations.count; i++)
        count += same(history_operation(history, i)->operation, id);
    return count;
}

static bool numbered_without_holes(const struct history *history, const struct check_rules *rules,
                                   char *why)
{
    (void)rules;
    for (size_t i = 0; i < history->operations.count; i++) {
        const struct operation_record *record = history_operation(history, i);
        uint32_t records = records_of(history, record->operation),
                 attempts = attempts_of(history, record->operation);
        if (records != 1)
            return broken(why, "%s has %u operation records", record->operation, records);
        if (attempts != record->attempts) {
            return broken(why, "%s has %u attempts, its record says %u", record->operation,
                          attempts, record->attempts);
        }
        for (uint32_t n = 1; n <= attempts; n++) {
            if (!find_attempt(history, record->operation, n))
                return broken(why, "%s lacks %u", record->operation, n);
        }
    }
    for (size_t i = 0; i < history->attempts.count; i++) {
        const char *id = history_attempt(history, i)->operation;
        if (!find_operation(history, id))
            return broken(why, "%s has an attempt and no operation record", id);
    }
    return true;
}

/* ---- time ---- */

/* An operation begins when its head has come, however late after its first byte that is. */
static bool was_held_up(const struct history *history, const char *id)
{
    for (size_t i = 0; i < history->replies.count; i++) {
        const struct reply *reply = history_reply(history, i);
        if (same(reply->operation, id)) return reply->held_up;
    }
    return false;
}

static bool none_after_the_deadline(const struct history *history, const struct check_rules *rules,
                                    char *why)
{
    int64_t deadline_ms = rules->policy.deadline_for.ns / MS;
    for (size_t i = 0; i < history->attempts.count; i++) {
        const struct attempt_record *record = history_attempt(history, i);
        const struct operation_record *operation = find_operation(history, record->operation);
        if (!operation) continue;
        int64_t used_ms = (attempt_start_ns(record) - operation_start_ns(operation)) / MS;
        if (used_ms >= deadline_ms || record->remaining_ms <= 0) {
            return broken(why, "%s/%u started after %lld ms", record->operation, record->attempt,
                          (long long)used_ms);
        }
        int64_t off_ms = used_ms + record->remaining_ms - deadline_ms;
        if (off_ms < -2 || off_ms > 2) {
            return broken(why, "%s/%u: remainingMs is off by %lld", record->operation,
                          record->attempt, (long long)off_ms);
        }
    }
    for (size_t i = 0; i < history->operations.count; i++) {
        const struct operation_record *record = history_operation(history, i);
        bool late = record->elapsed_ms > deadline_ms + 50 && !same(record->result, "bad_request");
        if (late && (record->attempts > 0 || !was_held_up(history, record->operation))) {
            return broken(why, "%s ended after %lld ms", record->operation,
                          (long long)record->elapsed_ms);
        }
    }
    for (size_t i = 0; i < history->seen.count; i++) {
        const struct seen *seen = history_seen(history, i);
        const struct operation_record *operation = find_operation(history, seen->operation);
        if (!operation) continue;
        int64_t latest_ns = operation_start_ns(operation) + rules->policy.deadline_for.ns +
                            rules->latency_max.ns + MS;
        if (seen->at.ns > latest_ns)
            return broken(why, "%s was called after its deadline", seen->operation);
    }
    return true;
}

static bool repeats_wait(const struct history *history, const struct check_rules *rules, char *why)
{
    (void)rules;
    for (size_t i = 0; i < history->attempts.count; i++) {
        const struct attempt_record *record = history_attempt(history, i);
        const struct attempt_record *next =
            find_attempt(history, record->operation, record->attempt + 1);
        if (!next) continue;
        int64_t waited_ms = (attempt_start_ns(next) - record->at.ns) / MS;
        if (waited_ms < record->wait_ms || waited_ms < 0) {
            return broken(why, "%s/%u waited %lld ms for %lld", next->operation, next->attempt,
                          (long long)waited_ms, (long long)record->wait_ms);
        }
        if (record->retry_after_ms > 0 && waited_ms < record->retry_after_ms) {
            return broken(why, "%s/%u came before Retry-After had passed", next->operation,
                          next->attempt);
        }
        if (!same(record->decision, "retry")) {
            return broken(why, "%s/%u follows the decision %s", next->operation, next->attempt,
                          record->decision);
        }
    }
    return true;
}

/* ---- limits ---- */

static bool none_through_an_open_breaker(const struct history *history,
                                         const struct check_rules *rules, char *why)
{
    (void)rules;
    const struct breaker_change *changes = history->breakers.items;
    for (size_t c = 0; c < history->breakers.count; c++) {
        if (changes[c].state == BELAY_BREAKER_CLOSED) continue;
        int64_t from_ns = changes[c].at.ns + MS;
        int64_t to_ns = c + 1 < history->breakers.count ? changes[c + 1].at.ns : INT64_MAX;
        bool open = changes[c].state == BELAY_BREAKER_OPEN;
        for (size_t i = 0; i < history->attempts.count; i++) {
            const struct attempt_record *record = history_attempt(history, i);
            int64_t start_ns = attempt_start_ns(record);
            if (start_ns <= from_ns || start_ns >= to_ns) continue;
            if (open || record->attempt > 1) {
                return broken(why, "%s/%u went through a breaker that was not closed",
                              record->operation, record->attempt);
            }
        }
    }
    return true;
}

struct sending {
    int64_t start_ns;
    bool retry;
};

static int by_start(const void *a, const void *b)
{
    const struct sending *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return 0;
}

/* In every span: the heaviest run of retries against ratio * operations is at most the burst. What
 * started within the same millisecond counts together, for the records do not tell which came
 * first. */
static bool retries_within_the_budget(const struct history *history,
                                      const struct check_rules *rules, char *why)
{
    size_t count = history->attempts.count;
    struct sending *sendings = calloc(count + 1, sizeof(*sendings));
    if (!sendings) return broken(why, "no memory");
    for (size_t i = 0; i < count; i++) {
        const struct attempt_record *record = history_attempt(history, i);
        sendings[i] = (struct sending){attempt_start_ns(record), record->attempt > 1};
    }
    qsort(sendings, count, sizeof(*sendings), by_start);
    double ratio = (double)rules->policy.budget.ratio_ppm / 1e6,
           burst = (double)rules->policy.budget.burst;
    double over = 0, worst = 0;
    for (size_t i = 0; i < count;) {
        int64_t group_ends_ns = sendings[i].start_ns + MS;
        for (; i < count && sendings[i].start_ns <= group_ends_ns; i++)
            over += sendings[i].retry ? 1 : -ratio;
        if (over < 0) over = 0;
        if (over > worst) worst = over;
    }
    free(sendings);
    return worst <= burst + 1e-6
               ? true
               : broken(why, "%.1f retries over the ratio, burst %.0f", worst, burst);
}

static bool within_the_bulkhead(const struct history *history, const struct check_rules *rules,
                                char *why)
{
    const struct belay_bulkhead_config *bulkhead = &rules->policy.bulkhead;
    if (!bulkhead->enabled) return true;
    for (size_t i = 0; i < history->attempts.count; i++) {
        int64_t at_ns = attempt_start_ns(history_attempt(history, i));
        uint32_t in_flight = 0;
        for (size_t j = 0; j < history->attempts.count; j++) {
            const struct attempt_record *record = history_attempt(history, j);
            in_flight += attempt_start_ns(record) <= at_ns && record->at.ns > at_ns;
        }
        if (in_flight > bulkhead->max)
            return broken(why, "%u calls in flight, %u may be", in_flight, bulkhead->max);
    }
    return true;
}

/* In every span: a bucket that leaks at the rate and holds the burst. */
static bool within_the_quota(const struct history *history, const struct check_rules *rules,
                             char *why)
{
    const struct belay_quota_config *quota = &rules->policy.quota;
    if (!quota->enabled) return true;
    for (size_t i = 0; i < history->attempts.count; i++) {
        int64_t from_ns = attempt_start_ns(history_attempt(history, i));
        for (size_t j = 0; j < history->attempts.count; j++) {
            int64_t to_ns = attempt_start_ns(history_attempt(history, j));
            if (to_ns < from_ns) continue;
            int64_t calls = 0;
            for (size_t k = 0; k < history->attempts.count; k++) {
                int64_t start_ns = attempt_start_ns(history_attempt(history, k));
                calls += start_ns >= from_ns && start_ns <= to_ns;
            }
            int64_t span_ns = to_ns - from_ns + 2 * MS; /* either end may be 1 ms off */
            if (calls > (int64_t)quota->burst + 1 + span_ns / quota->per_call.ns) {
                return broken(why, "%lld calls within %lld ms", (long long)calls,
                              (long long)(span_ns / MS));
            }
        }
    }
    return true;
}

static bool none_before_a_hint_has_passed(const struct history *history,
                                          const struct check_rules *rules, char *why)
{
    for (size_t i = 0; i < history->attempts.count; i++) {
        const struct attempt_record *hinted = history_attempt(history, i);
        if ((hinted->status != 429 && hinted->status != 503) || hinted->retry_after_ms < 0)
            continue;
        int64_t held_ns = hinted->retry_after_ms * MS;
        if (held_ns > rules->policy.hold.max.ns) held_ns = rules->policy.hold.max.ns;
        for (size_t j = 0; j < history->attempts.count; j++) {
            const struct attempt_record *record = history_attempt(history, j);
            int64_t after_ns = attempt_start_ns(record) - hinted->at.ns;
            if (after_ns > MS && after_ns < held_ns) {
                return broken(why, "%s/%u came %lld ms after a hint of %lld", record->operation,
                              record->attempt, (long long)(after_ns / MS),
                              (long long)hinted->retry_after_ms);
            }
        }
    }
    return true;
}

/* ---- what the origin saw ---- */

/* What the record says of a write, against what the origin knows. */
static bool effects_are_true(const struct history *history, const struct check_rules *rules,
                             char *why)
{
    (void)rules;
    for (size_t i = 0; i < history->operations.count; i++) {
        const struct operation_record *record = history_operation(history, i);
        bool none = same(record->effect, "none"), done = same(record->effect, "done");
        if (!none && !done) continue;
        size_t calls = 0, good = 0, unanswered = 0;
        for (size_t j = 0; j < history->seen.count; j++) {
            const struct seen *seen = history_seen(history, j);
            if (!same(seen->operation, record->operation)) continue;
            calls++;
            good += seen->answering >= 200 && seen->answering < 300;
            unanswered += seen->answering == 0;
        }
        if (none && (good > 0 || unanswered > 0)) {
            return broken(why, "%s had no effect, and was called %zu times", record->operation,
                          calls);
        }
        if (done && good == 0)
            return broken(why, "%s is done, and nobody did it", record->operation);
    }
    return true;
}

static bool no_post_twice(const struct history *history, const struct check_rules *rules, char *why)
{
    (void)rules;
    for (size_t i = 0; i < history->seen.count; i++) {
        const struct seen *seen = history_seen(history, i);
        const struct attempt_record *record = find_attempt(history, seen->operation, seen->attempt);
        if (record && same(record->sent, "unsent")) {
            return broken(why, "%s/%u is said to be unsent and was seen", seen->operation,
                          seen->attempt);
        }
        if (!same(seen->method, "POST") || seen->keyed) continue;
        for (size_t j = 0; j < i; j++) {
            const struct seen *before = history_seen(history, j);
            if (same(before->operation, seen->operation) && same(before->origin, seen->origin)) {
                return broken(why, "POST %s was seen twice", seen->operation);
            }
        }
    }
    return true;
}

static bool calls_are_recorded(const struct history *history, const struct check_rules *rules,
                               char *why)
{
    (void)rules;
    for (size_t i = 0; i < history->seen.count; i++) {
        const struct seen *seen = history_seen(history, i);
        if (seen->garbage) return broken(why, "garbage was passed on");
        if (!find_attempt(history, seen->operation, seen->attempt)) {
            return broken(why, "%s/%u was seen and not recorded", seen->operation, seen->attempt);
        }
        for (size_t j = 0; j < i; j++) {
            const struct seen *before = history_seen(history, j);
            if (before->attempt == seen->attempt && same(before->operation, seen->operation)) {
                return broken(why, "%s/%u was seen twice", seen->operation, seen->attempt);
            }
        }
    }
    for (size_t i = 0; i < history->attempts.count; i++) {
        const struct attempt_record *record = history_attempt(history, i);
        if ((record->status == 0) == (record->error[0] == '\0')) {
            return broken(why, "%s/%u has both or neither", record->operation, record->attempt);
        }
        if (!same(record->sent, "answered")) continue;
        bool seen = false;
        for (size_t j = 0; j < history->seen.count && !seen; j++) {
            const struct seen *row = history_seen(history, j);
            seen = row->attempt == record->attempt && same(row->operation, record->operation);
        }
        if (!seen)
            return broken(why, "%s/%u was answered by nobody", record->operation, record->attempt);
    }
    return true;
}

static bool bytes_in_are_bytes_out(const struct history *history, const struct check_rules *rules,
                                   char *why)
{
    (void)rules;
    if (history->unreadable > 0)
        return broken(why, "%zu inputs could not be read", history->unreadable);
    for (size_t i = 0; i < history->seen.count; i++) {
        const struct seen *seen = history_seen(history, i);
        if (seen->whole && !seen->body_right)
            return broken(why, "%s: another body arrived", seen->operation);
    }
    for (size_t i = 0; i < history->replies.count; i++) {
        const struct reply *reply = history_reply(history, i);
        if (reply->kind != REPLY_WHOLE || reply->garbage) continue;
        if (reply->of_origin && !reply->body_right)
            return broken(why, "%s: another answer came", reply->operation);
        if (reply->status < 300 && !reply->of_origin)
            return broken(why, "%s: a made-up success", reply->operation);
        bool given = !reply->of_origin;
        for (size_t j = 0; j < history->seen.count && !given; j++) {
            const struct seen *seen = history_seen(history, j);
            given = seen->status == reply->status && same(seen->operation, reply->operation);
        }
        if (!given)
            return broken(why, "%s: nobody gave that %d whole", reply->operation, reply->status);
    }
    return true;
}

/* ---- what the caller was given ---- */

static bool one_answer_or_a_visible_cut(const struct history *history,
                                        const struct check_rules *rules, char *why)
{
    for (size_t i = 0; i < history->replies.count; i++) {
        const struct reply *reply = history_reply(history, i);
        const char *word = reply_kind_name(reply->kind);
        switch (reply->kind) {
        case REPLY_NONE:
        case REPLY_WRONG: return broken(why, "%s: %s", reply->operation, word);
        case REPLY_CLOSED: {
            /* While draining, an idle kept-alive connection may close as its next request comes;
             * the first request of a connection that was accepted is always answered. */
            bool may_be = reply->closing || (rules->draining && !reply->first);
            if (!may_be) return broken(why, "%s: %s", reply->operation, word);
            break;
        }
        case REPLY_REFUSED:
            if (!rules->draining) return broken(why, "%s: %s", reply->operation, word);
            break;
        case REPLY_WHOLE: {
            if (reply->garbage && reply->status < 400)
                return broken(why, "garbage was answered %d", reply->status);
            if (reply->garbage) break;
            const struct operation_record *record = find_operation(history, reply->operation);
            bool unread = rules->short_of_memory && reply->status == 503;
            if (!record && unread) break;
            if (!record) return broken(why, "%s: an answer and no record", reply->operation);
            if (record->answer != reply->status) {
                return broken(why, "%s: was given %d, its record says %d", reply->operation,
                              reply->status, record->answer);
            }
            break;
        }
        default: break;
        }
    }
    return true;
}

/* ---- all of them ---- */

const struct checker CHECKERS[] = {
    {"numbered", numbered_without_holes},
    {"deadline", none_after_the_deadline},
    {"wait", repeats_wait},
    {"breaker", none_through_an_open_breaker},
    {"budget", retries_within_the_budget},
    {"bulkhead", within_the_bulkhead},
    {"quota", within_the_quota},
    {"hold", none_before_a_hint_has_passed},
    {"effect", effects_are_true},
    {"post", no_post_twice},
    {"calls", calls_are_recorded},
    {"bytes", bytes_in_are_bytes_out},
    {"answer", one_answer_or_a_visible_cut},
};
const size_t CHECKER_COUNT = sizeof(CHECKERS) / sizeof(CHECKERS[0]);

const struct checker *check_find(const char *name)
{
    for (size_t i = 0; i < CHECKER_COUNT; i++) {
        if (same(CHECKERS[i].name, name)) return &CHECKERS[i];
    }
    return NULL;
}

const char *check_history(const struct history *history, const struct check_rules *rules,
                          char why[CHECK_WHY_BYTES])
{
    for (size_t i = 0; i < CHECKER_COUNT; i++) {
        if (!CHECKERS[i].holds(history, rules, why)) return CHECKERS[i].name;
    }
    return NULL;
}

const char *check_leftovers(const struct check_leftovers *left, char why[CHECK_WHY_BYTES])
{
    const struct sim_open *open = &left->open;
    if (left->callers_waiting + left->running > 0) {
        (void)broken(why, "%zu callers and %u operations wait for ever", left->callers_waiting,
                     left->running);
        return "stuck";
    }
    if (left->in_flight + left->waiting > 0) {
        (void)broken(why, "%u slots held, %u waiting", left->in_flight, left->waiting);
        return "leak";
    }
    if (open->conns + open->listeners + open->resolves + open->timers + open->hooks == 0)
        return NULL;
    (void)broken(why, "%zu connections, %zu listeners, %zu look-ups, %zu timers, %zu hooks",
                 open->conns, open->listeners, open->resolves, open->timers, open->hooks);
    return "leak";
}
