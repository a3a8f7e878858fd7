/* collect.c: takes records in any order, keeps them by operation, and sums up (collect.h). */
#include "inspect/collect.h"

#include "inspect/hash.h"
#include "base/check.h"
#include "inspect/judge.h"
#include "inspect/suspect.h"
#include <belay/method.h>
#include <stdlib.h>
#include <sys/random.h>

#define TRACE_SETS (1U << 15)
#define TRACE_WAYS 4
#define REQUEST_JOINT "/attempt-"

/* The last operation that was first seen with a trace, method, target and endpoint. A set holds the
 * latest of those that share it. */
struct trace_slot {
    uint64_t trace, operation;
};
struct trace_set {
    struct trace_slot ways[TRACE_WAYS];
};

struct inspect_collector {
    uint64_t seed;
    struct judge judge;
    struct table table;
    struct tally tally; /* of what has left the table */
    struct trace_set *traces;
    struct inspect_report counts; /* the counts of records only */

    struct tally final; /* of all, for the report */
    struct inspect_target *targets;
    struct inspect_report report;
};

struct inspect_collector *inspect_collector_create(const struct inspect_limits *limits)
{
    struct inspect_collector *collector = calloc(1, sizeof *collector);
    if (!collector) return NULL;
    if (getrandom(&collector->seed, sizeof collector->seed, 0) < 0) collector->seed = 1;
    collector->judge = (struct judge){.table = &collector->table,
                                      .limits = *limits,
                                      .written_from_ms = NO_TIME_MS,
                                      .written_to_ms = NO_TIME_MS};
    collector->traces = calloc(TRACE_SETS, sizeof *collector->traces);
    if (collector->traces &&
        table_init(&collector->table, limits->open_max < 2 ? 2 : limits->open_max)) {
        return collector;
    }
    free(collector->traces);
    free(collector);
    return NULL;
}

void inspect_collector_destroy(struct inspect_collector *collector)
{
    if (!collector) return;
    table_deinit(&collector->table);
    tally_deinit(&collector->tally);
    tally_deinit(&collector->final);
    free(collector->targets);
    free(collector->traces);
    free(collector);
}

/* --- a record as an entry --- */

static int64_t start_of(const struct inspect_record *record)
{
    int64_t ms = record->time.ns / BELAY_NS_PER_MS;
    if (record->time.ns % BELAY_NS_PER_MS < 0) ms--;
    return inspect_has(record, INSPECT_TIME) ? ms : NO_TIME_MS;
}

static uint32_t span_of(const struct inspect_record *record, enum inspect_field field, int64_t ms)
{
    if (!inspect_has(record, field)) return ENTRY_NONE;
    return ms < ENTRY_NONE - 1 ? (uint32_t)ms : ENTRY_NONE - 1;
}

static uint32_t id_hash(const struct inspect_collector *collector, struct belay_slice id)
{
    return id.length == 0 ? 0 : (uint32_t)(hash_bytes(collector->seed, id) | 1);
}

/* Nothing of the request can have reached its recipient. */
static bool is_unsent(const struct inspect_record *record)
{
    if (inspect_has(record, INSPECT_SENT)) return record->sent == BELAY_UNSENT;
    if (record->error == BELAY_ERROR_DNS || record->error == BELAY_ERROR_REFUSED) return true;
    return inspect_has(record, INSPECT_PHASE) &&
           (record->phase == BELAY_PHASE_DNS || record->phase == BELAY_PHASE_CONNECT ||
            record->phase == BELAY_PHASE_TLS);
}

static void fill_attempt(const struct inspect_record *record, struct entry *entry)
{
    entry->number = (uint16_t)(record->attempt < UINT16_MAX ? record->attempt : UINT16_MAX);
    entry->status = (uint16_t)record->status;
    entry->error = (uint8_t)record->error;
    if (inspect_has(record, INSPECT_DECISION)) entry->decision = (uint8_t)record->decision;
    if (inspect_has(record, INSPECT_REASON)) entry->reason = (uint8_t)record->reason;
    if (is_unsent(record)) entry->flags |= ENTRY_UNSENT;
}

