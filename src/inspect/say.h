/* say.h: how numbers, spans and foreign text are written for people.
 *
 * Each `say_` function fills the caller's buffer and returns it. Nothing here depends on the
 * locale. What came out of a log is made harmless: controls, text that changes direction and bytes
 * that are no UTF-8 never reach a terminal.
 */
#ifndef INSPECT_SAY_H
#define INSPECT_SAY_H

#include "inspect/report.h"

#include <stdio.h>

#define SAY_BYTES 40
char *say_count(char out[SAY_BYTES], uint64_t count);             /* 12,345 */
char *say_bytes(char out[SAY_BYTES], uint64_t bytes);             /* 3.4 MB */
char *say_ms(char out[SAY_BYTES], int64_t ms);                    /* 62 ms, 1.25 s, 2 min 5 s */
char *say_share(char out[SAY_BYTES], uint64_t part, uint64_t of); /* 97.9 %, < 0.1 % */
char *say_ratio(char out[SAY_BYTES], uint64_t part, uint64_t of); /* 1.20; - without `of` */
char *say_decimal(char out[SAY_BYTES], double value);             /* 2.1 */
char *say_time(char out[SAY_BYTES], int64_t wall_ms);             /* 2026-01-06T12:00:00Z */
char *say_clock(char out[SAY_BYTES], int64_t wall_ms, int64_t span_ms); /* 12:00:00, 06 12:00 */

/* The next character of `text` that may be shown: at most 4 bytes at `shown`, whose length is
 * returned; *took is how much of the text it was. A character that may not be is shown as U+FFFD,
 * or "?" without `utf8`. */
size_t say_character(struct belay_slice text, bool utf8, char shown[4], size_t *took);
/* Text for a terminal, at most `columns` characters, the last ones in place of a cut; returns how
 * many it was. */
size_t say_text(FILE *to, struct belay_slice text, size_t columns, bool utf8);

/* The kinds that were found, the gravest first; returns how many. */
size_t say_kinds(const struct inspect_report *report,
                 enum inspect_anomaly_kind kinds[INSPECT_ANOMALY_COUNT]);
uint64_t say_operations(const struct inspect_report *report); /* over all targets */
const char *say_target(const struct inspect_target *target);  /* never empty */
/* Operations of which no ending was told. */
uint64_t say_open(const struct inspect_target *target);

/* What of a log was not taken in, as one row a kind; returns how many are not 0. */
#define SAY_UNREAD_MAX 14
struct say_unread {
    const char *name, *text; /* the JSON field; what it is */
    uint64_t count;
};
size_t say_unread(const struct inspect_report *report, struct say_unread rows[SAY_UNREAD_MAX]);

#endif
