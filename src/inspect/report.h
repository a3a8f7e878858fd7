/* report.h: what a log came to: counts for each target, and the anomalies with the operations that
 * show them.
 *
 * The collector fills it; the writers (text, JSON, HTML) read it and nothing else. Every table is
 * bounded, and what did not fit is counted. Ownership: the report owns all its text; it lives until
 * the collector makes the next one, or is destroyed.
 */
#ifndef INSPECT_REPORT_H
#define INSPECT_REPORT_H

#include <belay/outcome.h>
#include <belay/slice.h>
#include <stdint.h>

enum inspect_anomaly_kind {
    INSPECT_MERGED_FIELDS,
    INSPECT_CLOCK_MIXED,
    INSPECT_RETRY_WITHOUT_ATTEMPT,
    INSPECT_SPLIT_OPERATION,
    INSPECT_DUPLICATE_REQUEST_ID,
    INSPECT_UNSAFE_RETRY,
    INSPECT_EARLY_RETRY,
    INSPECT_STATUS_ERROR_CONFLICT,
    INSPECT_FULL_URL,
    INSPECT_SECRET_IN_FIELD,
    INSPECT_OVER_BUDGET,
    INSPECT_ATTEMPT_GAP,
    INSPECT_ANOMALY_COUNT
};

/* The words of one kind; constant. `name` is what --json says ("merged_fields", ...). */
struct inspect_advice {
    const char *name, *symptom, *cause, *check, *action;
};
const struct inspect_advice *inspect_advice(enum inspect_anomaly_kind kind);

#define INSPECT_EXAMPLES_MAX 20 /* operations kept for each kind; the count goes on */
struct inspect_anomaly {
    uint64_t count; /* of operations, or of lines where the kind speaks of lines */
    size_t examples;
    const char *operation_ids[INSPECT_EXAMPLES_MAX]; /* "" when the line had none */
    uint64_t lines[INSPECT_EXAMPLES_MAX];            /* of a record that shows it; 0: none */
    const char *detail[INSPECT_EXAMPLES_MAX]; /* one clause for people: "attempt 2 of 3 is missing";
                                                 never a value that could be a secret */
};

#define INSPECT_ATTEMPT_SLOTS 8 /* attempt numbers told apart; the last slot means "or more" */
#define INSPECT_LATENCY_BUCKETS 256
/* Log-linear: value to bucket and back by inspect_bucket_of, inspect_bucket_top; error < 7 %. */
struct inspect_latency {
    uint64_t count, sum_ms;
    int64_t max_ms;
    uint32_t bucket[INSPECT_LATENCY_BUCKETS];
};
unsigned inspect_bucket_of(int64_t ms);
int64_t inspect_bucket_top(unsigned bucket);
void inspect_latency_add(struct inspect_latency *latency, int64_t ms); /* >= 0 */
/* The value at or below which `share` (0..1) of the observations lie; 0 when there are none. */
int64_t inspect_quantile_ms(const struct inspect_latency *latency, double share);

#define INSPECT_SERIES_MAX 120 /* points in time; the width doubles when they would not do */
struct inspect_series {
    int64_t start_ms, width_ms; /* wall clock; width 0: no record had a time */
    size_t count;
    uint64_t decisions[INSPECT_SERIES_MAX][BELAY_DECISION_COUNT];
    uint64_t busy_ms[INSPECT_SERIES_MAX]; /* of attempts; / width = mean concurrency */
};

struct inspect_target {
    const char *name;                                /* "" for records that name none */
    uint64_t operations, attempts, retries;          /* operations: distinct ids that were seen */
    uint64_t attempts_of[INSPECT_ATTEMPT_SLOTS + 1]; /* operations that made [n] attempts */
    uint64_t decisions[BELAY_DECISION_COUNT], decision_unknown;
    uint64_t errors[BELAY_ERROR_COUNT];       /* timeouts are errors[BELAY_ERROR_TIMEOUT] */
    uint64_t status_class[6];                 /* [2]: 2xx ... */
    uint64_t too_many_requests;               /* 429, also in status_class[4] */
    uint64_t terminals[BELAY_TERMINAL_COUNT]; /* operations by terminal reason */
    uint64_t answered;                        /* operations whose result is a status */
    uint64_t stopped, state_checks;           /* ... is the decision stop, check_state */
    uint64_t effect_unknown;
    uint64_t fallbacks;
    struct inspect_latency latency[INSPECT_ATTEMPT_SLOTS];
    struct inspect_series series;
    double concurrency_mean, concurrency_peak; /* 0 when no record had a time */
};

struct inspect_report {
    size_t target_count;
    const struct inspect_target *targets; /* most operations first */
    uint64_t targets_left_out;            /* records whose target did not fit in the table */
    struct inspect_anomaly anomalies[INSPECT_ANOMALY_COUNT];
    uint64_t lines, bytes; /* read; bytes after decompression */
    uint64_t records;      /* lines with a record of ours */
    uint64_t other_lines;  /* lines without: other people's log lines */
    uint64_t junk_lines;   /* lines with broken JSON where ours began, or binary */
    uint64_t cut_lines;    /* the first or last line of a file, cut */
    uint64_t long_lines;   /* longer than the bound: skipped */
    uint64_t unread_bytes; /* behind the point where a packed file was broken */
    uint64_t wrong_type, wrong_word, unknown_version, unknown_event;
    uint64_t repeated_records;     /* exact repeats (log delivery), counted once */
    uint64_t lost_records;         /* told by the stream itself */
    uint64_t open_operations;      /* not ended when the log did */
    uint64_t evicted_operations;   /* judged early because the table was full */
    struct belay_wall first, last; /* 0 when no record had a time */
};

#endif
