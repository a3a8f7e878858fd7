/* inspect.h: one run of `belay inspect`, shared by its parts: reading, following, showing. */
#ifndef APP_INSPECT_H
#define APP_INSPECT_H

#include "inspect/collect.h"
#include "inspect/contract.h"
#include "inspect/reader.h"
#include "inspect/select.h"
#include "inspect/write.h"

struct inspect_run {
    const char *const *paths;
    size_t path_count;
    bool json, follow, check;
    const char *html; /* NULL: no page */
    struct inspect_selection selection;
    struct inspect_limits limits;
    struct inspect_style style; /* of standard output */

    struct inspect_reader *reader;
    struct inspect_select *select;
    struct inspect_collector *collector;
    struct inspect_timeline *timeline; /* NULL: no single operation is asked for */
    struct inspect_contract *contract; /* NULL: without --check */
};

/* inspect.c: `belay inspect: WHAT`, the exit status of usage and unreadable input. */
int inspect_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Gives a record to all who want it. */
void inspect_take(struct inspect_run *run, const struct inspect_record *record);

/* inspect_show.c */
struct inspect_style inspect_style_of_output(void);
/* The report as it stands, with the reader's counts. False: no memory, which was told. */
bool inspect_report_now(struct inspect_run *run, struct inspect_report *report);
bool inspect_has_anomalies(const struct inspect_report *report);
/* All that was written to standard output has arrived. False: it was told why not. */
bool inspect_output_is_whole(void);
/* Everything that was asked for, at the end. False: it could not be written, which was told. */
bool inspect_show(struct inspect_run *run, const struct inspect_report *report);

/* inspect_follow.c: reads on until a signal or the end of a pipe. False: it was told why. */
bool inspect_follow(struct inspect_run *run);

/* inspect_progress.c: how far a long reading is, on a terminal's standard error. */
struct inspect_progress {
    bool wanted, shown;
    unsigned skipped; /* records since the clock was looked at */
    int64_t began_ms, told_ms;
};
void inspect_progress_begin(struct inspect_progress *progress);
void inspect_progress_step(struct inspect_progress *progress,
                           const struct inspect_reading *reading);
void inspect_progress_end(struct inspect_progress *progress);
int64_t inspect_clock_ms(void);

#endif