/* The decision that ends an operation in this word, or ENTRY_NO_WORD. */
static uint8_t last_decision(struct belay_slice word)
{
    for (unsigned d = 0; d < BELAY_DECISION_COUNT; d++) {
        const char *name = belay_decision_name((enum belay_decision)d);
        if (d != BELAY_DECISION_RETRY && belay_slice_equal(belay_slice_z(name), word))
            return (uint8_t)d;
    }
    return ENTRY_NO_WORD;
}

static void fill_ending(const struct inspect_record *record, struct entry *entry)
{
    entry->flags |= ENTRY_ENDING;
    entry->number = (uint16_t)(record->attempts < UINT16_MAX ? record->attempts : UINT16_MAX);
    entry->status = (uint16_t)record->result_status;
    for (unsigned t = 1; t < BELAY_TERMINAL_COUNT && record->result_word.length > 0; t++) {
        const char *name = belay_terminal_name((enum belay_terminal)t);
        if (!belay_slice_equal(belay_slice_z(name), record->result_word)) continue;
        entry->terminal = (uint8_t)t;
        entry->flags |= ENTRY_FINAL;
    }
    entry->decision = last_decision(record->result_word);
    if (entry->decision != ENTRY_NO_WORD) entry->flags |= ENTRY_FINAL;
    if (inspect_has(record, INSPECT_EFFECT) && record->effect == BELAY_EFFECT_UNKNOWN) {
        entry->flags |= ENTRY_UNKNOWN;
    }
    if (inspect_has(record, INSPECT_FALLBACK)) entry->flags |= ENTRY_FALLBACK;
}

static uint32_t print_of(const struct inspect_collector *collector,
                         const struct inspect_record *record, const struct entry *entry)
{
    uint64_t hash = hash_word(collector->seed, record->present);
    hash = hash_word(hash, (uint64_t)record->time.ns);
    hash = hash_word(hash, (uint64_t)record->elapsed_ms);
    hash = hash_word(hash, (uint64_t)record->remaining_ms);
    hash = hash_word(hash, (uint64_t)record->retry_after_ms);
    hash = hash_word(hash, (uint64_t)record->wait_ms);
    hash = hash_word(hash, (uint64_t)entry->request << 32 | entry->span);
    hash = hash_word(hash, (uint64_t)entry->number << 48 | (uint64_t)entry->status << 32 |
                               (uint64_t)entry->target << 16 | entry->flags);
    hash = hash_word(hash, (uint64_t)entry->error << 24 | (uint64_t)entry->decision << 16 |
                               (uint64_t)entry->reason << 8 | entry->terminal);
    hash = hash_word(hash, (uint64_t)record->answer);
    hash = hash_bytes(hash, record->endpoint);
    return (uint32_t)hash_bytes(hash, record->method);
}

static uint16_t target_of(struct inspect_collector *collector, const struct inspect_record *record)
{
    struct belay_slice name = record->target;
    if (inspect_is_doubtful(record, INSPECT_TARGET)) name = belay_slice_z(INSPECT_NOT_SHOWN);
    uint16_t target = tally_target(&collector->tally, hash_bytes(collector->seed, name), name);
    collector->counts.targets_left_out += target == ENTRY_NO_TARGET;
    return target;
}

