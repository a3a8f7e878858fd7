/* contract.c: counts what records lack against the event catalogue (contract.h). */
#include "inspect/contract.h"

#include "event/catalogue.h"
#include "inspect/fields.h"
#include "inspect/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

/* Places for operations of which one half of the end was seen; half of them are used. */
#define AWAITED_MAX 65536
#define TAIL_LINES 4096 /* so near the end a record may still be on its way */
#define FIELD_RULES (INSPECT_LACK_REPEATED + 1)

enum form { FORM_ATTEMPT, FORM_OPERATION, FORM_LOST, FORM_COUNT };

static const char *const FORM_NAMES[] = {"attempt", "operation", "lost"};
static const struct event_record *const CATALOGUES[] = {
    &event_attempt_record, &event_operation_record, &event_lost_record};

/* Fields that are not required, but without which less can be told. */
#define ADVISED                                                                                    \
    (INSPECT_BIT(INSPECT_V) | INSPECT_BIT(INSPECT_TIME) | INSPECT_BIT(INSPECT_TARGET) |            \
     INSPECT_BIT(INSPECT_SENT) | INSPECT_BIT(INSPECT_REASON) | INSPECT_BIT(INSPECT_PHASE) |        \
     INSPECT_BIT(INSPECT_WAIT) | INSPECT_BIT(INSPECT_WAIT_SOURCE))

struct tally {
    uint64_t count, of, line;
};

/* An open place has hash 0. */
struct awaited {
    uint64_t hash, line;
    bool ended; /* its last attempt was seen; else its record was */
};

struct inspect_contract {
    struct tally fields[FORM_COUNT][INSPECT_FIELD_COUNT][FIELD_RULES];
    struct tally rules[INSPECT_LACK_RULE_COUNT];
    uint64_t seed; /* of the table of operations, whose ids strangers choose */
    uint64_t records[FORM_COUNT], others, last_line;
    size_t awaited_count;
    struct awaited awaited[AWAITED_MAX];
    struct inspect_contract_result result;
};

struct inspect_contract *inspect_contract_create(void)
{
    struct inspect_contract *contract = calloc(1, sizeof *contract);
    if (contract && getrandom(&contract->seed, sizeof contract->seed, 0) < 0) contract->seed = 1;
    return contract;
}

void inspect_contract_destroy(struct inspect_contract *contract)
{
    free(contract);
}

static void note(struct tally *tally, bool lacking, uint64_t line)
{
    tally->of++;
    if (!lacking) return;
    if (tally->count++ == 0) tally->line = line;
}

/* ---- fields ---- */

static enum inspect_field field_of_key(const struct event_field *field)
{
    const char *name = field->key + 2; /* behind `,"` */
    return (enum inspect_field)field_find(belay_slice(name, field->key_bytes - 4u))->field;
}

/* Is a record like this one expected to have the field? */
static bool expected(const struct event_field *field, const struct inspect_record *record)
{
    switch ((enum event_presence)field->presence) {
    case EVENT_ALWAYS: return true;
    case EVENT_IF_SET:
        if (field_of_key(field) == INSPECT_PHASE) return record->error != BELAY_ERROR_NONE;
        return (ADVISED & INSPECT_BIT(field_of_key(field))) != 0;
    case EVENT_IF_RETRY:
    case EVENT_IF_WAIT: /* a stale connection's retry has no wait, and so no source of one */
        return record->present & INSPECT_BIT(INSPECT_DECISION) &&
               record->decision == BELAY_DECISION_RETRY &&
               record->reason != BELAY_REASON_STALE_CONNECTION;
    case EVENT_IF_HINT: return false;
    }
    return false;
}

static void add_fields(struct inspect_contract *contract, enum form form,
                       const struct inspect_record *record)
{
    uint32_t there = record->present | record->wrong_type | record->wrong_word;
    for (size_t i = 0; i < CATALOGUES[form]->count; i++) {
        const struct event_field *field = &CATALOGUES[form]->fields[i];
        enum inspect_field which = field_of_key(field);
        struct tally *tallies = contract->fields[form][which];
        uint32_t bit = INSPECT_BIT(which);
        if (expected(field, record))
            note(&tallies[INSPECT_LACK_MISSING], !(there & bit), record->line);
        if (!(there & bit)) continue;
        note(&tallies[INSPECT_LACK_TYPE], (record->wrong_type & bit) != 0, record->line);
        note(&tallies[INSPECT_LACK_WORD], (record->wrong_word & bit) != 0, record->line);
        note(&tallies[INSPECT_LACK_REPEATED], (record->repeated & bit) != 0, record->line);
    }
}

