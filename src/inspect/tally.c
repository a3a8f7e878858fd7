/* tally.c: counts for each target, and examples of each anomaly (tally.h). */
#include "inspect/tally.h"

#include "base/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void tally_deinit(struct tally *tally)
{
    free(tally->targets);
    tally->targets = NULL;
    tally->target_count = tally->target_capacity = 0;
}

bool tally_clone(const struct tally *from, struct tally *to)
{
    size_t bytes = from->target_count * sizeof *from->targets;
    struct tally_target *targets = malloc(bytes + 1);
    if (!targets) return false;
    if (bytes > 0) memcpy(targets, from->targets, bytes);
    *to = *from;
    to->targets = targets;
    to->target_capacity = to->target_count;
    return true;
}

static void copy_text(char *out, size_t capacity, struct belay_slice text)
{
    size_t length = text.length < capacity - 1 ? text.length : capacity - 1;
    if (length > 0) memcpy(out, text.data, length);
    out[length] = '\0';
}

static bool make_room(struct tally *tally)
{
    if (tally->target_count < tally->target_capacity) return true;
    if (tally->target_count == TALLY_TARGETS_MAX) return false;
    size_t capacity = tally->target_capacity == 0 ? 4 : 2 * tally->target_capacity;
    struct tally_target *targets = realloc(tally->targets, capacity * sizeof *targets);
    if (!targets) return false;
    tally->targets = targets;
    tally->target_capacity = capacity;
    return true;
}

uint16_t tally_target(struct tally *tally, uint64_t hash, struct belay_slice name)
{
    const size_t mask = COUNT(tally->index) - 1;
    size_t slot = hash & mask;
    if (name.length > TALLY_NAME_BYTES) name.length = TALLY_NAME_BYTES;
    for (; tally->index[slot] != 0; slot = (slot + 1) & mask) {
        uint16_t number = (uint16_t)(tally->index[slot] - 1);
        const struct tally_target *known = &tally->targets[number];
        if (belay_slice_equal(belay_slice(known->name, known->name_length), name)) return number;
    }
    if (!make_room(tally)) return ENTRY_NO_TARGET;
    struct tally_target *target = &tally->targets[tally->target_count];
    memset(target, 0, sizeof *target);
    target->first_ms = target->last_ms = NO_TIME_MS;
    target->name_length = name.length;
    copy_text(target->name, sizeof target->name, name);
    tally->index[slot] = (uint16_t)++tally->target_count;
    return (uint16_t)(tally->target_count - 1);
}

void tally_note(struct tally *tally, enum inspect_anomaly_kind kind, struct belay_slice id,
                uint64_t line, const char *format, ...)
{
    struct tally_shelf *shelf = &tally->shelves[kind];
    shelf->count++;
    if (shelf->examples == INSPECT_EXAMPLES_MAX) return;
    struct tally_example *example = &shelf->example[shelf->examples++];
    copy_text(example->id, sizeof example->id, id);
    example->line = line;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(example->detail, sizeof example->detail, format, arguments);
    va_end(arguments);
}

static void count_time(struct tally_target *target, const struct entry *attempt, int64_t start_ms,
                       bool is_retry)
{
    if (start_ms == NO_TIME_MS) return;
    int64_t elapsed_ms = entry_span(attempt->elapsed_ms);
    unsigned decision = attempt->decision == ENTRY_NO_WORD ? SERIES_NO_DECISION : attempt->decision;
    series_add(&target->series, start_ms, elapsed_ms, decision, is_retry);
    if (target->first_ms == NO_TIME_MS || start_ms < target->first_ms) target->first_ms = start_ms;
    if (start_ms + elapsed_ms > target->last_ms) target->last_ms = start_ms + elapsed_ms;
}

static unsigned latency_slot(const struct entry *attempt)
{
    unsigned number = attempt->number == 0 ? 1 : attempt->number;
    return (number < INSPECT_ATTEMPT_SLOTS ? number : INSPECT_ATTEMPT_SLOTS) - 1;
}

void tally_count_attempt(struct tally *tally, const struct entry *attempt, int64_t start_ms,
                         bool is_retry)
{
    if (attempt->target == ENTRY_NO_TARGET) return;
    struct tally_target *target = &tally->targets[attempt->target];
    struct inspect_target *shown = &target->shown;
    shown->attempts++;
    shown->retries += is_retry;
    if (attempt->decision == ENTRY_NO_WORD) {
        shown->decision_unknown++;
    } else {
        shown->decisions[attempt->decision]++;
    }
    if (attempt->error != BELAY_ERROR_NONE) shown->errors[attempt->error]++;
    if (attempt->status > 0) shown->status_class[attempt->status / 100]++;
    shown->too_many_requests += attempt->status == 429;
    if (attempt->elapsed_ms != ENTRY_NONE) {
        inspect_latency_add(&shown->latency[latency_slot(attempt)], attempt->elapsed_ms);
    }
    count_time(target, attempt, start_ms, is_retry);
}