static void fill_entry(struct inspect_collector *collector, const struct inspect_record *record,
                       struct entry *entry)
{
    *entry = (struct entry){
        .elapsed_ms = span_of(record, INSPECT_ELAPSED, record->elapsed_ms),
        .remaining_ms = span_of(record, INSPECT_REMAINING, record->remaining_ms),
        .wait_ms = span_of(record, INSPECT_WAIT, record->wait_ms),
        .retry_after_ms = span_of(record, INSPECT_RETRY_AFTER, record->retry_after_ms),
        .request = id_hash(collector, record->request_id),
        .span = id_hash(collector, record->span_id),
        .line = (uint32_t)(record->line <= UINT32_MAX ? record->line : 0),
        .target = target_of(collector, record),
        .decision = ENTRY_NO_WORD,
        .reason = ENTRY_NO_WORD,
    };
    if (inspect_has(record, INSPECT_METHOD) &&
        !belay_method_is_safe(belay_method_parse(record->method))) {
        entry->flags |= ENTRY_UNSAFE;
    }
    if (record->kind == INSPECT_OPERATION) {
        fill_ending(record, entry);
    } else {
        fill_attempt(record, entry);
    }
    entry->print = print_of(collector, record, entry);
}

/* --- what is wrong with the line itself --- */

static const char *suspect_name(const struct inspect_record *record, char out[48])
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    struct belay_slice name = record->suspect;
    if (name.length == 0 || name.length >= 48 || suspect_find(name, SUSPECT_WORD)) return "a field";
    memcpy(out, name.data, name.length);
    out[name.length] = '\0';
    return strspn(out, plain) == name.length ? out : "a field";
}

static void note_texts(struct inspect_collector *collector, const struct inspect_record *record,
                       struct belay_slice id)
{
    char room[48];
    const char *name = suspect_name(record, room);
    if (record->full_url != 0 || record->foreign_full_url) {
        tally_note(&collector->tally, INSPECT_FULL_URL, id, record->line,
                   "%s holds a URL or a query string", name);
    }
    if (record->secret != 0 || record->foreign_secret) {
        tally_note(&collector->tally, INSPECT_SECRET_IN_FIELD, id, record->line,
                   "%s holds what looks like a credential", name);
    }
}

static void note_outcome(struct inspect_collector *collector, const struct inspect_record *record,
                         struct belay_slice id)
{
    const uint32_t outcome = INSPECT_BIT(INSPECT_STATUS) | INSPECT_BIT(INSPECT_ERROR_CLASS);
    uint32_t told = record->present | record->wrong_type | record->wrong_word;
    if (!(told & (outcome | INSPECT_BIT(INSPECT_DECISION)))) {
        tally_note(&collector->tally, INSPECT_MERGED_FIELDS, id, record->line,
                   "an attempt without status, errorClass and decision");
        return;
    }
    if (record->error_sentence) {
        tally_note(&collector->tally, INSPECT_MERGED_FIELDS, id, record->line,
                   "errorClass holds a sentence");
    }
    if ((record->wrong_type | record->wrong_word) & outcome) return;
    bool has_status = record->status > 0, has_error = record->error != BELAY_ERROR_NONE;
    if (has_status == has_error) {
        tally_note(&collector->tally, INSPECT_STATUS_ERROR_CONFLICT, id, record->line, "%s",
                   has_status ? "a status and an error class at once"
                              : "neither a status nor an error class");
    }
}

static void note_line(struct inspect_collector *collector, const struct inspect_record *record)
{
    struct belay_slice id = record->operation_id;
    if (inspect_is_doubtful(record, INSPECT_OPERATION_ID)) id.length = 0;
    note_texts(collector, record, id);
    if (record->kind == INSPECT_ATTEMPT) note_outcome(collector, record, id);
    if (record->kind == INSPECT_MERGED) {
        tally_note(&collector->tally, INSPECT_MERGED_FIELDS, id, record->line,
                   "a failure without status, errorClass and decision");
    }
}

/* --- operations --- */

