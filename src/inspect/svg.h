/* svg.h: the charts of the HTML page, each one drawing of 360 units in width that scales.
 *
 * Colours come from the page's style sheet by class. Each drawing has a title and a description for
 * those who do not see it; marks have titles of their own, which browsers show at the pointer.
 */
#ifndef INSPECT_SVG_H
#define INSPECT_SVG_H

#include "inspect/report.h"
#include "inspect/timeline.h"

#include <stdio.h>

/* Text of the log or ours, for HTML and SVG alike. */
void svg_escape(FILE *to, const char *text, size_t characters_max);

/* One page; counts the drawings, whose titles need ids. */
struct svg {
    FILE *to;
    unsigned drawings;
};

struct svg_bar {
    const char *label, *value; /* what stands before and after it */
    const char *class_name;    /* its colour */
    double length;
};
/* Horizontal bars from 0 to the longest. `mark` (0: none): a line at that value. */
void svg_bars(struct svg *svg, const char *title, const struct svg_bar *bars, size_t count,
              double mark);

/* Latency by attempt number, from p50 to the longest, on a logarithmic scale. */
void svg_latency(struct svg *svg, const struct inspect_target *target);
/* Decisions over time, stacked; and how many attempts ran at once. */
void svg_decisions(struct svg *svg, const struct inspect_series *series);
void svg_concurrency(struct svg *svg, const struct inspect_series *series);
/* Whether the deadline is near enough to be on the drawing; it is a dashed line there. */
bool svg_shows_deadline(const struct inspect_timeline *timeline);
/* The attempts and waits of one operation. */
void svg_timeline(struct svg *svg, const struct inspect_timeline *timeline);

/* The style's class of a decision, "d-retry". */
#define SVG_CLASS_BYTES 32
char *svg_decision_class(char out[SVG_CLASS_BYTES], unsigned decision);

#endif
