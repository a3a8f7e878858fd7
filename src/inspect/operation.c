/* operation.c: keeps the entries of one operation (operation.h). */
#include "inspect/operation.h"

#include <stdlib.h>

struct operation *operation_create(uint64_t hash, struct belay_slice id)
{
    size_t length = id.length < BELAY_OPERATION_ID_MAX ? id.length : BELAY_OPERATION_ID_MAX;
    struct operation *operation = malloc(sizeof *operation + length);
    if (!operation) return NULL;
    *operation = (struct operation){.hash = hash,
                                    .base_ms = NO_TIME_MS,
                                    .sibling_at_ms = NO_TIME_MS,
                                    .id_length = (uint8_t)length};
    list_init(&operation->place);
    if (length > 0) memcpy(operation->id, id.data, length);
    return operation;
}

void operation_destroy(struct operation *operation)
{
    free(operation->entries);
    free(operation);
}

static int32_t after_base(struct operation *operation, int64_t start_ms)
{
    if (start_ms == NO_TIME_MS) return ENTRY_NO_TIME;
    if (operation->base_ms == NO_TIME_MS) operation->base_ms = start_ms;
    int64_t after = start_ms - operation->base_ms;
    if (after > INT32_MAX) return INT32_MAX;
    return after <= INT32_MIN ? INT32_MIN + 1 : (int32_t)after;
}

static bool make_room(struct operation *operation)
{
    if (operation->count < operation->capacity) return true;
    size_t capacity = operation->capacity == 0 ? 2U : operation->capacity + 2U;
    struct entry *entries = realloc(operation->entries, capacity * sizeof *entries);
    if (!entries) return false;
    operation->entries = entries;
    operation->capacity = (uint8_t)capacity;
    return true;
}

enum operation_added operation_add(struct operation *operation, const struct entry *entry,
                                   int64_t start_ms)
{
    for (size_t i = 0; i < operation->count; i++) {
        if (operation->entries[i].print != entry->print) continue;
        operation->entries[i].flags |= ENTRY_REPEATED;
        return OPERATION_REPEAT;
    }
    if (operation->count == OPERATION_ENTRIES_MAX) {
        operation->uncounted += !entry_is_ending(entry);
        return OPERATION_FULL;
    }
    if (!make_room(operation)) return OPERATION_NO_MEMORY;
    struct entry *added = &operation->entries[operation->count++];
    *added = *entry;
    added->start_ms = after_base(operation, start_ms);
    return OPERATION_ADDED;
}

static bool ends(const struct entry *entry)
{
    return entry_is_ending(entry) ||
           (entry->decision != ENTRY_NO_WORD && entry->decision != BELAY_DECISION_RETRY &&
            entry->decision != BELAY_DECISION_CHECK_STATE);
}

bool operation_has_ending(const struct operation *operation)
{
    for (size_t i = 0; i < operation->count; i++) {
        if (entry_is_ending(&operation->entries[i])) return true;
    }
    return false;
}

bool operation_is_complete(const struct operation *operation)
{
    uint64_t seen = 0;
    unsigned made = 0;
    bool has_end = false;
    for (size_t i = 0; i < operation->count; i++) {
        const struct entry *entry = &operation->entries[i];
        if (entry->number > OPERATION_ENTRIES_MAX) return false;
        if (entry->number > made) made = entry->number;
        has_end |= ends(entry);
        if (entry_is_ending(entry)) continue;
        if (entry->number == 0) return false;
        seen |= UINT64_C(1) << (entry->number - 1);
    }
    return has_end && (made == 0 || seen == UINT64_MAX >> (OPERATION_ENTRIES_MAX - made));
}
