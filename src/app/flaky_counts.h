/* flaky_counts.h: what `belay flaky` was sent, by operation or key, in a table of bounded size.
 *
 * When the table is full the oldest entry is forgotten, and counted; the totals forget nothing.
 */
#ifndef APP_FLAKY_COUNTS_H
#define APP_FLAKY_COUNTS_H

#include <belay/method.h>
#include <belay/slice.h>
#include <stdint.h>

#define FLAKY_NAME_MAX 128 /* longer names are cut */

struct flaky_tally {
    uint64_t calls, methods[BELAY_METHOD_COUNT];
    uint64_t bodies_complete, bodies_cut, body_bytes; /* of requests that have a body */
};

struct flaky_entry {
    struct flaky_tally tally;
    uint64_t turns; /* calls counted for fail_first */
    uint32_t next;  /* in its chain */
    uint8_t name_length;
    char name[FLAKY_NAME_MAX];
};

struct flaky_counts;
struct flaky_counts *flaky_counts_create(uint32_t entries_max); /* NULL without memory */
void flaky_counts_destroy(struct flaky_counts *counts);
void flaky_counts_reset(struct flaky_counts *counts);
/* The entry of that name, new when there was none. Lives until the next call. */
struct flaky_entry *flaky_counts_take(struct flaky_counts *counts, struct belay_slice name);
const struct flaky_entry *flaky_counts_find(const struct flaky_counts *counts,
                                            struct belay_slice name);
struct flaky_tally *flaky_counts_totals(struct flaky_counts *counts);
uint32_t flaky_counts_entries(const struct flaky_counts *counts);
uint64_t flaky_counts_forgotten(const struct flaky_counts *counts);

#endif
