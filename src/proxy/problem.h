/* problem.h: the honest error: what the caller is told when there is no answer to pass on
 * (semantics 3, 10).
 *
 * An RFC 9457 document and an RFC 9209 Proxy-Status. Pure.
 */
#ifndef PROXY_PROBLEM_H
#define PROXY_PROBLEM_H

#include <belay/operation.h>
#include <belay/slice.h>

struct problem {
    int status;
    const char *word; /* the last part of its type */
    const char *title;
    const char *proxy_error; /* of RFC 9209 2.3 */
    bool retryable;          /* whether trying again makes sense */
    bool has_retry_after;
    uint64_t retry_after_s;
};

/* Refused without a call. */
struct problem problem_of_terminal(enum belay_terminal terminal);
/* Belay itself lacks memory or descriptors. */
struct problem problem_of_shortage(void);
/* Ended by this decision after an attempt that came to an error. */
struct problem problem_of_error(enum belay_decision decision, const struct belay_outcome *outcome);
/* A repeatable answer that could not be kept: its status alone is left. */
struct problem problem_of_status(int status);
/* Of belay's own making: no route (404), a method that no route takes (405), a key that is missing
 * (400). */
struct problem problem_of_request(int status);

void problem_set_retry_after(struct problem *problem, int64_t ms); /* rounded up, at least 1 s */

#define PROBLEM_BYTES_MAX 512
/* The document. operation_id has only characters that need no escaping. */
size_t problem_write(const struct problem *problem, struct belay_slice operation_id,
                     char out[PROBLEM_BYTES_MAX]);
#define PROBLEM_PROXY_STATUS_BYTES_MAX 96
size_t problem_write_proxy_status(const struct problem *problem,
                                  char out[PROBLEM_PROXY_STATUS_BYTES_MAX]);

#endif
