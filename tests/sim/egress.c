/* egress.c: makes a proxy, its targets and its snapshot, and watches its breakers (egress.h). */
#include "egress.h"

#include "base/check.h"

#include <stdlib.h>

void egress_target_stats(const struct egress *egress, size_t target, struct belay_target_stats *out)
{
    belay_target_stats(egress->targets[target], rt_now(egress->history->rt), out);
}

static void on_turn_end(struct rt_hook *hook)
{
    struct egress *egress = CONTAINER_OF(hook, struct egress, watch);
    for (size_t i = 0; i < egress->conf->target_count; i++) {
        struct belay_target_stats stats;
        egress_target_stats(egress, i, &stats);
        if (stats.breaker_state == egress->breaker_states[i]) continue;
        egress->breaker_states[i] = stats.breaker_state;
        struct breaker_change *change = rows_add(&egress->history->breakers, sizeof(*change));
        snprintf(change->target, sizeof(change->target), "%s", egress->conf->targets[i].name);
        change->state = stats.breaker_state;
        change->at = rt_now(egress->history->rt);
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
    egress->breaker_states = calloc(count, sizeof(*egress->breaker_states));
    CHECK(egress->targets && egress->breaker_states);
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
    free(egress->breaker_states);
    conf_give(egress->conf);
}
