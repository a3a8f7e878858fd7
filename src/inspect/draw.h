/* draw.h: what text is drawn with on a terminal or in a file: colours, bars, wrapped sentences. */
#ifndef INSPECT_DRAW_H
#define INSPECT_DRAW_H

#include "inspect/write.h"

enum draw_colour { DRAW_PLAIN, DRAW_STRONG, DRAW_FAINT, DRAW_GOOD, DRAW_CARE, DRAW_BAD };

struct draw {
    FILE *to;
    const struct inspect_style *style;
};

/* Colour from here on; nothing without colours. PLAIN ends it. */
void draw_colour(const struct draw *draw, enum draw_colour colour);
void draw_repeat(const struct draw *draw, const char *text, size_t count);
/* A bar of part/most of `columns`, filled up with blanks; what is not 0 is seen. */
void draw_bar(const struct draw *draw, double part, double most, size_t columns);
/* One character a value, each a column whose height is value/most. */
void draw_columns(const struct draw *draw, const double *values, size_t count, double most);
/* A word in front, then sentences wrapped beside it. `indent`: columns before the sentences. */
void draw_sentence(const struct draw *draw, const char *label, size_t indent, const char *text);
/* Text of the log, made harmless; padded to `columns` when `pad`. */
void draw_foreign(const struct draw *draw, const char *text, size_t columns, bool pad);

/* The operation's attempts and waits as bars on one scale (write_timeline.c). */
void draw_timeline(const struct draw *draw, const struct inspect_timeline *timeline);

#endif
