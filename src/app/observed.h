/* observed.h: an attempt's outcome from the words that people use for it. */
#ifndef APP_OBSERVED_H
#define APP_OBSERVED_H

#include <belay/outcome.h>

enum observed { OBSERVED_GOOD, OBSERVED_NO_ERROR_CLASS, OBSERVED_NO_PHASE, OBSERVED_NO_SENT };

/* `phase` and `sent` may be NULL: dns and refused struck before the connection was made, so nothing
 * was sent, and so it is for every error of a phase before sending; other errors count as sent.
 * *out is filled as far as it was read. */
enum observed observed_error(const char *error, const char *phase, const char *sent,
                             struct belay_outcome *out);

#endif
