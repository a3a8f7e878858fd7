/* nearest.h: the valid name that a mistyped word most likely meant. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <belay/slice.h>

/* Of `count` names the one with the fewest edits (insert, delete, replace, swap neighbours; letter
 * case, '-' and '_' are one) to `word`, the first among equals. NULL when even that one differs in
 * more than a third of its letters (at least one edit is always allowed), or the word is longer
 * than 64 bytes. */
const char *nearest_name(struct belay_slice word, const char *const *names, size_t count);

#endif
