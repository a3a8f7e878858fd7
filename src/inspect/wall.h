/* wall.h: reads a time as it stands in an event: RFC 3339, with Z or an offset. */
#ifndef INSPECT_WALL_H
#define INSPECT_WALL_H

#include <belay/slice.h>
#include <belay/time.h>

/* A second of 60 is the next minute's first instant; digits beyond nanoseconds are cut. False: no
 * such time, or one that int64 nanoseconds do not hold (1677 to 2262). */
bool wall_parse(struct belay_slice text, struct belay_wall *out);

#endif
