/* collect.h: groups records by operation, in any order, and finds the anomalies (semantics 15; the
 * rule of each stands in judge.h).
 *
 * An operation is judged once, when it leaves: complete operations stay for a while, since a log
 * may say things late or twice; open ones stay until the end. Memory is bounded by `open_max`
 * operations: when the table is full, the oldest complete one goes, else the open one that was
 * touched longest ago, about which nothing is then concluded from what is missing.
 * A record without an operationId is counted by itself. Thread rule: one thread.
 */
#ifndef INSPECT_COLLECT_H
#define INSPECT_COLLECT_H

#include "inspect/record.h"
#include "inspect/report.h"

struct inspect_limits {
    size_t open_max;         /* operations in the table, at least 2 [1 000 000] */
    unsigned budget_percent; /* retries over first attempts that are no anomaly [10] */
    unsigned budget_burst;   /* ... and this many more, for each target [10] */
};

struct inspect_collector;

/* NULL: no memory. */
struct inspect_collector *inspect_collector_create(const struct inspect_limits *limits);
void inspect_collector_destroy(struct inspect_collector *collector);
/* Copies what it keeps. False: no memory; the record is counted as lost, and reading may go on. */
bool inspect_collect(struct inspect_collector *collector, const struct inspect_record *record);
/* The input has ended (or is to be shown as it stands now, with --follow): judges what is in the
 * table, and sums up. The counts of lines and bytes are the reader's, and 0 here. The report lives
 * until the next one, which may be asked for after more records. NULL: no memory. */
const struct inspect_report *inspect_collector_report(struct inspect_collector *collector);

#endif
