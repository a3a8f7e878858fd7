/* origin.h: a scripted server of the simulated world.
 *
 * A script has one step a line; each request takes one (or each of an operation's requests, in
 * turn). A step is words: ok | 503 | status 404      the answer's status                       20ms
 * after so long retry-after 2s             the field                                 body 64KiB |
 * body 50b chunked | until-close      how the body is framed                    drip 1b/100ms
 *   silence                    never answers                             then close   closes after
 * a whole answer refuse                     the next connect is refused               continue a
 * 100 first close before | reset before        without a byte of an answer close mid-length | close
 * mid-chunk | reset after head | reset mid-body close on reuse | reset on reuse    when it is not
 * its connection's first request, else answers early                      answers before the
 * request's body was read garbage                    bytes that are no HTTP It counts what it was
 * sent, by operation, in the history, and checks the bodies.
 */
#ifndef TESTS_SIM_ORIGIN_H
#define TESTS_SIM_ORIGIN_H

#include "history.h"
#include "world.h"

enum origin_order {
    ORIGIN_IN_TURN,      /* each request takes the next step; the last stays */
    ORIGIN_BY_OPERATION, /* the n-th request of an operation takes the n-th step; the last stays */
    ORIGIN_BY_LUCK,      /* any step */
};

struct origin;
/* Listens on 127.0.0.1:port; `script` is copied. Aborts on a script that it does not understand. */
struct origin *origin_create(struct history *history, const char *name, uint16_t port,
                             const char *script, enum origin_order order);
void origin_script(struct origin *origin, const char *script);
/* Requests whose head came, all in all, or of one operation. */
size_t origin_calls(const struct origin *origin);
size_t origin_calls_of(const struct origin *origin, const char *operation);
void origin_addr(const struct origin *origin, struct rt_addr *out);
/* Closes all its connections (the service restarts) but goes on listening. */
void origin_restart(struct origin *origin);
void origin_destroy(struct origin *origin);

#endif
