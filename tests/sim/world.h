/* world.h: the simulated world: rt.h on virtual time, in one process, from one seed.
 *
 * Client code (rt_connect) and servers (rt_listen) share one `rt`. Time moves only when nothing
 * else can happen, so an hour costs what its events cost. Two runs with one seed do the same, byte
 * for byte. What a link does to its connections is a struct sim_link; without one the world is
 * perfect and instant.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "base/rng.h"
#include "rt/rt.h"

/* How connections to one address fare. Shares are per thousand, each tossed at every occasion. */
struct sim_link {
    struct belay_span latency_min, latency_max; /* one way; order is kept */
    size_t window_bytes; /* [64 KiB] in flight and unread, in each direction */
    uint32_t lost;       /* connects that nobody ever answers */
    uint32_t refused;    /* connects that are refused */
    uint32_t late;       /* connects that take `late_for` more */
    struct belay_span late_for;
    uint32_t exhausted;               /* rt_connect finds no descriptor */
    uint32_t short_read, short_write; /* fewer bytes than there are, or than fit */
    uint32_t spurious;                /* a signal for nothing */
    uint32_t reset;                   /* the connection breaks between two calls */
};

struct sim_link sim_link_perfect(void);
/* Connections made from now on: to this address, or to any that has no link of its own (NULL). */
void sim_link_set(struct rt *rt, const struct rt_addr *addr, const struct sim_link *link);
/* Callbacks that are due in the same turn come in a random order. */
void sim_shuffle(struct rt *rt, bool on);

/* What asking for a name gives, from now on. Unknown names are error dns, at once. */
#define SIM_NAME_MAX 64
struct sim_name {
    char host[SIM_NAME_MAX];
    struct belay_span takes;
    struct rt_resolved result; /* ports are set by the look-up */
};
void sim_name_set(struct rt *rt, const struct sim_name *name);

/* Asked when a connect reaches a listening address: may refuse it or leave it unanswered. */
enum sim_gate { SIM_GATE_OPEN, SIM_GATE_REFUSE, SIM_GATE_SILENT };
void sim_listener_gate(struct rt_listener *listener, enum sim_gate (*gate)(void *owner));

/* Runs until nothing can happen any more (true), or `until`, or rt_stop. rt_run is this with no
 * end. A loop that turns without time moving is a fault of the code under test and aborts. */
bool sim_run_until(struct rt *rt, struct belay_instant until);

/* The world's own dice, apart from what rt_random gives to the code under test. */
uint64_t sim_luck(struct rt *rt, uint64_t bound);
bool sim_chance(struct rt *rt, uint32_t per_thousand);

/* What is still there: for the check that nothing leaks. */
struct sim_open {
    size_t conns, listeners, resolves, timers, hooks;
};
void sim_open(const struct rt *rt, struct sim_open *out);

#define SIM_EPOCH_NS                                                                               \
    (INT64_C(1704067200) * BELAY_NS_PER_S) /* the wall clock of the start: 2024-01-01 */
#define SIM_START_NS BELAY_NS_PER_S        /* the monotonic clock of the start */

#endif
