/* egress.c: makes a proxy, its targets and its snapshot, and watches its breakers (egress.h). */
#include "egress.h"

#include "base/check.h"

#include <stdlib.h>

void egress_target_stats(const struct egress *egress, size_t target, struct belay_target_stats *out)
{
    belay_target_stats(egress->targets[target], rt_now(egress->history->rt), out);
}

static void add_change(struct egress *egress, size_t target, enum belay_breaker_state state)
{
    struct breaker_change *change = rows_add(&egress->history->breakers, sizeof(*change));
    snprintf(change->target, sizeof(change->target), "%s", egress->conf->targets[target].name);
    change->state = state;
    change->at = rt_now(egress->history->rt);
}

static void on_turn_end(struct rt_hook *hook)
{
    struct egress *egress = CONTAINER_OF(hook, struct egress, watch);
    for (size_t i = 0; i < egress->conf->target_count; i++) {
        struct belay_target_stats stats;
        struct breaker_seen *seen = &egress->breakers[i];
        egress_target_stats(egress, i, &stats);
        /* A probe that failed within the turn it was sent in leaves only its count. */
        bool probed = seen->state == BELAY_BREAKER_OPEN && stats.breaker_opened > seen->opened;
        if (probed) add_change(egress, i, BELAY_BREAKER_HALF_OPEN);
        if (probed || stats.breaker_state != seen->state)
            add_change(egress, i, stats.breaker_state);
        *seen = (struct breaker_seen){stats.breaker_state, stats.breaker_opened};
    }
}

static struct belay_target *make_target(const struct belay_policy *policy, uint64_t seed)
{
    void *memory = calloc(1, belay_target_size());
    CHECK(memory);
    return belay_target_init(memory, policy, seed);
}

void egress_init(struct egress *egress, struct history *history, const char *yaml)
{
    struct rt *rt = history->rt;
    *egress = (struct egress){.history = history};
    CHECK(conf_parse("sim.yaml", belay_slice_z(yaml), stderr, &egress->conf) == CONF_GOOD);
    size_t count = egress->conf->target_count;
    egress->targets = calloc(count, sizeof(*egress->targets));
    egress->breakers = calloc(count, sizeof(*egress->breakers));
    CHECK(egress->targets && egress->breakers);
    for (size_t i = 0; i < count; i++) {
        egress->targets[i] = make_target(&egress->conf->targets[i].policy, rt_random(rt));
    }
    struct proxy_options options = {.targets = egress->targets, .events = &history->out};
    egress->proxy = proxy_create(rt, egress->conf, &options);
    CHECK(egress->proxy);
    const struct conf_address *listen = &egress->conf->listeners[0].listen;
    struct rt_addr addr;
    const char *why;
    CHECK(rt_addr_parse(belay_slice_z(listen->host), listen->port, &addr));
    CHECK(proxy_listen(egress->proxy, &addr, &why));
    proxy_addr(egress->proxy, &egress->addr);
    egress->watch.run = on_turn_end;
    rt_hook_turn_end(rt, &egress->watch);
}

void egress_deinit(struct egress *egress)
{
    rt_hook_remove(egress->history->rt, &egress->watch);
    proxy_destroy(egress->proxy);
    for (size_t i = 0; i < egress->conf->target_count; i++) {
        belay_target_deinit(egress->targets[i]);
        free(egress->targets[i]);
    }
    free(egress->targets);
    free(egress->breakers);
    conf_give(egress->conf);
}