/* ---- operations and their records ---- */

/* Closes the gap, so that no search ends too early. */
static void remove_awaited(struct inspect_contract *contract, size_t at)
{
    contract->awaited_count--;
    for (size_t next = (at + 1) % AWAITED_MAX; contract->awaited[next].hash != 0;
         next = (next + 1) % AWAITED_MAX) {
        size_t home = contract->awaited[next].hash / 2 % AWAITED_MAX;
        bool may_move = at <= next ? home <= at || home > next : home <= at && home > next;
        if (!may_move) continue;
        contract->awaited[at] = contract->awaited[next];
        at = next;
    }
    contract->awaited[at].hash = 0;
}

/* One half of an operation's end; the other may stand before it or behind it. */
static void await(struct inspect_contract *contract, const struct inspect_record *record,
                  bool ended)
{
    uint64_t hash = hash_bytes(contract->seed, record->operation_id) | 1;
    size_t at = hash / 2 % AWAITED_MAX;
    while (contract->awaited[at].hash != 0 && contract->awaited[at].hash != hash) {
        at = (at + 1) % AWAITED_MAX;
    }
    if (contract->awaited[at].hash == hash) {
        if (contract->awaited[at].ended != ended) remove_awaited(contract, at);
        return;
    }
    if (contract->awaited_count == AWAITED_MAX / 2) return;
    contract->awaited_count++;
    contract->awaited[at] = (struct awaited){hash, record->line, ended};
}

/* ---- records ---- */

/* <operationId>/attempt-<n> */
static bool request_id_fits(const struct inspect_record *record)
{
    char tail[32];
    struct belay_slice id = record->request_id, operation = record->operation_id;
    int length = snprintf(tail, sizeof tail, "/attempt-%" PRIu32, record->attempt);
    return id.length == operation.length + (size_t)length &&
           memcmp(id.data, operation.data, operation.length) == 0 &&
           memcmp(id.data + operation.length, tail, (size_t)length) == 0;
}

static void add_attempt(struct inspect_contract *contract, const struct inspect_record *record)
{
    struct tally *rules = contract->rules;
    if (inspect_has(record, INSPECT_STATUS) && inspect_has(record, INSPECT_ERROR_CLASS)) {
        bool status = record->status != 0, error = record->error != BELAY_ERROR_NONE;
        note(&rules[INSPECT_LACK_BOTH], status && error, record->line);
        note(&rules[INSPECT_LACK_NEITHER], !status && !error, record->line);
    }
    if (inspect_has(record, INSPECT_OPERATION_ID) && inspect_has(record, INSPECT_REQUEST_ID) &&
        inspect_has(record, INSPECT_ATTEMPT_NUMBER))
        note(&rules[INSPECT_LACK_REQUEST_ID], !request_id_fits(record), record->line);
    if (inspect_has(record, INSPECT_OPERATION_ID) && inspect_has(record, INSPECT_DECISION) &&
        record->decision != BELAY_DECISION_RETRY)
        await(contract, record, true);
}

/* Without an attempt nothing stands before it; ended by a gate while waiting, its last attempt said
 * retry. */
static void add_operation(struct inspect_contract *contract, const struct inspect_record *record)
{
    bool attempted = inspect_has(record, INSPECT_ATTEMPTS) && record->attempts > 0;
    if (inspect_has(record, INSPECT_OPERATION_ID) && attempted) await(contract, record, false);
}

