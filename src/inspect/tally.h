/* tally.h: what the judged operations come to: counts for each target, examples of each anomaly.
 *
 * Every table is bounded. A tally can be cloned, so that a report may be made while reading goes
 * on. Ownership: a tally owns all its memory. Thread rule: one thread.
 */
#ifndef INSPECT_TALLY_H
#define INSPECT_TALLY_H

#include "inspect/run.h"
#include "inspect/report.h"
#include "inspect/series.h"

#define TALLY_TARGETS_MAX 256
#define TALLY_NAME_BYTES 128
#define TALLY_DETAIL_BYTES 112
#define TALLY_RETRIERS_MAX 8 /* operations kept for each target as examples of its retries */

struct tally_example {
    char id[BELAY_OPERATION_ID_MAX + 1], detail[TALLY_DETAIL_BYTES];
    uint64_t line;
};

struct tally_shelf {
    uint64_t count;
    size_t examples;
    struct tally_example example[INSPECT_EXAMPLES_MAX];
};

struct tally_target {
    struct inspect_target shown;
    struct series series;
    int64_t first_ms, last_ms; /* NO_TIME_MS: no record had a time */
    uint64_t unpaid_retries;   /* nothing says that an engine asked its budget for them */
    size_t retriers;
    struct tally_example retrier[TALLY_RETRIERS_MAX];
    size_t name_length;
    char name[TALLY_NAME_BYTES + 1];
};

struct tally {
    struct tally_shelf shelves[INSPECT_ANOMALY_COUNT];
    struct tally_target *targets;
    size_t target_count, target_capacity;
    uint16_t index[2 * TALLY_TARGETS_MAX]; /* by hash of the name: number + 1; 0: free */
    uint64_t open_operations;
};

void tally_deinit(struct tally *tally);
/* False: no memory, and nothing in *to. */
bool tally_clone(const struct tally *from, struct tally *to);

/* The target's number; ENTRY_NO_TARGET when the table is full, or there is no memory. `hash` is of
 * its name. */
uint16_t tally_target(struct tally *tally, uint64_t hash, struct belay_slice name);
/* One more of a kind; the id is empty for a line that has none. */
void tally_note(struct tally *tally, enum inspect_anomaly_kind kind, struct belay_slice id,
                uint64_t line, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Counts one run, or one attempt that belongs to no operation. */
void tally_count_run(struct tally *tally, const struct run *run);
/* An ending that came after its run was counted. */
void tally_count_ending(struct tally *tally, const struct entry *ending);
void tally_count_attempt(struct tally *tally, const struct entry *attempt, int64_t start_ms,
                         bool is_retry);

#endif
