/* spared.h: memory of a test's own world, which is there even while the code under test has none.
 */
#ifndef TESTS_SHORTAGE_SPARED_H
#define TESTS_SHORTAGE_SPARED_H

#include "base/buf.h"

/* Above 0, no allocation is made to fail. Volatile: the compiler knows that malloc reads no
 * variable of ours. */
extern volatile int shortage_spared;

/* As without the prefix; they abort where there really is none. */
void *spared_calloc(size_t count, size_t size);
void *spared_realloc(void *old, size_t size);
void spared_add(struct buf *buf, const void *bytes, size_t count);
char *spared_reserve(struct buf *buf, size_t want, size_t *room);

#endif
