/* replay.h: the retry engine on virtual time: what would belay have done? */
#ifndef APP_REPLAY_H
#define APP_REPLAY_H

#include <stdbool.h>
#include <stdio.h>

/* Reads operations from `in` (`name` in errors) and writes their events to `out`. The same input
 * gives the same bytes. False: an error was written to `errors`; what came before it has been
 * replayed. */
bool replay_run(FILE *in, const char *name, FILE *out, FILE *errors)
    __attribute__((warn_unused_result));

#endif
