/* call_exit.h: the exit statuses of `belay call`: one for each way that an operation can end. */
#ifndef APP_CALL_EXIT_H
#define APP_CALL_EXIT_H

#include <belay/curl.h>

/* The numbers stay as they are: scripts know them. */
enum call_exit {
    CALL_DONE = 0,
    CALL_STOP = 1,
    CALL_USAGE = 2,
    CALL_DEADLINE_EXCEEDED = 3,
    CALL_MAX_ATTEMPTS = 4,
    CALL_BUDGET_EXHAUSTED = 5,
    CALL_BREAKER_OPEN = 6,
    CALL_NOT_BEFORE = 7,
    CALL_QUOTA_EXCEEDED = 8,
    CALL_BULKHEAD_FULL = 9,
    CALL_CHECK_STATE = 10,
    CALL_NO_ANSWER = 11,
    CALL_ANSWER_CUT = 12,
    CALL_OUTPUT = 13,
    CALL_FAILED = 14,
    CALL_CANCELLED = 130,
};

struct call_exit_row {
    enum call_exit code;
    const char *word, *meaning;
};

extern const struct call_exit_row CALL_EXITS[];
extern const size_t CALL_EXIT_COUNT;

/* output_failed: the answer could not be written. signalled: a signal asked for the end. */
enum call_exit call_exit_of(const struct belay_curl_result *result, bool output_failed,
                            bool signalled);
const char *call_exit_word(enum call_exit code);

#endif
