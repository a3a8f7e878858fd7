/* flaky_counts.c: what `belay flaky` was sent, by operation or key, in a table of bounded size. */
#include "app/flaky_counts.h"

#include "base/hash.h"

#include <stdlib.h>

/* Entries are a ring in the order of their coming; chains by hash hold indices + 1, 0 is the end.
 */
struct flaky_counts {
    struct flaky_tally totals;
    uint64_t forgotten;
    uint32_t entries_max, buckets; /* buckets: a power of two */
    uint32_t used, oldest;
    uint32_t *chains;
    struct flaky_entry entries[];
};

struct flaky_counts *flaky_counts_create(uint32_t entries_max)
{
    uint32_t buckets = 1;
    while (buckets < entries_max) buckets *= 2;
    struct flaky_counts *counts =
        calloc(1, sizeof *counts + entries_max * sizeof counts->entries[0]);
    uint32_t *chains = calloc(buckets, sizeof *chains);
    if (!counts || !chains) {
        free(counts);
        free(chains);
        return NULL;
    }
    counts->entries_max = entries_max;
    counts->buckets = buckets;
    counts->chains = chains;
    return counts;
}

void flaky_counts_destroy(struct flaky_counts *counts)
{
    free(counts->chains);
    free(counts);
}

void flaky_counts_reset(struct flaky_counts *counts)
{
    memset(counts->chains, 0, counts->buckets * sizeof *counts->chains);
    counts->totals = (struct flaky_tally){0};
    counts->forgotten = 0;
    counts->used = counts->oldest = 0;
}

static uint32_t *chain_of(const struct flaky_counts *counts, struct belay_slice name)
{
    uint64_t hash = hash_bytes(name);
    return &counts->chains[(hash ^ (hash >> 32)) & (counts->buckets - 1)];
}

static struct belay_slice bounded(struct belay_slice name)
{
    return belay_slice(name.data, name.length < FLAKY_NAME_MAX ? name.length : FLAKY_NAME_MAX);
}

static struct belay_slice name_of(const struct flaky_entry *entry)
{
    return belay_slice(entry->name, entry->name_length);
}

static struct flaky_entry *find(const struct flaky_counts *counts, struct belay_slice name)
{
    for (uint32_t i = *chain_of(counts, name); i != 0; i = counts->entries[i - 1].next) {
        const struct flaky_entry *entry = &counts->entries[i - 1];
        if (belay_slice_equal(name_of(entry), name)) return (struct flaky_entry *)entry;
    }
    return NULL;
}

static void forget(struct flaky_counts *counts, uint32_t index)
{
    uint32_t *link = chain_of(counts, name_of(&counts->entries[index]));
    while (*link != index + 1) link = &counts->entries[*link - 1].next;
    *link = counts->entries[index].next;
    counts->forgotten++;
}

struct flaky_entry *flaky_counts_take(struct flaky_counts *counts, struct belay_slice name)
{
    name = bounded(name);
    struct flaky_entry *entry = find(counts, name);
    if (entry) return entry;
    uint32_t index = counts->used;
    if (counts->used < counts->entries_max) {
        counts->used++;
    } else {
        index = counts->oldest;
        counts->oldest = (counts->oldest + 1) % counts->entries_max;
        forget(counts, index);
    }
    uint32_t *chain = chain_of(counts, name);
    entry = &counts->entries[index];
    *entry = (struct flaky_entry){.next = *chain, .name_length = (uint8_t)name.length};
    memcpy(entry->name, name.data ? name.data : "", name.length);
    *chain = index + 1;
    return entry;
}

const struct flaky_entry *flaky_counts_find(const struct flaky_counts *counts,
                                            struct belay_slice name)
{
    return find(counts, bounded(name));
}

struct flaky_tally *flaky_counts_totals(struct flaky_counts *counts)
{
    return &counts->totals;
}

uint32_t flaky_counts_entries(const struct flaky_counts *counts)
{
    return counts->used;
}

uint64_t flaky_counts_forgotten(const struct flaky_counts *counts)
{
    return counts->forgotten;
}
