/* sample.h: reports and operations made by hand, for the tests of the writers. */
#ifndef TESTS_INSPECT_SAMPLE_H
#define TESTS_INSPECT_SAMPLE_H

#include "inspect/write.h"

/* A bad quarter of an hour of two targets, with texts that want to do harm. */
const struct inspect_report *sample_trouble(void);
/* Nothing wrong, one target. */
const struct inspect_report *sample_clean(void);
/* Every count as large as it can be. */
const struct inspect_report *sample_huge(void);
/* 503, a wait, a timeout, a held wait with a hint, 200, inside a deadline of 2 s. */
const struct inspect_timeline *sample_timeline(void);

/* What a writer wrote, until the next call. */
const char *sample_text(const struct inspect_report *report,
                        const struct inspect_timeline *timeline, const struct inspect_style *style);
const char *sample_json(const struct inspect_report *report,
                        const struct inspect_timeline *timeline);
const char *sample_html(const struct inspect_report *report,
                        const struct inspect_timeline *timeline);

/* Compares with the file tests/golden/inspect/NAME; with BELAY_GOLDEN set in the environment,
 * writes it instead. */
void sample_expect(const char *name, const char *text);

#endif