static void see_time(struct inspect_collector *collector, const struct inspect_record *record,
                     const struct entry *entry)
{
    struct judge *judge = &collector->judge;
    int64_t start_ms = start_of(record);
    if (!entry_is_ending(entry)) {
        int64_t remaining_ms = entry_span(entry->remaining_ms);
        int64_t elapsed_ms = entry_span(entry->elapsed_ms);
        if (elapsed_ms > judge->longest_ms) judge->longest_ms = elapsed_ms;
        if (remaining_ms > judge->budget_ms) judge->budget_ms = remaining_ms;
    }
    if (start_ms == NO_TIME_MS) return;
    struct inspect_report *counts = &collector->counts;
    int64_t end_ms = start_ms + entry_span(entry->elapsed_ms);
    if (judge->written_to_ms == NO_TIME_MS || start_ms * BELAY_NS_PER_MS < counts->first.ns) {
        counts->first.ns = start_ms * BELAY_NS_PER_MS;
    }
    if (judge->written_from_ms == NO_TIME_MS || end_ms < judge->written_from_ms) {
        judge->written_from_ms = end_ms;
    }
    if (end_ms > judge->written_to_ms) judge->written_to_ms = end_ms;
}

static void meet(struct operation *operation, const struct operation *sibling)
{
    operation->flags |= operation->flags & OPERATION_SIBLING ? OPERATION_CROWD : OPERATION_SIBLING;
    if (sibling->base_ms <= operation->base_ms) return; /* or no time: NO_TIME_MS is the least */
    if (operation->sibling_at_ms == NO_TIME_MS || sibling->base_ms < operation->sibling_at_ms) {
        operation->sibling_at_ms = sibling->base_ms;
    }
}

/* The operation that this trace was seen with last, 0 when there is none; and puts `operation` in
 * its place. */
static uint64_t latest_of_trace(struct inspect_collector *collector, uint64_t trace,
                                uint64_t operation)
{
    struct trace_slot *ways = collector->traces[(trace >> 1) & (TRACE_SETS - 1)].ways;
    size_t way = 0;
    while (way < TRACE_WAYS - 1 && ways[way].trace != trace) way++;
    uint64_t latest = ways[way].trace == trace ? ways[way].operation : 0;
    memmove(&ways[1], &ways[0], way * sizeof *ways);
    ways[0] = (struct trace_slot){trace, operation};
    return latest;
}

/* Operations of one trace that call the same thing know of each other: one may be the other's
 * continuation under a new id. */
static void meet_siblings(struct inspect_collector *collector, struct operation *operation,
                          const struct inspect_record *record)
{
    if (operation->trace != 0 || !inspect_has(record, INSPECT_TRACE_ID)) return;
    uint64_t trace = hash_bytes(collector->seed, record->trace_id);
    trace = hash_bytes(hash_bytes(trace, record->method), record->target);
    operation->trace = hash_bytes(trace, record->endpoint) | 1;
    uint64_t latest = latest_of_trace(collector, operation->trace, operation->hash);
    struct operation *other = latest ? table_find_hash(&collector->table, latest) : NULL;
    if (!other || other == operation) return;
    meet(other, operation);
    meet(operation, other);
}

/* The operation that a requestId of the form ID/attempt-N names, if it is not its own. */
static uint64_t lender_of(const struct inspect_collector *collector,
                          const struct inspect_record *record)
{
    const size_t joint = sizeof REQUEST_JOINT - 1;
    struct belay_slice id = record->request_id, own = record->operation_id;
    if (id.length > own.length + joint && memcmp(id.data, own.data, own.length) == 0 &&
        memcmp(id.data + own.length, REQUEST_JOINT, joint) == 0) {
        return 0;
    }
    const char *at = id.length > joint ? memmem(id.data, id.length, REQUEST_JOINT, joint) : NULL;
    if (!at || at == id.data) return 0;
    id.length = (size_t)(at - id.data);
    return belay_slice_equal(id, own) ? 0 : hash_bytes(collector->seed, id);
}

static void let_go(struct inspect_collector *collector, struct operation *operation)
{
    bool early = !(operation->flags & OPERATION_ENDED);
    judge_operation(&collector->judge, &collector->tally, operation, early);
    if (early) {
        collector->counts.evicted_operations++;
        collector->judge.has_evicted = true;
    }
    table_remove(&collector->table, operation);
}

