/* select.h: which records of a log are looked at: those of one operation, target, route, span of
 * time, or of operations with a certain decision.
 *
 * A record that lacks what is asked for is left out. An operation is taken or left as a whole: by
 * when it began, and by all of its decisions. The latter takes a reading of its own (`note`) before
 * the one that takes records. Thread rule: one thread.
 */
#ifndef INSPECT_SELECT_H
#define INSPECT_SELECT_H

#include "inspect/record.h"

struct inspect_selection {
    const char *operation_id, *target, *route; /* NULL: any; borrowed */
    bool has_since, has_until, has_decision;
    struct belay_wall since, until; /* from `since` on, before `until` */
    enum belay_decision decision;
};

struct inspect_select;

/* `operations_max` bounds how many operations with the decision are remembered. NULL: no memory. */
struct inspect_select *inspect_select_create(const struct inspect_selection *selection,
                                             size_t operations_max);
void inspect_select_destroy(struct inspect_select *select);
/* The first of two readings, where a decision is asked for. False: no room for this operation. */
bool inspect_select_note(struct inspect_select *select, const struct inspect_record *record);
bool inspect_select_takes(struct inspect_select *select, const struct inspect_record *record);

/* An RFC 3339 time, or a span such as 90s, 15m, 2h, 1d, counted back from `now`. */
bool inspect_when_parse(const char *text, struct belay_wall now, struct belay_wall *out);

#endif
