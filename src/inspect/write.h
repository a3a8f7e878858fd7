/* write.h: a report shown to people and to programs: text, JSON, one page of HTML.
 *
 * The writers read the report, and the timeline when there is one, and nothing else; all that came
 * out of the log is escaped for where it goes. Errors of the stream stay in it (ferror). Thread
 * rule: one thread a stream.
 */
#ifndef INSPECT_WRITE_H
#define INSPECT_WRITE_H

#include "inspect/report.h"
#include "inspect/timeline.h"

#include <stdio.h>

/* How text is drawn: a plain file gets no colour, a locale without UTF-8 gets ASCII. */
struct inspect_style {
    bool colour, utf8;
    unsigned columns; /* sentences are wrapped there; 80 when nothing is known */
};

/* `timeline` may be NULL. */
void inspect_write_text(FILE *to, const struct inspect_report *report,
                        const struct inspect_timeline *timeline, const struct inspect_style *style);
void inspect_write_json(FILE *to, const struct inspect_report *report,
                        const struct inspect_timeline *timeline);
/* `source` names what was read, for the heading. */
void inspect_write_html(FILE *to, const struct inspect_report *report,
                        const struct inspect_timeline *timeline, const char *source);

/* One anomaly in a line, for --follow: what is seen, how often, and the latest operation. */
void inspect_write_news(FILE *to, enum inspect_anomaly_kind kind,
                        const struct inspect_anomaly *anomaly, const struct inspect_style *style);

#endif
