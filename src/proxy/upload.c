/* upload.c: the request's body: collected so that it can be repeated, or streamed when it is too
 * large (semantics 3).
 *
 * What streams goes through one buffer: a piece is framed into it, and the client is paused until
 * it is gone.
 */
#include "proxy/flow.h"

#define CHUNK_HEAD_BYTES_MAX 20
#define PIECE_BYTES_MAX ((size_t)64 * 1024) /* over the replay buffer, before the client pauses */

static size_t replay_bytes_max(const struct flow *flow)
{
    return flow->route->policy.replay_buffer_bytes_max;
}

/* The collected part becomes the first of a stream; of a chunked one it is the first chunk, whose
 * size line stands at the end of the head. */
static void begin_streaming(struct flow *flow)
{
    flow->upload.streaming = true;
    flow->upload.chunked = flow->request->framing == HTTP1_CHUNKED;
    if (flow->upload.chunked && !buf_add(&flow->upload.body, "\r\n", 2)) {
        flow_starve(flow);
        return;
    }
    server_body_pause(flow->exchange);
    flow_ask(flow);
}

void upload_begin(struct flow *flow)
{
    const struct http1_head *request = flow->request;
    flow->upload.body.bytes_max = replay_bytes_max(flow) + PIECE_BYTES_MAX;
    bool none = request->framing == HTTP1_NO_BODY ||
                (request->framing == HTTP1_LENGTH && request->content_length == 0);
    flow->upload.whole = none;
    if (none || belay_instant_since(flow->deadline_at, rt_now(flow->proxy->rt)).ns <= 0) {
        flow_ask(flow);
    } else if (request->framing == HTTP1_LENGTH &&
               request->content_length > replay_bytes_max(flow)) {
        begin_streaming(flow);
    }
}

static void collect(struct flow *flow, struct belay_slice piece, bool end)
{
    struct upload *upload = &flow->upload;
    if (!buf_add(&upload->body, piece.data, piece.length)) {
        flow_starve(flow);
        return;
    }
    upload->whole = end;
    if (end)
        flow_ask(flow);
    else if (buf_length(&upload->body) > replay_bytes_max(flow))
        begin_streaming(flow);
}

/* Gives the target what waits; pauses the client until it is gone. */
static void push(struct flow *flow)
{
    struct upload *upload = &flow->upload;
    size_t taken = client_call_body(&flow->call, buf_slice(&upload->body), upload->whole);
    buf_drop(&upload->body, taken);
    if (buf_length(&upload->body) > 0)
        server_body_pause(flow->exchange);
    else if (!upload->whole)
        server_body_resume(flow->exchange);
}

static bool frame(struct flow *flow, struct belay_slice piece, bool end)
{
    struct buf *body = &flow->upload.body;
    if (!flow->upload.chunked) return buf_add(body, piece.data, piece.length);
    char head[CHUNK_HEAD_BYTES_MAX];
    bool fits = true;
    if (piece.length > 0) {
        size_t length = http1_write_chunk_head(head, sizeof head, piece.length);
        fits = buf_add(body, head, length) && buf_add(body, piece.data, piece.length) &&
               buf_add(body, "\r\n", 2);
    }
    return fits && (!end || buf_add(body, "0\r\n\r\n", 5));
}

void upload_take(struct flow *flow, struct belay_slice piece, bool end)
{
    struct upload *upload = &flow->upload;
    if (flow->state == FLOW_COLLECTING) {
        collect(flow, piece, end);
        return;
    }
    upload->whole |= end;
    if (!flow->call_runs || !upload->gone)
        return; /* the answer came first: nobody wants the rest */
    if (!frame(flow, piece, end)) {
        flow_starve(flow);
        return;
    }
    push(flow);
}

void upload_go_on(struct flow *flow)
{
    struct upload *upload = &flow->upload;
    if (!upload->gone) {
        upload->gone = true;
        buf_clear(&upload->body);
    }
    if (buf_length(&upload->body) > 0)
        push(flow);
    else
        server_body_resume(flow->exchange);
}

bool upload_waits_for_client(const struct flow *flow)
{
    return !flow->upload.whole && flow->upload.gone && buf_length(&flow->upload.body) == 0;
}
