/* shortage.h: lets the n-th allocation of the code under test fail.
 *
 * The linker sends the project's malloc, calloc, realloc, aligned_alloc and strdup here (--wrap).
 * A test runs its story for n = 0, 1, 2 ... until a run passes in which none failed.
 */
#ifndef TESTS_SHORTAGE_SHORTAGE_H
#define TESTS_SHORTAGE_SHORTAGE_H

#include "spared.h"

#define SHORTAGE_FOREVER 1000000000L

/* From now on, the n-th allocation (from 0) and those after it, `width` together, find no memory.
 */
void shortage_begin(long n, long width);
/* Memory is there again; how many found none. */
long shortage_end(void);

#endif
