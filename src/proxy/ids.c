/* ids.c: who an operation is: its id and its trace, the caller's own where they are valid
 * (semantics 1). */
#include "proxy/flow.h"

#define TRACE_SAMPLED 0x01

void ids_hex(uint64_t luck, char out[16])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 15; i >= 0; i--, luck >>= 4) out[i] = digits[luck & 15];
}

/* Never all zero, which a trace id must not be. */
static void make_id(struct rt *rt, char out[MADE_ID_BYTES])
{
    uint64_t low = rt_random(rt);
    ids_hex(rt_random(rt), out);
    ids_hex(low ? low : 1, out + 16);
}

void ids_begin(struct flow *flow)
{
    struct rt *rt = flow->proxy->rt;
    struct facts *facts = &flow->facts;
    if (facts->operation_id.length > 0) {
        memcpy(flow->operation_id, facts->operation_id.data, facts->operation_id.length);
        flow->operation_id_length = facts->operation_id.length;
    } else {
        make_id(rt, flow->operation_id);
        flow->operation_id_length = MADE_ID_BYTES;
    }
    if (facts->has_trace) {
        memcpy(flow->trace_id, facts->trace_id.data, TRACE_ID_BYTES);
    } else {
        make_id(rt, flow->trace_id);
        facts->trace_flags = TRACE_SAMPLED;
    }
    struct belay_slice route = belay_slice_z(flow->route ? flow->route->path : NULL);
    flow->endpoint = belay_event_endpoint(flow->request->path, route, flow->endpoint_room);
}

size_t ids_write_traceparent(const struct flow *flow, char out[55])
{
    char flags[16];
    ids_hex(flow->facts.trace_flags, flags);
    memcpy(out, "00-", 3);
    memcpy(out + 3, flow->trace_id, TRACE_ID_BYTES);
    out[35] = '-';
    memcpy(out + 36, flow->span_id, SPAN_ID_BYTES);
    out[52] = '-';
    memcpy(out + 53, flags + 14, 2);
    return 55;
}
