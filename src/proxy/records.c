/* records.c: fills the records of attempts and operations and hands them over (semantics 2). */
#include "proxy/flow.h"

static struct belay_slice route_name(const struct flow *flow)
{
    return belay_slice_z(flow->route ? flow->route->path : NULL);
}

static struct belay_slice target_name(const struct flow *flow)
{
    if (!flow->route) return belay_slice("", 0);
    return belay_slice_z(flow->setup->conf->targets[flow->route->target].name);
}

void record_attempt(const struct flow *flow, const struct belay_outcome *outcome,
                    const struct belay_verdict *verdict)
{
    struct belay_attempt_event event = {.time = flow->attempt_wall,
                                        .operation_id = flow_operation_id(flow),
                                        .method = flow->request->method_text,
                                        .target = target_name(flow),
                                        .route = route_name(flow),
                                        .endpoint = flow->endpoint,
                                        .trace_id = belay_slice(flow->trace_id, TRACE_ID_BYTES),
                                        .span_id = belay_slice(flow->span_id, SPAN_ID_BYTES),
                                        .outcome = *outcome,
                                        .verdict = *verdict,
                                        .reused = flow->call.reused};
    (void)event_out_attempt(flow->proxy->events, &event); /* a loss is counted by the buffer */
}

void record_operation(const struct flow *flow, const struct belay_ending *ending)
{
    struct belay_operation_event event = {.time = flow->began_wall,
                                          .operation_id = flow_operation_id(flow),
                                          .method = flow->request->method_text,
                                          .target = target_name(flow),
                                          .route = route_name(flow),
                                          .endpoint = flow->endpoint,
                                          .trace_id = belay_slice(flow->trace_id, TRACE_ID_BYTES),
                                          .ending = *ending,
                                          .answer = flow->answer};
    (void)event_out_operation(flow->proxy->events, &event);
}

void record_bad_request(struct proxy *proxy, const struct http1_error *error,
                        struct belay_instant began_at)
{
    struct belay_span elapsed = belay_instant_since(rt_now(proxy->rt), began_at);
    char id[MADE_ID_BYTES];
    ids_hex(rt_random(proxy->rt), id);
    ids_hex(rt_random(proxy->rt), id + 16);
    struct belay_operation_event event = {
        .time = {belay_ns_sub(rt_wall(proxy->rt).ns, elapsed.ns)},
        .operation_id = belay_slice(id, sizeof id),
        .ending = {.word = belay_terminal_name(BELAY_TERMINAL_BAD_REQUEST), .elapsed = elapsed},
        .answer = error->status};
    (void)event_out_operation(proxy->events, &event);
}