static void note_late(struct inspect_collector *collector, const struct inspect_record *record)
{
    collector->counts.repeated_records++;
    if (record->kind != INSPECT_ATTEMPT) return;
    struct belay_slice id = record->operation_id;
    if (inspect_is_doubtful(record, INSPECT_OPERATION_ID)) id.length = 0;
    tally_note(&collector->tally, INSPECT_DUPLICATE_REQUEST_ID, id, record->line,
               "delivered again, long after the operation was complete");
}

/* The operation of this record; NULL when it left long ago, or when there is no memory. */
static struct operation *operation_of(struct inspect_collector *collector,
                                      const struct inspect_record *record,
                                      const struct entry *entry, bool *no_memory)
{
    struct belay_slice id = record->operation_id;
    uint64_t hash = hash_bytes(collector->seed, id);
    struct operation *operation = table_find(&collector->table, hash, id);
    if (operation) {
        table_touch(&collector->table, operation);
        return operation;
    }
    enum table_left left = table_recall(&collector->table, hash);
    if (left == TABLE_LEFT_WITHOUT_ENDING && record->kind == INSPECT_OPERATION) {
        table_recall_ending(&collector->table, hash);
        tally_count_ending(&collector->tally, entry);
        return NULL;
    }
    if (left != TABLE_NEVER_SEEN) {
        note_late(collector, record);
        return NULL;
    }
    struct operation *surplus;
    while ((surplus = table_surplus(&collector->table))) let_go(collector, surplus);
    operation = table_insert(&collector->table, hash, id);
    *no_memory = !operation;
    return operation;
}

static bool collect_entry(struct inspect_collector *collector, const struct inspect_record *record)
{
    struct entry entry;
    bool no_memory = false;
    fill_entry(collector, record, &entry);
    if (record->operation_id.length == 0) {
        see_time(collector, record, &entry);
        note_line(collector, record);
        if (record->kind == INSPECT_ATTEMPT) {
            tally_count_attempt(&collector->tally, &entry, start_of(record), entry.number > 1);
        } else {
            tally_count_ending(&collector->tally, &entry);
        }
        return true;
    }
    struct operation *operation = operation_of(collector, record, &entry, &no_memory);
    if (!operation) return !no_memory;
    enum operation_added added = operation_add(operation, &entry, start_of(record));
    if (added == OPERATION_NO_MEMORY) return false;
    if (added == OPERATION_REPEAT) {
        collector->counts.repeated_records++;
        return true;
    }
    see_time(collector, record, &entry);
    note_line(collector, record);
    if (inspect_is_doubtful(record, INSPECT_OPERATION_ID)) operation->flags |= OPERATION_HIDDEN;
    if (operation->lender == 0) operation->lender = lender_of(collector, record);
    meet_siblings(collector, operation, record);
    table_sort(&collector->table, operation);
    return true;
}

static void collect_state_check(struct inspect_collector *collector,
                                const struct inspect_record *record)
{
    struct belay_slice id = record->operation_id;
    note_line(collector, record);
    struct operation *operation =
        table_find(&collector->table, hash_bytes(collector->seed, id), id);
    if (operation) operation->flags |= OPERATION_CHECKED;
}

bool inspect_collect(struct inspect_collector *collector, const struct inspect_record *record)
{
    struct inspect_report *counts = &collector->counts;
    counts->records++;
    counts->wrong_type += record->wrong_type != 0;
    counts->wrong_word += record->wrong_word != 0;
    switch (record->kind) {
    case INSPECT_LOST:
        counts->lost_records += (uint64_t)(record->records > 0 ? record->records : 0);
        return true;
    case INSPECT_UNKNOWN:
        counts->unknown_version += record->other_version;
        counts->unknown_event += !record->other_version;
        return true;
    case INSPECT_MERGED:
        if (record->attempt > 0 && record->operation_id.length > 0) break; /* one of its attempts */
        note_line(collector, record);
        return true;
    case INSPECT_STATE_CHECK: collect_state_check(collector, record); return true;
    case INSPECT_ATTEMPT:
    case INSPECT_OPERATION: break;
    }
    if (collect_entry(collector, record)) return true;
    counts->lost_records++;
    return false;
}

