/* gather.c: asks every worker and target for its counters, for the admin listener (control.h). */
#include "app/control.h"

void control_gather(void *owner, struct admin_snapshot *out)
{
    struct control *control = owner;
    struct counters *counters = &control->counters;
    struct belay_instant now = rt_now(control->rt);
    counters_clear(counters);
    for (uint32_t i = 0; i < control->worker_count; i++)
        worker_count(&control->workers[i].worker, counters);
    for (size_t i = 0; i < counters->target_count; i++) {
        belay_target_stats(control->in_use[i], now, &counters->targets[i].stats);
    }
    *out = (struct admin_snapshot){
        .listeners = counters->listeners,
        .listener_count = counters->listener_count,
        .targets = counters->targets,
        .target_count = counters->target_count,
        .workers = control->worker_count,
        .reloads = control->reloads,
        .reloads_refused = control->reloads_refused,
    };
    if (control->sink) event_sink_stats(control->sink, &out->sink);
}
