/* state.h: the policies' parts of a target's state (belay/target_state.h), for target.c.
 *
 * `at` is the instant, on this process's clock, of the state's export. What a policy turns off is
 * not imported, and exported as it came, `later` after its export before.
 */
#ifndef CALL_STATE_H
#define CALL_STATE_H

#include <belay/target_state.h>

struct belay_span belay__span_from(struct belay_instant at, struct belay_instant t);
struct belay_instant belay__instant_from(struct belay_instant at, struct belay_span span);

void belay__export_breaker(const struct belay_breaker *breaker, struct belay_instant at,
                           struct belay_span later, struct belay_state_breaker *out);
void belay__import_breaker(struct belay_breaker *breaker, struct belay_instant at,
                           const struct belay_state_breaker *in);
void belay__export_quota(const struct belay_quota *quota, struct belay_instant at,
                         struct belay_span later, struct belay_state_quota *out);
void belay__import_quota(struct belay_quota *quota, struct belay_instant at,
                         const struct belay_state_quota *in);
/* `hold` is NULL when holds are turned off. */
void belay__export_hold(const struct belay_hold *hold, uint64_t key, struct belay_instant at,
                        struct belay_span later, struct belay_state_hold *out);

#endif
