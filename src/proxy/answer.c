/* answer.c: what the client is given: the target's answer as it comes, one that was held, or an
 * honest error. */
#include "proxy/flow.h"
#include "base/check.h"
#include "proxy/route.h"

#include <stdio.h>

/* ---- passing on ---- */

/* The server writes framing and Connection by itself; the operation's id is ours. */
static bool is_passed_on(const struct http1_field *field)
{
    return !field->hop_by_hop && field->id != HTTP1_CONTENT_LENGTH &&
           field->id != HTTP1_OPERATION_ID;
}

static enum http1_framing towards_client(enum http1_framing framing)
{
    return framing == HTTP1_UNTIL_CLOSE ? HTTP1_CHUNKED : framing;
}

static void start(struct flow *flow, int status, enum http1_framing framing, uint64_t length,
                  bool has_length)
{
    server_answer_field(flow->exchange, TEXT("X-Operation-Id"), flow_operation_id(flow));
    server_answer_start(flow->exchange, towards_client(framing), length, has_length);
    flow->answer = status;
    flow->state = FLOW_STREAMING;
}

void answer_pass_on(struct flow *flow, const struct http1_head *head)
{
    server_answer_begin(flow->exchange, head->status, head->reason_phrase);
    for (size_t i = 0; i < head->field_count; i++) {
        const struct http1_field *field = &head->fields[i];
        if (is_passed_on(field)) server_answer_field(flow->exchange, field->name, field->value);
    }
    start(flow, head->status, head->framing, head->content_length, head->has_content_length);
}

/* ---- holding ---- */

static bool hold_text(struct held *held, struct belay_slice text)
{
    uint32_t length = (uint32_t)text.length;
    return buf_add(&held->fields, &length, sizeof length) &&
           buf_add(&held->fields, text.data, text.length);
}

static struct belay_slice take_text(struct belay_slice *fields)
{
    uint32_t length;
    CHECK(fields->data && fields->length >= sizeof length);
    memcpy(&length, fields->data, sizeof length);
    struct belay_slice text = belay_slice(fields->data + sizeof length, length);
    fields->data += sizeof length + length;
    fields->length -= sizeof length + length;
    return text;
}

void answer_hold(struct flow *flow, const struct http1_head *head)
{
    struct held *held = &flow->held;
    held->any = true;
    held->whole = held->lost = false;
    held->status = head->status;
    held->framing = head->framing;
    held->content_length = head->content_length;
    held->has_content_length = head->has_content_length;
    held->body.bytes_max = flow->route->policy.held_answer_bytes_max;
    buf_clear(&held->fields);
    buf_clear(&held->body);
    bool fits = hold_text(held, head->reason_phrase);
    for (size_t i = 0; fits && i < head->field_count; i++) {
        const struct http1_field *field = &head->fields[i];
        if (is_passed_on(field))
            fits = hold_text(held, field->name) && hold_text(held, field->value);
    }
    bool large = head->framing == HTTP1_LENGTH && head->content_length > held->body.bytes_max;
    held->lost = !fits || large;
}

void answer_hold_body(struct flow *flow, struct belay_slice piece)
{
    struct held *held = &flow->held;
    held->lost = held->lost || !buf_add(&held->body, piece.data, piece.length);
}

void answer_give_held(struct flow *flow)
{
    struct held *held = &flow->held;
    if (held->lost) {
        struct problem problem = problem_of_status(held->status);
        if (flow->outcome.has_retry_after)
            problem_set_retry_after(&problem, flow->outcome.retry_after_ms);
        answer_problem(flow, &problem);
        return;
    }
    struct belay_slice fields = buf_slice(&held->fields);
    server_answer_begin(flow->exchange, held->status, take_text(&fields));
    while (fields.length > 0) {
        struct belay_slice name = take_text(&fields), value = take_text(&fields);
        server_answer_field(flow->exchange, name, value);
    }
    bool counted = held->whole && held->framing != HTTP1_NO_BODY;
    if (counted)
        start(flow, held->status, HTTP1_LENGTH, buf_length(&held->body), true);
    else
        start(flow, held->status, held->framing, held->content_length, held->has_content_length);
    if (buf_length(&held->body) > 0)
        flow->paused = !server_answer_body(flow->exchange, buf_slice(&held->body));
    if (held->whole) {
        flow->proxy->stats.passed_on++;
        flow_close(flow, server_answer_end);
    }
}

/* ---- honest errors ---- */

static void put_allow(struct flow *flow)
{
    char allow[128];
    struct route_match match =
        route_find(flow->setup->listener, flow->request->path, flow->request->method);
    server_answer_field(flow->exchange, TEXT("Allow"),
                        belay_slice(allow, route_allow(match.allowed, allow, 128)));
}

void answer_problem(struct flow *flow, const struct problem *problem)
{
    struct server_exchange *exchange = flow->exchange;
    char body[PROBLEM_BYTES_MAX], status[PROBLEM_PROXY_STATUS_BYTES_MAX], seconds[24];
    size_t length = problem_write(problem, flow_operation_id(flow), body);
    server_answer_begin(exchange, problem->status,
                        belay_slice_z(http1_reason_phrase(problem->status)));
    server_answer_field(exchange, TEXT("Content-Type"), TEXT("application/problem+json"));
    server_answer_field(exchange, TEXT("Cache-Control"), TEXT("no-store"));
    server_answer_field(exchange, TEXT("Proxy-Status"),
                        belay_slice(status, problem_write_proxy_status(problem, status)));
    if (problem->has_retry_after) {
        int digits =
            snprintf(seconds, sizeof seconds, "%llu", (unsigned long long)problem->retry_after_s);
        server_answer_field(exchange, TEXT("Retry-After"), belay_slice(seconds, (size_t)digits));
    }
    if (problem->status == 405) put_allow(flow);
    start(flow, problem->status, HTTP1_LENGTH, length, true);
    if (flow->request->method != BELAY_METHOD_HEAD) {
        (void)!server_answer_body(exchange,
                                  belay_slice(body, length)); /* smaller than any backlog's mark */
    }
    flow->proxy->stats.honest_errors++;
    flow_close(flow, server_answer_end);
}
