/* locate.h: where in a JSON text a path leads. */
#ifndef APP_LOCATE_H
#define APP_LOCATE_H

#include <belay/slice.h>

/* The offset of the key (or the array's element) that `path` ("observations[1].status",
 * "policy.backoff") names in `text`, which is valid JSON; 0 when there is none. */
size_t locate(struct belay_slice text, const char *path);

#endif
