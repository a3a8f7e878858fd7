/* headers.c: writes the head of the request that is sent: always anew, never the caller's bytes
 * (RFC 9110 7.6). */
#include "proxy/flow.h"

#include "base/check.h"

#include <strings.h>

#define OWN_FIELDS_BYTES_MAX 1024 /* what belay adds, without the ids and the deadline's name */
#define GRPC_TIMEOUT_DIGITS_MAX 8

struct out {
    char *at;
    size_t room;
};

static void put(struct out *out, size_t written)
{
    CHECK(written > 0); /* the room was computed before */
    out->at += written;
    out->room -= written;
}

static void put_field(struct out *out, struct belay_slice name, struct belay_slice value)
{
    put(out, http1_write_field(out->at, out->room, name, value));
}

static void put_number(struct out *out, struct belay_slice name, uint64_t value)
{
    put(out, http1_write_field_number(out->at, out->room, name, value));
}

/* Milliseconds, or seconds when eight digits do not hold them. */
static void put_grpc_timeout(struct out *out, struct belay_slice name, uint64_t ms)
{
    char text[TEXT_NUMBER_BYTES_MAX + 1], unit = 'm';
    struct belay_slice digits = text_write_number(ms, text);
    if (digits.length > GRPC_TIMEOUT_DIGITS_MAX) {
        digits = text_write_number(ms / 1000, text);
        unit = 'S';
    }
    text[TEXT_NUMBER_BYTES_MAX] = unit;
    put_field(out, name, belay_slice(digits.data, digits.length + 1));
}

/* What is passed on is at least 1 ms, for 0 would say that the time is over; and less than what
 * remains. */
static uint64_t pass_on_ms(const struct belay_admission *admission)
{
    int64_t ms = belay_span_floor_ms(admission->pass_on);
    return ms > 0 ? (uint64_t)ms : 1;
}

static void put_forwarded(struct out *out, const struct flow *flow, uint64_t ms)
{
    const struct facts_names *names = &flow->setup->names;
    const struct http1_head *request = flow->request;
    for (size_t i = 0; i < request->field_count; i++) {
        const struct http1_field *field = &request->fields[i];
        if (field->hop_by_hop) continue;
        switch (facts_role(names, field)) {
        case FACTS_PASS:
        case FACTS_MARK:
        case FACTS_MARK_COUNT_0:
        case FACTS_MARK_COUNT_1:
        case FACTS_KEY: put_field(out, field->name, field->value); break;
        case FACTS_TRACESTATE:
            if (flow->facts.has_trace) put_field(out, field->name, field->value);
            break;
        case FACTS_DEADLINE_GRPC: put_grpc_timeout(out, field->name, ms); break;
        case FACTS_DEADLINE_MS: {
            struct belay_slice own = names->deadline_out;
            bool is_own = own.length == field->name.length &&
                          strncasecmp(own.data, field->name.data, own.length) == 0;
            if (!is_own) put_number(out, field->name, ms);
            break;
        }
        case FACTS_DROP:
        case FACTS_MARK_OWNER:
        case FACTS_OPERATION_ID:
        case FACTS_TRACEPARENT: break;
        }
    }
}

