/* table.h: the operations of a log by id, in bounded memory.
 *
 * Open addressing with linear probing over a keyed hash. Two lists: operations that are open, the
 * one touched longest ago first; and those that are complete, in the order they became so, kept for
 * a while because a log may say things late or twice. What has left altogether is remembered by its
 * hash alone, in a fixed array that forgets the oldest by and by.
 * Every operation here is O(1). Ownership: the table owns the operations.
 */
#ifndef INSPECT_TABLE_H
#define INSPECT_TABLE_H

#include "inspect/operation.h"

struct table {
    struct operation **slots; /* NULL: free */
    uint32_t *tags;           /* upper half of the hash, so that most probes touch no operation */
    size_t mask, count, count_max;
    struct list open, ended;
    size_t ended_count, ended_max;
    uint64_t *left; /* hashes; the lowest bit says whether the ending was seen */
};

/* False: no memory. */
bool table_init(struct table *table, size_t count_max);
void table_deinit(struct table *table);

struct operation *table_find(const struct table *table, uint64_t hash, struct belay_slice id);
struct operation *table_find_hash(const struct table *table, uint64_t hash);
/* The table must not be full. NULL: no memory. */
struct operation *table_insert(struct table *table, uint64_t hash, struct belay_slice id);
void table_touch(struct table *table, struct operation *operation);
/* Moves between the lists as operation_is_complete says. */
void table_sort(struct table *table, struct operation *operation);
/* The operation that should go now: NULL while there is room for one more. */
struct operation *table_surplus(const struct table *table);
/* Forgets all but the hash, and that only of a complete operation. */
void table_remove(struct table *table, struct operation *operation);

enum table_left { TABLE_NEVER_SEEN, TABLE_LEFT_WITHOUT_ENDING, TABLE_LEFT };
enum table_left table_recall(const struct table *table, uint64_t hash);
void table_recall_ending(struct table *table, uint64_t hash); /* it has come now */

#endif