void inspect_contract_add(struct inspect_contract *contract, const struct inspect_record *record)
{
    static const enum form FORMS[] = {
        [INSPECT_ATTEMPT] = FORM_ATTEMPT,   [INSPECT_OPERATION] = FORM_OPERATION,
        [INSPECT_STATE_CHECK] = FORM_COUNT, [INSPECT_LOST] = FORM_LOST,
        [INSPECT_UNKNOWN] = FORM_COUNT,     [INSPECT_MERGED] = FORM_COUNT};
    struct tally *rules = contract->rules;
    enum form form = FORMS[record->kind];
    contract->last_line = record->line;
    bool unknown = record->kind == INSPECT_UNKNOWN;
    note(&rules[INSPECT_LACK_MERGED], record->kind == INSPECT_MERGED, record->line);
    note(&rules[INSPECT_LACK_VERSION], unknown && record->other_version, record->line);
    note(&rules[INSPECT_LACK_EVENT], unknown && !record->other_version, record->line);
    note(&rules[INSPECT_LACK_FULL_URL], record->full_url || record->foreign_full_url, record->line);
    note(&rules[INSPECT_LACK_SECRET], record->secret || record->foreign_secret, record->line);
    if (form == FORM_COUNT) {
        contract->others++;
        return;
    }
    contract->records[form]++;
    add_fields(contract, form, record);
    if (form == FORM_ATTEMPT) add_attempt(contract, record);
    if (form == FORM_OPERATION) add_operation(contract, record);
}

/* ---- the result ---- */

static void lack(struct inspect_contract *contract, struct inspect_lack lack)
{
    struct inspect_contract_result *result = &contract->result;
    if (lack.count == 0 || result->count == INSPECT_LACKS_MAX) return;
    if (lack.required) result->ok = false;
    result->lacks[result->count++] = lack;
}

static void lack_fields(struct inspect_contract *contract, enum form form)
{
    for (size_t i = 0; i < CATALOGUES[form]->count; i++) {
        enum inspect_field which = field_of_key(&CATALOGUES[form]->fields[i]);
        for (unsigned rule = 0; rule < FIELD_RULES; rule++) {
            struct tally tally = contract->fields[form][which][rule];
            bool advised = rule == INSPECT_LACK_MISSING && ADVISED & INSPECT_BIT(which);
            lack(contract, (struct inspect_lack){(enum inspect_lack_rule)rule, FORM_NAMES[form],
                                                 field_of(which)->name, !advised, tally.count,
                                                 tally.of, tally.line});
        }
    }
}

/* A log that is still written ends between an operation's last attempt and its record; a few of
 * those, all at the end, are no fault of the writer's. */
static void lack_operations(struct inspect_contract *contract)
{
    struct tally missing = {0};
    for (size_t i = 0; i < AWAITED_MAX; i++) {
        const struct awaited *awaited = &contract->awaited[i];
        if (awaited->hash == 0 || !awaited->ended) continue;
        missing.count++;
        if (missing.line == 0 || awaited->line < missing.line) missing.line = awaited->line;
    }
    bool at_the_end = missing.line + TAIL_LINES >= contract->last_line &&
                      missing.count * 10 < contract->records[FORM_OPERATION];
    lack(contract, (struct inspect_lack){INSPECT_LACK_OPERATION, "operation", NULL, !at_the_end,
                                         missing.count, 0, missing.line});
}

const struct inspect_contract_result *inspect_contract_result(struct inspect_contract *contract,
                                                              const struct inspect_reading *reading)
{
    struct inspect_contract_result *result = &contract->result;
    const uint64_t *records = contract->records;
    uint64_t all = contract->others;
    for (int form = 0; form < FORM_COUNT; form++) all += records[form];
    *result = (struct inspect_contract_result){
        .ok = true,
        .attempts = records[FORM_ATTEMPT],
        .operations = records[FORM_OPERATION],
        .lost = records[FORM_LOST],
        .others = contract->others,
    };
    lack(contract, (struct inspect_lack){INSPECT_LACK_NOTHING, NULL, NULL, true, all == 0, 0, 0});
    for (int form = 0; form < FORM_COUNT; form++) lack_fields(contract, (enum form)form);
    for (unsigned rule = INSPECT_LACK_BOTH; rule < INSPECT_LACK_JUNK; rule++) {
        struct tally tally = contract->rules[rule];
        bool of_attempts = rule <= INSPECT_LACK_REQUEST_ID;
        if (rule == INSPECT_LACK_OPERATION) {
            lack_operations(contract);
            continue;
        }
        lack(contract, (struct inspect_lack){
                           (enum inspect_lack_rule)rule, of_attempts ? "attempt" : NULL, NULL,
                           rule != INSPECT_LACK_REQUEST_ID, tally.count, tally.of, tally.line});
    }
    if (reading)
        lack(contract,
             (struct inspect_lack){INSPECT_LACK_JUNK, NULL, NULL, true, reading->junk_lines, 0, 0});
    return result;
}