/* A last decision says it too, where no operation record does. */
static enum belay_terminal terminal_of(enum belay_decision decision)
{
    switch (decision) {
    case BELAY_DECISION_DEADLINE_EXCEEDED: return BELAY_TERMINAL_DEADLINE_EXCEEDED;
    case BELAY_DECISION_MAX_ATTEMPTS: return BELAY_TERMINAL_MAX_ATTEMPTS;
    case BELAY_DECISION_BUDGET_EXHAUSTED: return BELAY_TERMINAL_BUDGET_EXHAUSTED;
    case BELAY_DECISION_BREAKER_OPEN: return BELAY_TERMINAL_BREAKER_OPEN;
    default: return BELAY_TERMINAL_NONE;
    }
}

static void count_decision(struct inspect_target *shown, uint8_t decision)
{
    shown->stopped += decision == BELAY_DECISION_STOP;
    shown->state_checks += decision == BELAY_DECISION_CHECK_STATE;
}

static void count_ending(struct inspect_target *shown, const struct entry *ending)
{
    shown->answered += ending->status > 0;
    count_decision(shown, ending->decision);
    if (ending->terminal != BELAY_TERMINAL_NONE) shown->terminals[ending->terminal]++;
    shown->effect_unknown += (ending->flags & ENTRY_UNKNOWN) != 0;
    shown->fallbacks += (ending->flags & ENTRY_FALLBACK) != 0;
}

void tally_count_ending(struct tally *tally, const struct entry *ending)
{
    if (ending->target == ENTRY_NO_TARGET) return;
    count_ending(&tally->targets[ending->target].shown, ending);
}

static void count_last_decision(struct inspect_target *shown, const struct run *run)
{
    if (run->count == 0) return;
    uint8_t decision = run->attempts[run->count - 1]->decision;
    if (decision == ENTRY_NO_WORD) return;
    enum belay_terminal terminal = terminal_of(decision);
    shown->answered += decision == BELAY_DECISION_RETURN;
    count_decision(shown, decision);
    if (terminal != BELAY_TERMINAL_NONE) shown->terminals[terminal]++;
}

static bool is_retry(const struct run *run, size_t index)
{
    unsigned number = run->attempts[index]->number;
    if (number != 1) return number > 1 || index > 0;
    return index > 0 && !run->tangled; /* an attempt 1 once more */
}

static uint64_t operations_of(const struct run *run)
{
    uint64_t firsts = 0;
    if (!run->tangled) return 1;
    for (size_t i = 0; i < run->count; i++) firsts += run->attempts[i]->number == 1;
    if (firsts < run->endings) firsts = run->endings;
    return firsts > 0 ? firsts : 1;
}

static void keep_retrier(struct tally_target *target, const struct run *run)
{
    if (target->retriers == TALLY_RETRIERS_MAX) return;
    struct tally_example *example = &target->retrier[target->retriers++];
    struct belay_slice id = {run->operation->id, run->operation->id_length};
    if (run->operation->flags & OPERATION_HIDDEN) id.length = 0;
    copy_text(example->id, sizeof example->id, id);
    example->line = run->attempts[run->count - 1]->line;
}

void tally_count_run(struct tally *tally, const struct run *run)
{
    uint64_t retries = 0, unpaid = 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct entry *attempt = run->attempts[i];
        bool again = is_retry(run, i);
        retries += again;
        unpaid += again && i > 0 && !entry_is_replay_safe(run->attempts[i - 1]);
        tally_count_attempt(tally, attempt, entry_start(run->operation, attempt), again);
    }
    if (run->target == ENTRY_NO_TARGET) return;
    struct tally_target *target = &tally->targets[run->target];
    struct inspect_target *shown = &target->shown;
    uint64_t operations = operations_of(run);
    unsigned made = operations > 1 ? (unsigned)(run->count / operations) : run_made(run);
    shown->operations += operations;
    shown->attempts_of[made < INSPECT_ATTEMPT_SLOTS ? made : INSPECT_ATTEMPT_SLOTS] += operations;
    shown->attempts += run->uncounted;
    shown->retries += run->uncounted;
    target->unpaid_retries += unpaid;
    if (retries > 0) keep_retrier(target, run);
    if (!run->ending) count_last_decision(shown, run);
    for (size_t i = 0; i < run->operation->count; i++) {
        const struct entry *entry = &run->operation->entries[i];
        if (entry_is_ending(entry) && (!run->tangled || entry->target == run->target)) {
            count_ending(shown, entry);
        }
    }
}
