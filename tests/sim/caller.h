/* caller.h: a scripted client of the simulated world: one connection, a few requests, and its own
 * bad habits.
 *
 * Every request gets a row in the history, which says at the end what it came to.
 */
#ifndef TESTS_SIM_CALLER_H
#define TESTS_SIM_CALLER_H

#include "history.h"
#include "world.h"

#define CALLER_REQUESTS_MAX 8
/* Stands in whatever is sent as garbage, so that an origin that is sent it knows it. */
#define CALLER_GARBAGE_PATH "/garbage"

struct caller_request {
    char operation[HISTORY_ID_BYTES]; /* empty: none is sent, the row has the one that was answered
                                       */
    const char *method;               /* a constant; NULL: GET */
    const char *path;                 /* a constant; NULL: / */
    const char *garbage; /* a constant, sent as it is instead of a request; NULL: none */
    size_t body_bytes;
    bool chunked, keyed, expects_continue;
};

struct caller_plan {
    struct rt_addr to;
    char name[12]; /* in the trace */
    struct caller_request requests[CALLER_REQUESTS_MAX];
    size_t count;
    struct belay_span starts_after;
    bool pipelined;                   /* all requests at once */
    size_t split_bytes;               /* written in pieces of so many, [0: as they fit] */
    struct belay_span split_gap;      /* one so often */
    struct belay_span pause;          /* between an answer and the next request */
    size_t read_bytes;                /* read so many at a time, [0: what there is] */
    struct belay_span read_gap;       /* one so often */
    struct belay_span vanishes_after; /* [0: never] after its start, with a reset or an end */
    bool vanishes_with_reset;
    bool half_closes; /* says its end when all is sent */
};

struct caller;
struct caller *caller_create(struct history *history, const struct caller_plan *plan);
bool caller_done(const struct caller *caller);
/* The row of its n-th request. */
const struct reply *caller_reply(const struct caller *caller, size_t n);
void caller_destroy(struct caller *caller);

#endif
