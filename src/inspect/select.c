/* select.c: takes or leaves records by operation, target, route, time and decision (select.h). */
#include "inspect/select.h"

#include "base/check.h"
#include "inspect/hash.h"
#include "inspect/wall.h"

#include <stdlib.h>
#include <sys/random.h>

#define RECENT_SLOTS ((size_t)1 << 17)
#define SET_SLOTS_MIN 1024

/* Hashes in open addressing, at most half full. */
struct set {
    uint64_t *slots; /* 0: free */
    size_t count, capacity, count_max;
};

struct inspect_select {
    struct inspect_selection wanted;
    uint64_t seed;
    struct set chosen; /* operations that had the decision */
    /* Where operations began, in or out of the window (the lowest bit): the latest in each slot. */
    uint64_t *recent;
};

struct inspect_select *inspect_select_create(const struct inspect_selection *selection,
                                             size_t operations_max)
{
    struct inspect_select *select = calloc(1, sizeof *select);
    if (!select) return NULL;
    select->wanted = *selection;
    select->chosen.count_max = operations_max;
    if (getrandom(&select->seed, sizeof select->seed, 0) < 0) select->seed = 1;
    if (!selection->has_since && !selection->has_until) return select;
    select->recent = calloc(RECENT_SLOTS, sizeof *select->recent);
    if (select->recent) return select;
    free(select);
    return NULL;
}

void inspect_select_destroy(struct inspect_select *select)
{
    if (!select) return;
    free(select->chosen.slots);
    free(select->recent);
    free(select);
}

/* ---- the set ---- */

static uint64_t *slot_of(const struct set *set, uint64_t hash)
{
    size_t at = (size_t)(hash >> 16) & (set->capacity - 1); /* the lowest bits are all the same */
    while (set->slots[at] != 0 && set->slots[at] != hash) at = (at + 1) & (set->capacity - 1);
    return &set->slots[at];
}

static bool grow(struct set *set)
{
    struct set larger = *set;
    larger.capacity = set->capacity ? set->capacity * 2 : SET_SLOTS_MIN;
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots) return false;
    for (size_t i = 0; i < set->capacity; i++) {
        if (set->slots[i] != 0) *slot_of(&larger, set->slots[i]) = set->slots[i];
    }
    free(set->slots);
    *set = larger;
    return true;
}

static bool set_add(struct set *set, uint64_t hash)
{
    if (set->count * 2 >= set->capacity && !grow(set)) return false;
    uint64_t *slot = slot_of(set, hash);
    if (*slot == hash) return true;
    if (set->count == set->count_max) return false;
    *slot = hash;
    set->count++;
    return true;
}

static bool set_has(const struct set *set, uint64_t hash)
{
    return set->capacity > 0 && *slot_of(set, hash) == hash;
}

/* ---- records ---- */

static bool is(const struct inspect_record *record, enum inspect_field field,
               struct belay_slice value, const char *wanted)
{
    return !wanted ||
           (inspect_has(record, field) && belay_slice_equal(value, belay_slice_z(wanted)));
}

static bool names_match(const struct inspect_selection *wanted, const struct inspect_record *record)
{
    return is(record, INSPECT_OPERATION_ID, record->operation_id, wanted->operation_id) &&
           is(record, INSPECT_TARGET, record->target, wanted->target) &&
           is(record, INSPECT_ROUTE, record->route, wanted->route);
}

/* Never 0, and with a free lowest bit. */
static uint64_t operation_hash(const struct inspect_select *select,
                               const struct inspect_record *record)
{
    return hash_bytes(select->seed, record->operation_id) << 1 | 2;
}

static bool in_window(const struct inspect_selection *wanted, const struct inspect_record *record)
{
    return inspect_has(record, INSPECT_TIME) &&
           (!wanted->has_since || record->time.ns >= wanted->since.ns) &&
           (!wanted->has_until || record->time.ns < wanted->until.ns);
}

/* A later attempt goes where its operation's beginning went. */
static bool time_matches(struct inspect_select *select, const struct inspect_record *record)
{
    if (!select->recent) return true;
    bool inside = in_window(&select->wanted, record);
    if (!inspect_has(record, INSPECT_OPERATION_ID)) return inside;
    uint64_t hash = operation_hash(select, record);
    uint64_t *slot = &select->recent[(hash >> 16) & (RECENT_SLOTS - 1)];
    if ((*slot & ~UINT64_C(1)) == hash) return *slot & 1;
    *slot = hash | inside;
    return inside;
}

bool inspect_select_note(struct inspect_select *select, const struct inspect_record *record)
{
    if (!inspect_has(record, INSPECT_DECISION) || record->decision != select->wanted.decision ||
        !inspect_has(record, INSPECT_OPERATION_ID) || !names_match(&select->wanted, record))
        return true;
    return set_add(&select->chosen, operation_hash(select, record));
}

static bool decision_matches(const struct inspect_select *select,
                             const struct inspect_record *record)
{
    if (!select->wanted.has_decision) return true;
    if (inspect_has(record, INSPECT_OPERATION_ID))
        return set_has(&select->chosen, operation_hash(select, record));
    return inspect_has(record, INSPECT_DECISION) && record->decision == select->wanted.decision;
}

bool inspect_select_takes(struct inspect_select *select, const struct inspect_record *record)
{
    return names_match(&select->wanted, record) && decision_matches(select, record) &&
           time_matches(select, record);
}

/* ---- when ---- */

bool inspect_when_parse(const char *text, struct belay_wall now, struct belay_wall *out)
{
    static const struct {
        const char *name;
        int64_t ms;
    } UNITS[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 12) return wall_parse(belay_slice_z(text), out);
    int64_t number = strtoll(text, NULL, 10);
    for (size_t i = 0; i < COUNT(UNITS); i++) {
        if (strcmp(text + digits, UNITS[i].name) != 0) continue;
        int64_t ms;
        if (__builtin_mul_overflow(number, UNITS[i].ms, &ms)) ms = INT64_MAX;
        out->ns = belay_ns_sub(now.ns, belay_span_ms(ms).ns);
        return true;
    }
    return wall_parse(belay_slice_z(text), out);
}
