/* table.c: the operations of a log by id, in bounded memory (table.h). */
#include "inspect/table.h"

#include "base/check.h"
#include <stdlib.h>

#define SLOTS_MIN 1024
#define ENDED_MAX 65536
#define LEFT_SETS (1U << 18)
#define LEFT_WAYS 4 /* a set holds the latest of those that share it */

static bool resize(struct table *table, size_t slots)
{
    struct operation **old = table->slots;
    size_t old_count = old ? table->mask + 1 : 0;
    struct operation **fresh = calloc(slots, sizeof(struct operation *));
    uint32_t *tags = calloc(slots, sizeof *tags);
    if (!fresh || !tags) {
        free(fresh);
        free(tags);
        return false;
    }
    for (size_t i = 0; i < old_count; i++) {
        if (!old[i]) continue;
        size_t slot = old[i]->hash & (slots - 1);
        while (fresh[slot]) slot = (slot + 1) & (slots - 1);
        fresh[slot] = old[i];
        tags[slot] = (uint32_t)(old[i]->hash >> 32);
    }
    free(old);
    free(table->tags);
    table->slots = fresh;
    table->tags = tags;
    table->mask = slots - 1;
    return true;
}

bool table_init(struct table *table, size_t count_max)
{
    *table = (struct table){.count_max = count_max};
    list_init(&table->open);
    list_init(&table->ended);
    table->ended_max = count_max / 2 < ENDED_MAX ? count_max / 2 : ENDED_MAX;
    table->left = calloc(LEFT_SETS * LEFT_WAYS, sizeof *table->left);
    if (table->left && resize(table, SLOTS_MIN)) return true;
    table_deinit(table);
    return false;
}

static void destroy_all(struct list *head)
{
    struct list *next;
    for (struct list *node = head->next; node != head; node = next) {
        next = node->next;
        operation_destroy(CONTAINER_OF(node, struct operation, place));
    }
    list_init(head);
}

void table_deinit(struct table *table)
{
    destroy_all(&table->open);
    destroy_all(&table->ended);
    free(table->slots);
    free(table->tags);
    free(table->left);
    table->slots = NULL;
    table->tags = NULL;
    table->left = NULL;
}

static bool has_id(const struct operation *operation, struct belay_slice id)
{
    if (id.length > BELAY_OPERATION_ID_MAX) id.length = BELAY_OPERATION_ID_MAX;
    return belay_slice_equal(belay_slice(operation->id, operation->id_length), id);
}

struct operation *table_find(const struct table *table, uint64_t hash, struct belay_slice id)
{
    uint32_t tag = (uint32_t)(hash >> 32);
    for (size_t slot = hash & table->mask; table->slots[slot]; slot = (slot + 1) & table->mask) {
        if (table->tags[slot] != tag) continue;
        struct operation *operation = table->slots[slot];
        if (operation->hash == hash && has_id(operation, id)) return operation;
    }
    return NULL;
}

struct operation *table_find_hash(const struct table *table, uint64_t hash)
{
    for (size_t slot = hash & table->mask; table->slots[slot]; slot = (slot + 1) & table->mask) {
        if (table->slots[slot]->hash == hash) return table->slots[slot];
    }
    return NULL;
}

struct operation *table_insert(struct table *table, uint64_t hash, struct belay_slice id)
{
    CHECK(table->count < table->count_max);
    if (table->count * 4 >= (table->mask + 1) * 3 && !resize(table, 2 * (table->mask + 1))) {
        return NULL;
    }
    struct operation *operation = operation_create(hash, id);
    if (!operation) return NULL;
    size_t slot = hash & table->mask;
    while (table->slots[slot]) slot = (slot + 1) & table->mask;
    table->slots[slot] = operation;
    table->tags[slot] = (uint32_t)(hash >> 32);
    table->count++;
    list_push_back(&table->open, &operation->place);
    return operation;
}

void table_touch(struct table *table, struct operation *operation)
{
    if (operation->flags & OPERATION_ENDED) return;
    list_remove(&operation->place);
    list_push_back(&table->open, &operation->place);
}

void table_sort(struct table *table, struct operation *operation)
{
    bool was_ended = operation->flags & OPERATION_ENDED;
    bool is_ended = operation_is_complete(operation);
    if (was_ended == is_ended) return;
    list_remove(&operation->place);
    operation->flags ^= OPERATION_ENDED;
    list_push_back(is_ended ? &table->ended : &table->open, &operation->place);
    table->ended_count = is_ended ? table->ended_count + 1 : table->ended_count - 1;
}

struct operation *table_surplus(const struct table *table)
{
    bool full = table->count == table->count_max;
    const struct list *from = &table->ended;
    if (table->ended_count <= table->ended_max && !full) return NULL;
    if (list_empty(from)) from = &table->open;
    return CONTAINER_OF(from->next, struct operation, place);
}

static uint64_t *left_set(const struct table *table, uint64_t hash)
{
    return &table->left[((hash >> 1) & (LEFT_SETS - 1)) * LEFT_WAYS];
}

static void remember(struct table *table, const struct operation *operation)
{
    uint64_t *ways = left_set(table, operation->hash);
    memmove(&ways[1], &ways[0], (LEFT_WAYS - 1) * sizeof *ways);
    ways[0] = (operation->hash & ~UINT64_C(1)) | operation_has_ending(operation);
}

/* Moves up what had to be put further on because the slot was taken (Knuth, 6.4, algorithm R). */
static void close_hole(struct table *table, size_t hole)
{
    for (size_t slot = (hole + 1) & table->mask; table->slots[slot];
         slot = (slot + 1) & table->mask) {
        size_t home = table->slots[slot]->hash & table->mask;
        if (((slot - home) & table->mask) < ((slot - hole) & table->mask)) continue;
        table->slots[hole] = table->slots[slot];
        table->tags[hole] = table->tags[slot];
        hole = slot;
    }
    table->slots[hole] = NULL;
}

void table_remove(struct table *table, struct operation *operation)
{
    size_t slot = operation->hash & table->mask;
    while (table->slots[slot] != operation) slot = (slot + 1) & table->mask;
    close_hole(table, slot);
    table->count--;
    if (operation->flags & OPERATION_ENDED) {
        table->ended_count--;
        remember(table, operation);
    }
    list_remove(&operation->place);
    operation_destroy(operation);
}

static uint64_t *find_left(const struct table *table, uint64_t hash)
{
    uint64_t *ways = left_set(table, hash);
    for (size_t way = 0; way < LEFT_WAYS; way++) {
        if (ways[way] != 0 && ways[way] >> 1 == hash >> 1) return &ways[way];
    }
    return NULL;
}

enum table_left table_recall(const struct table *table, uint64_t hash)
{
    const uint64_t *known = find_left(table, hash);
    if (!known) return TABLE_NEVER_SEEN;
    return *known & 1 ? TABLE_LEFT : TABLE_LEFT_WITHOUT_ENDING;
}

void table_recall_ending(struct table *table, uint64_t hash)
{
    uint64_t *known = find_left(table, hash);
    if (known) *known |= 1;
}
