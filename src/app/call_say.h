/* call_say.h: what `belay call` tells the person at the terminal: how it goes, and why it failed.
 *
 * Nothing private: no URL but host and port, no field, no body.
 */
#ifndef APP_CALL_SAY_H
#define APP_CALL_SAY_H

#include "app/call_exit.h"

#define CALL_LINE_BYTES_MAX 512

/* "attempt 2 of 3, saw 503, next in 0.4 s, 1.2 s left" */
void call_say_progress(const struct belay_curl_progress *progress, uint32_t attempts_max,
                       char line[CALL_LINE_BYTES_MAX]);
/* "max_attempts: 3 attempts in 620 ms, the last one saw 503" */
void call_say_failure(enum call_exit code, const char *target,
                      const struct belay_curl_result *result, char line[CALL_LINE_BYTES_MAX]);

#endif
