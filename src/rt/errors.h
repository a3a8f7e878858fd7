/* errors.h: what an errno of a socket's system call means: a word about the peer, or about us.
 * Pure.
 */
#ifndef RT_ERRORS_H
#define RT_ERRORS_H

#include <belay/outcome.h>
#include <stdbool.h>

/* Descriptors, memory or ports of our own lack. */
bool errors_is_shortage(int error);
/* Of a connection that never stood; unreachable is told as refused: nobody there takes it. Our own
 * shortage says nothing about the peer: cancelled. */
enum belay_error_class errors_of_connect(int error);
/* Of a connection that stood. */
enum belay_error_class errors_of_io(int error);
/* accept(2) passes on what became of a connection while it waited: the next one may be well. Any
 * other error may come again at once. */
bool errors_died_in_queue(int error);

#endif
