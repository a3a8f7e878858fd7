/* counters.c: sums of counters, and the room they stand in (counters.h). */
#include "app/counters.h"

#include <stdlib.h>

bool counters_init(struct counters *counters, const struct conf *conf, const struct rt_addr *addrs)
{
    *counters = (struct counters){.listener_count = conf->listener_count,
                                  .target_count = conf->target_count};
    counters->listeners = calloc(conf->listener_count + 1, sizeof *counters->listeners);
    counters->targets = calloc(conf->target_count + 1, sizeof *counters->targets);
    counters->names = calloc(conf->listener_count + 1, sizeof *counters->names);
    if (!counters->listeners || !counters->targets || !counters->names) {
        counters_deinit(counters);
        return false;
    }
    for (size_t i = 0; i < conf->listener_count; i++) {
        size_t length = rt_addr_format(&addrs[i], counters->names[i]);
        counters->listeners[i].name = belay_slice(counters->names[i], length);
    }
    for (size_t i = 0; i < conf->target_count; i++) {
        counters->targets[i].name = belay_slice_z(conf->targets[i].name);
    }
    return true;
}

void counters_deinit(struct counters *counters)
{
    free(counters->listeners);
    free(counters->targets);
    free(counters->names);
    *counters = (struct counters){0};
}

void counters_clear(struct counters *counters)
{
    for (size_t i = 0; i < counters->listener_count; i++) {
        counters->listeners[i].stats = (struct proxy_stats){0};
    }
}

static void add_server(struct server_stats *sum, const struct server_stats *one)
{
    sum->accepted += one->accepted;
    sum->exhausted += one->exhausted;
    sum->refused_full += one->refused_full;
    sum->requests += one->requests;
    sum->bad_requests += one->bad_requests;
    sum->head_timeouts += one->head_timeouts;
    sum->silent_clients += one->silent_clients;
    sum->connections += one->connections;
    sum->idle += one->idle;
}

static void add_clients(struct client_stats *sum, const struct client_stats *one)
{
    sum->connects += one->connects;
    sum->reuses += one->reuses;
    sum->stale += one->stale;
    sum->discarded += one->discarded;
    sum->open += one->open;
    sum->idle += one->idle;
}

void counters_add(struct proxy_stats *sum, const struct proxy_stats *one)
{
    sum->requests += one->requests;
    sum->bad_requests += one->bad_requests;
    sum->unrouted += one->unrouted;
    sum->passed_on += one->passed_on;
    sum->honest_errors += one->honest_errors;
    sum->cut += one->cut;
    sum->clients_gone += one->clients_gone;
    sum->deadlines_ignored += one->deadlines_ignored;
    sum->overloaded += one->overloaded;
    sum->running += one->running;
    add_server(&sum->server, &one->server);
    add_clients(&sum->clients, &one->clients);
}