static void put_ids(struct out *out, const struct flow *flow, uint32_t attempt)
{
    static const char joint[] = "/attempt-";
    char request_id[BELAY_OPERATION_ID_MAX + sizeof joint + TEXT_NUMBER_BYTES_MAX],
        number[TEXT_NUMBER_BYTES_MAX], trace[55];
    struct belay_slice id = flow_operation_id(flow), digits = text_write_number(attempt, number);
    size_t length = id.length;
    memcpy(request_id, id.data, id.length);
    memcpy(request_id + length, joint, sizeof joint - 1);
    length += sizeof joint - 1;
    memcpy(request_id + length, digits.data, digits.length);
    length += digits.length;

    put_field(out, TEXT("X-Operation-Id"), id);
    put_field(out, TEXT("X-Request-Id"), belay_slice(request_id, length));
    put_number(out, TEXT("X-Request-Attempt"), attempt);
    bool marked = flow->facts.retry_owner.length > 0;
    put_field(out, TEXT("X-Retry-Owner"), marked ? flow->facts.retry_owner : TEXT("belay"));
    put_field(out, TEXT("traceparent"), belay_slice(trace, ids_write_traceparent(flow, trace)));
    put_field(out, TEXT("Via"),
              flow->request->minor_version == 0 ? TEXT("1.0 belay") : TEXT("1.1 belay"));
    if (flow->route->idempotency_key == CONF_KEY_ADDED && !flow->facts.one_key &&
        !flow->op.traits.safe_method) {
        char quoted[BELAY_OPERATION_ID_MAX + 2];
        quoted[0] = '"';
        memcpy(quoted + 1, id.data, id.length);
        quoted[id.length + 1] = '"';
        put_field(out, TEXT("Idempotency-Key"), belay_slice(quoted, id.length + 2));
    }
}

static void put_framing(struct out *out, const struct flow *flow)
{
    const struct http1_head *request = flow->request;
    if (flow->upload.streaming && flow->upload.chunked) {
        put_field(out, TEXT("Transfer-Encoding"), TEXT("chunked"));
    } else if (flow->upload.streaming) {
        put_number(out, TEXT("Content-Length"), request->content_length);
    } else if (request->framing != HTTP1_NO_BODY || request->has_content_length) {
        put_number(out, TEXT("Content-Length"), buf_length(&flow->upload.body));
    }
}

/* A client of HTTP/1.0 need not name a host: it is the target's then. */
static void put_host(struct out *out, const struct http1_head *request,
                     const struct conf_address *address)
{
    if (request->authority.length > 0) {
        put_field(out, TEXT("Host"), request->authority);
        return;
    }
    bool brackets = strchr(address->host, ':') != NULL;
    char port[TEXT_NUMBER_BYTES_MAX];
    struct belay_slice pieces[] = {TEXT("Host: "),
                                   brackets ? TEXT("[") : TEXT(""),
                                   belay_slice_z(address->host),
                                   brackets ? TEXT("]") : TEXT(""),
                                   TEXT(":"),
                                   text_write_number(address->port, port),
                                   TEXT("\r\n")};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        if (pieces[i].length == 0) continue;
        memcpy(out->at, pieces[i].data, pieces[i].length);
        put(out, pieces[i].length);
    }
}

bool headers_write_request(struct flow *flow, const struct belay_admission *admission)
{
    const struct http1_head *request = flow->request;
    const struct conf_address *address =
        &flow->setup->conf->targets[flow->route->target].addresses[0];
    size_t line_bytes = request->method_text.length + request->path.length + request->query.length;
    size_t host_bytes = request->authority.length + strlen(address->host);
    size_t bytes_max = OWN_FIELDS_BYTES_MAX + line_bytes + host_bytes +
                       flow->facts.forwarded_bytes_max + 3 * flow->operation_id_length +
                       flow->setup->names.deadline_out.length + flow->facts.retry_owner.length;
    size_t room;
    buf_clear(&flow->head);
    char *start = buf_reserve(&flow->head, bytes_max, &room);
    if (!start || room < bytes_max) return false;
    struct out out = {start, room};
    uint64_t ms = pass_on_ms(admission);
    put(&out, http1_write_forward_line(out.at, out.room, request));
    put_host(&out, request, address);
    put_forwarded(&out, flow, ms);
    put_number(&out, flow->setup->names.deadline_out, ms);
    put_ids(&out, flow, admission->attempt);
    put_framing(&out, flow);
    memcpy(out.at, "\r\n", 2);
    put(&out, 2);
    if (flow->upload.streaming && flow->upload.chunked) {
        put(&out, http1_write_chunk_head(out.at, out.room, buf_length(&flow->upload.body) - 2));
    }
    buf_wrote(&flow->head, (size_t)(out.at - start));
    return true;
}
