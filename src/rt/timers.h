/* timers.h: the timers of one rt, ordered by (instant, sequence); shared by both worlds, reads no
 * clock.
 *
 * The node is the caller's (struct rt_timer), and nothing is allocated: arming cannot fail. Thread
 * rule: one worker.
 */
#ifndef RT_TIMERS_H
#define RT_TIMERS_H

#include "rt/rt.h"

struct timers {
    struct heap heap;
    uint64_t sequence;
};

void timers_init(struct timers *timers);
void timers_arm(struct timers *timers, struct rt_timer *timer, struct belay_instant at);
void timers_disarm(struct timers *timers, struct rt_timer *timer);
/* When the earliest is due; never, when there is none. */
struct belay_instant timers_next_at(const struct timers *timers);
/* Fires, in order, what is due at `now` and was armed before the call: one that arms itself again
 * waits a turn. */
void timers_fire(struct timers *timers, struct belay_instant now);

#endif
