/* admin.c: the admin listener: answers each path from one snapshot. */
#include "admin/admin.h"
#include "base/text.h"

#include "admin/metrics.h"

#include <stdlib.h>

#define BODY_BYTES_MAX ((size_t)16 * 1024 * 1024)

struct admin {
    struct server *server;
    void (*snapshot)(void *owner, struct admin_snapshot *out);
    void *owner;
    bool draining;
    struct buf body; /* of the answer being given */
};

static const char plain_text[] = "text/plain; charset=utf-8";

static void answer(struct server_exchange *exchange, int status, const char *type,
                   struct belay_slice body)
{
    server_answer_begin(exchange, status, belay_slice_z(http1_reason_phrase(status)));
    server_answer_field(exchange, TEXT("Content-Type"), belay_slice_z(type));
    server_answer_field(exchange, TEXT("Cache-Control"), TEXT("no-store"));
    if (status == 405) server_answer_field(exchange, TEXT("Allow"), TEXT("GET, HEAD"));
    server_answer_start(exchange, HTTP1_LENGTH, body.length, true);
    server_answer_body(exchange, body);
    server_answer_end(exchange);
}

static void answer_live(struct admin *admin, struct server_exchange *exchange)
{
    (void)admin;
    answer(exchange, 200, plain_text, TEXT("alive\n"));
}

static void answer_ready(struct admin *admin, struct server_exchange *exchange)
{
    if (admin->draining) {
        answer(exchange, 503, plain_text, TEXT("draining\n"));
    } else {
        answer(exchange, 200, plain_text, TEXT("ready\n"));
    }
}

static void answer_written(struct admin *admin, struct server_exchange *exchange, const char *type,
                           bool (*write)(const struct admin_snapshot *, struct buf *))
{
    struct admin_snapshot snapshot = {0};
    admin->snapshot(admin->owner, &snapshot);
    if (write(&snapshot, &admin->body)) {
        answer(exchange, 200, type, buf_slice(&admin->body));
    } else {
        answer(exchange, 503, plain_text, TEXT("no memory is left for this page\n"));
    }
    buf_deinit(&admin->body);
}

static void answer_metrics(struct admin *admin, struct server_exchange *exchange)
{
    answer_written(admin, exchange, "text/plain; version=0.0.4; charset=utf-8", metrics_write);
}

static void answer_targets(struct admin *admin, struct server_exchange *exchange)
{
    answer_written(admin, exchange, "application/json", metrics_write_targets);
}

static const struct page {
    const char *path;
    void (*answer)(struct admin *admin, struct server_exchange *exchange);
} pages[] = {
    {"/livez", answer_live},
    {"/readyz", answer_ready},
    {"/metrics", answer_metrics},
    {"/targets", answer_targets},
};

static void on_request(void *owner, struct server_exchange *exchange)
{
    const struct http1_head *head = server_request_head(exchange);
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        if (!belay_slice_equal(head->path, belay_slice_z(pages[i].path))) continue;
        if (head->method == BELAY_METHOD_GET || head->method == BELAY_METHOD_HEAD) {
            pages[i].answer(owner, exchange);
        } else {
            answer(exchange, 405, plain_text, TEXT("GET it\n"));
        }
        return;
    }
    answer(exchange, 404, plain_text, TEXT("there are /livez, /readyz, /metrics and /targets\n"));
}

/* Every request is answered at once: nothing else is ever told of it. */
static void on_body(void *owner, struct server_exchange *exchange, struct belay_slice piece,
                    bool end)
{
    (void)owner;
    (void)exchange;
    (void)piece;
    (void)end;
}

static void on_writable(void *owner, struct server_exchange *exchange)
{
    (void)owner;
    (void)exchange;
}

static void on_gone(void *owner, struct server_exchange *exchange, const struct http1_error *error)
{
    (void)owner;
    (void)exchange;
    (void)error;
}

static void on_bad_request(void *owner, const struct http1_error *error,
                           struct belay_instant began_at)
{
    (void)owner;
    (void)error;
    (void)began_at;
}

struct admin *admin_create(struct rt *rt, void (*snapshot)(void *owner, struct admin_snapshot *out),
                           void *owner)
{
    static const struct server_handler handler = {.request = on_request,
                                                  .body = on_body,
                                                  .writable = on_writable,
                                                  .gone = on_gone,
                                                  .bad_request = on_bad_request};
    struct server_limits limits = {
        .http1 = http1_limits_default(),
        .head_for = {5 * BELAY_NS_PER_S},
        .idle_for = {60 * BELAY_NS_PER_S},
        .silence_for = {10 * BELAY_NS_PER_S},
        .connections_max = 64,
        .backlog_bytes_max = (size_t)64 * 1024,
    };
    struct admin *admin = calloc(1, sizeof *admin);
    if (!admin) return NULL;
    admin->snapshot = snapshot;
    admin->owner = owner;
    buf_init(&admin->body, BODY_BYTES_MAX);
    admin->server = server_create(rt, &limits, &handler, admin);
    if (admin->server) return admin;
    free(admin);
    return NULL;
}

bool admin_listen(struct admin *admin, const struct rt_addr *addr, const char **error)
{
    return server_listen(admin->server, addr, error);
}

void admin_addr(const struct admin *admin, struct rt_addr *out)
{
    server_addr(admin->server, out);
}

void admin_announce_drain(struct admin *admin)
{
    admin->draining = true;
}

void admin_destroy(struct admin *admin)
{
    server_destroy(admin->server);
    free(admin);
}
