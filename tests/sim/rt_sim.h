/* rt_sim.h: what the files of the simulated world share. */
#ifndef TESTS_SIM_RT_SIM_H
#define TESTS_SIM_RT_SIM_H

#include "base/list.h"
#include "rt/timers.h"
#include "world.h"

#define SIM_LINKS_MAX 16
#define SIM_NAMES_MAX 16

struct rt {
    struct belay_instant now;
    struct timers timers;
    struct rng luck, world_luck;
    struct rt_post *posts, **posts_end;
    struct rt_hook *hooks, **hooks_end, *hook_following;
    struct list pairs;     /* all of them */
    struct list signalled; /* ends that may be ready */
    struct list closed;    /* pairs to free at the turn's end */
    struct list listeners;
    struct sim_link default_link;
    struct rt_addr link_addrs[SIM_LINKS_MAX];
    struct sim_link links[SIM_LINKS_MAX];
    size_t link_count;
    struct sim_name names[SIM_NAMES_MAX];
    size_t name_count;
    size_t resolves, hook_count;
    bool stopped, shuffled;
};

/* network.c */
void network_init(struct rt *rt);
void network_deinit(struct rt *rt);
bool network_pending(const struct rt *rt); /* somebody may be ready now */
void network_signal(struct rt *rt);        /* calls those that are */
void network_turn_end(struct rt *rt);
size_t network_conns(const struct rt *rt);
size_t network_listeners(const struct rt *rt);

#endif
