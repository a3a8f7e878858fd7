/* collect.h: groups records by operation, in any order, and finds the anomalies (semantics 15).
 *
 * Memory is bounded by `open_max` operations: the one that was touched longest ago is judged as it
 * stands and leaves when the table is full. Thread rule: one thread.
 */
#ifndef INSPECT_COLLECT_H
#define INSPECT_COLLECT_H

#include "inspect/record.h"
#include "inspect/report.h"

struct inspect_limits {
    size_t open_max;         /* operations in the table [1 000 000] */
    unsigned budget_percent; /* retries over first attempts that are no anomaly [10] */
    unsigned budget_burst;   /* ... and this many more, for each target [10] */
};

struct inspect_collector;

struct inspect_collector *inspect_collector_create(const struct inspect_limits *limits);
void inspect_collector_destroy(struct inspect_collector *collector);
/* Copies what it keeps. False: no memory; the record is counted as lost, and reading may go on. */
bool inspect_collect(struct inspect_collector *collector, const struct inspect_record *record);
/* The input has ended (or is to be shown as it stands now, with --follow): judges what is open, and
 * sums up. `cut_start`: the first line of the input was cut, so that what came before is missing.
 * May be called again after more records. */
const struct inspect_report *inspect_collector_report(struct inspect_collector *collector,
                                                      bool cut_start);

#endif