/* --- the report --- */

static void mark_lenders(struct inspect_collector *collector, const struct list *head)
{
    for (const struct list *node = head->next; node != head; node = node->next) {
        uint64_t hash = CONTAINER_OF(node, struct operation, place)->lender;
        struct operation *lender = hash == 0 ? NULL : table_find_hash(&collector->table, hash);
        if (lender) lender->flags |= OPERATION_LENDS;
    }
}

static void judge_list(struct inspect_collector *collector, const struct list *head)
{
    for (const struct list *node = head->next; node != head; node = node->next) {
        const struct operation *operation = CONTAINER_OF(node, struct operation, place);
        judge_operation(&collector->judge, &collector->final, operation, false);
    }
}

static int by_operations(const void *left, const void *right)
{
    const struct inspect_target *a = left, *b = right;
    if (a->operations != b->operations) return a->operations > b->operations ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void publish_target(const struct tally_target *from, struct inspect_target *to)
{
    *to = from->shown;
    to->name = from->name;
    to->series = from->series.shown;
    if (from->first_ms == NO_TIME_MS) return;
    uint64_t busy_ms = 0;
    for (size_t point = 0; point < to->series.count; point++) busy_ms += to->series.busy_ms[point];
    int64_t whole_ms = from->last_ms > from->first_ms ? from->last_ms - from->first_ms : 1;
    to->concurrency_mean = (double)busy_ms / (double)whole_ms;
    to->concurrency_peak = series_peak(&from->series);
}

static bool publish_targets(struct inspect_collector *collector)
{
    size_t count = 0;
    struct tally *final = &collector->final;
    free(collector->targets);
    collector->targets = calloc(final->target_count + 1, sizeof *collector->targets);
    if (!collector->targets) return false;
    for (size_t i = 0; i < final->target_count; i++) {
        publish_target(&final->targets[i], &collector->targets[count]);
        /* A name that stood in no attempt and no operation, as that of a repeat. */
        count += collector->targets[count].operations + collector->targets[count].attempts > 0;
    }
    qsort(collector->targets, count, sizeof *collector->targets, by_operations);
    collector->report.targets = collector->targets;
    collector->report.target_count = count;
    return true;
}

static void publish_anomalies(const struct tally *final, struct inspect_report *report)
{
    for (size_t kind = 0; kind < INSPECT_ANOMALY_COUNT; kind++) {
        const struct tally_shelf *shelf = &final->shelves[kind];
        struct inspect_anomaly *anomaly = &report->anomalies[kind];
        anomaly->count = shelf->count;
        anomaly->examples = shelf->examples;
        for (size_t i = 0; i < shelf->examples; i++) {
            anomaly->operation_ids[i] = shelf->example[i].id;
            anomaly->lines[i] = shelf->example[i].line;
            anomaly->detail[i] = shelf->example[i].detail;
        }
    }
}

const struct inspect_report *inspect_collector_report(struct inspect_collector *collector)
{
    tally_deinit(&collector->final);
    if (!tally_clone(&collector->tally, &collector->final)) return NULL;
    mark_lenders(collector, &collector->table.ended);
    mark_lenders(collector, &collector->table.open);
    judge_list(collector, &collector->table.ended);
    judge_list(collector, &collector->table.open);
    judge_budgets(&collector->judge, &collector->final);
    collector->report = collector->counts;
    if (!publish_targets(collector)) return NULL;
    publish_anomalies(&collector->final, &collector->report);
    collector->report.open_operations = collector->final.open_operations;
    if (collector->judge.written_to_ms != NO_TIME_MS) {
        collector->report.last.ns = belay_span_ms(collector->judge.written_to_ms).ns;
    }
    return &collector->report;
}
