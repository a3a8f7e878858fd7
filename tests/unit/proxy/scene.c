/* scene.c: plays the clients of the proxy and reads its records (scene.h). */
#include "scene.h"

#include "base/check.h"
#include "spared.h"

#include <stdio.h>
#include <stdlib.h>

#define BYTES_MAX ((size_t)8 * 1024 * 1024)
#define ORIGIN_PORT 9000

/* ---- records ---- */

static char *out_reserve(struct event_out *out, size_t bytes)
{
    struct scene *scene = CONTAINER_OF(out, struct scene, out);
    CHECK(bytes <= sizeof scene->record);
    return scene->events_lost ? NULL : scene->record;
}

static void out_commit(struct event_out *out, size_t bytes)
{
    struct scene *scene = CONTAINER_OF(out, struct scene, out);
    CHECK(bytes > 0 && scene->record[bytes - 1] == '\n');
    spared_add(&scene->events, scene->record, bytes);
    spared_add(&scene->events, "", 1); /* the readers below search it as a string */
    scene->events.end--;
}

/* The value of a key in one record; "" when it is not there. Texts without their quotes. */
static const char *value_of(struct belay_slice record, const char *key)
{
    static char values[8][256];
    static unsigned turn;
    char *value = values[turn++ % 8], quoted[64];
    int length = snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = memmem(record.data, record.length, quoted, (size_t)length);
    value[0] = '\0';
    if (!at) return value;
    at += length;
    bool text = *at == '"';
    size_t count = text ? strcspn(at + 1, "\"") : strcspn(at, ",}");
    CHECK(count < 256);
    memcpy(value, at + text, count);
    value[count] = '\0';
    return value;
}

static bool next_record(struct belay_slice *events, struct belay_slice *record)
{
    if (events->length == 0) return false;
    const char *end = memchr(events->data, '\n', events->length);
    CHECK(end);
    *record = belay_slice(events->data, (size_t)(end - events->data) + 1);
    events->data += record->length;
    events->length -= record->length;
    return true;
}

static size_t tell_attempt(struct belay_slice record, char *out, size_t room)
{
    bool failed = strcmp(value_of(record, "status"), "null") == 0;
    const char *wait = value_of(record, "waitMs");
    return (size_t)snprintf(out, room, "%s %s%s%s %s %s%s%s%s\n", value_of(record, "attempt"),
                            value_of(record, failed ? "errorClass" : "status"), failed ? "/" : "",
                            value_of(record, "phase"), value_of(record, "decision"),
                            value_of(record, "reason"), wait[0] ? " " : "", wait,
                            value_of(record, "stale")[0] ? " stale" : "");
}

static size_t tell_operation(struct belay_slice record, char *out, size_t room)
{
    const char *result = strstr(record.data, "\"result\":{");
    CHECK(result);
    const char *effect = value_of(record, "effect"), *answer = value_of(record, "answer");
    return (size_t)snprintf(
        out, room, "= %s answer %s attempts %s%s%s\n",
        value_of(belay_slice(result, (size_t)(record.data + record.length - result)), "status"),
        answer[0] ? answer : "none", value_of(record, "attempts"), effect[0] ? " " : "", effect);
}

const char *scene_story(struct scene *scene)
{
    struct belay_slice events = buf_slice(&scene->events), record;
    size_t used = 0;
    scene->story[0] = '\0';
    while (next_record(&events, &record)) {
        char *out = scene->story + used;
        size_t room = sizeof scene->story - used;
        bool operation = memmem(record.data, record.length, "\"event\":\"operation\"", 19) != NULL;
        used += operation ? tell_operation(record, out, room) : tell_attempt(record, out, room);
        CHECK(used < sizeof scene->story);
    }
    return scene->story;
}

const char *scene_value(struct scene *scene, size_t index, const char *key)
{
    struct belay_slice events = buf_slice(&scene->events), record = {0};
    for (size_t i = 0; i <= index; i++) CHECK(next_record(&events, &record));
    return value_of(record, key);
}

/* ---- clients ---- */

static void client_over(struct scene_client *client)
{
    if (!client->conn) return;
    rt_conn_close(client->conn, RT_CLOSE_ABORT);
    client->conn = NULL;
}

static void client_write(struct scene_client *client)
{
    if (client->to_send.length > 0) {
        struct rt_io io = rt_conn_write(client->conn, &client->to_send, 1);
        size_t count = io.kind == RT_IO_OK ? io.count : 0;
        if (io.kind == RT_IO_ERROR) count = client->to_send.length;
        client->to_send.data += count;
        client->to_send.length -= count;
    }
    rt_conn_interest(client->conn,
                     (client->deaf ? 0u : RT_READ) | (client->to_send.length > 0 ? RT_WRITE : 0u));
}

static void client_read(struct scene_client *client)
{
    char bytes[16384];
    struct rt_io io = rt_conn_read(client->conn, bytes, sizeof bytes);
    if (io.kind == RT_IO_AGAIN) return;
    client->over_at_ms = scene_ms(client->scene);
    if (io.kind == RT_IO_OK) {
        spared_add(&client->got, bytes, io.count);
        return;
    }
    client->ended = io.kind == RT_IO_END;
    client->broken = io.kind == RT_IO_ERROR;
    client_over(client);
}

static void client_ready(void *owner, unsigned ready)
{
    struct scene_client *client = owner;
    if (ready & RT_WRITE) client_write(client);
    if ((ready & RT_READ) && !client->deaf) client_read(client);
}

static void client_failed(void *owner, enum belay_error_class error)
{
    struct scene_client *client = owner;
    (void)error;
    client->broken = true;
    client_over(client);
}

struct scene_client *scene_connect(struct scene *scene)
{
    static const struct rt_conn_events events = {.ready = client_ready, .failed = client_failed};
    enum belay_error_class error;
    CHECK(scene->client_count < SCENE_CLIENTS_MAX);
    struct scene_client *client = &scene->clients[scene->client_count++];
    client->scene = scene;
    buf_init(&client->got, BYTES_MAX);
    client->conn = rt_connect(scene->rt, &scene->addr, &events, client, &error);
    CHECK(client->conn);
    return client;
}

void scene_send_bytes(struct scene_client *client, struct belay_slice bytes)
{
    CHECK(client->conn && client->to_send.length == 0);
    client->to_send = bytes;
    rt_conn_interest(client->conn, (client->deaf ? 0u : RT_READ) | RT_WRITE);
}

void scene_send(struct scene_client *client, const char *bytes)
{
    scene_send_bytes(client, belay_slice_z(bytes));
}

void scene_drip(struct scene_client *client, struct belay_slice bytes)
{
    for (size_t i = 0; i < bytes.length && client->conn; i++) {
        scene_send_bytes(client, belay_slice(bytes.data + i, 1));
        while (client->conn && client->to_send.length > 0) scene_pass(client->scene, 0);
        scene_pass(client->scene, 0);
    }
}

void scene_hang_up(struct scene_client *client)
{
    client_over(client);
}

struct scene_client *scene_ask(struct scene *scene, const char *bytes)
{
    struct scene_client *client = scene_connect(scene);
    scene_send(client, bytes);
    scene_pass(scene, 30000);
    return client;
}

/* Copies without the lines that begin with one of `names`, which end with NULL. */
static const char *without(struct belay_slice text, const char *const *names)
{
    static char copies[4][65536];
    static unsigned turn;
    char *copy = copies[turn++ % 4];
    size_t used = 0;
    while (text.length > 0) {
        const char *end = memchr(text.data, '\n', text.length);
        size_t line = end ? (size_t)(end - text.data) + 1 : text.length;
        bool keep = true;
        for (size_t i = 0; names[i]; i++) {
            size_t length = strlen(names[i]);
            keep &= line < length || strncasecmp(text.data, names[i], length) != 0;
        }
        CHECK(used + line < sizeof copies[0]);
        if (keep) memcpy(copy + used, text.data, line);
        used += keep ? line : 0;
        text.data += line;
        text.length -= line;
    }
    copy[used] = '\0';
    return copy;
}

const char *scene_got(struct scene_client *client)
{
    static const char *const names[] = {"Date:", "X-Operation-Id:", NULL};
    return without(buf_slice(&client->got), names);
}

const char *scene_seen(struct scene *scene)
{
    static const char *const names[] = {
        "X-Operation-Id:", "X-Request-Id:",  "X-Request-Attempt:",    "X-Retry-Owner:",
        "traceparent:",    "Via: 1.1 belay", "X-Request-Timeout-Ms:", NULL};
    return without(buf_slice(&scene->peer.seen), names);
}

bool scene_saw(struct scene *scene, const char *text)
{
    return strstr(peer_seen(&scene->peer), text) != NULL;
}

void assert_problem(struct scene_client *client, int status, const char *word,
                    const char *proxy_error)
{
    char text[128];
    const char *got = scene_got(client);
    (void)snprintf(text, sizeof text, "HTTP/1.1 %d ", status);
    assert_memory_equal(got, text, strlen(text));
    assert_non_null(strstr(got, "\r\nContent-Type: application/problem+json\r\n"));
    (void)snprintf(text, sizeof text, "\"type\":\"urn:belay:problem:%s\"", word);
    if (!strstr(got, text)) fail_msg("no %s in %s", text, got);
    (void)snprintf(text, sizeof text, "\r\nProxy-Status: belay; error=%s\r\n", proxy_error);
    if (!strstr(got, text)) fail_msg("no %s in %s", text, got);
    (void)snprintf(text, sizeof text, "\"status\":%d,", status);
    assert_non_null(strstr(got, text));
}

/* ---- the world ---- */

static struct conf *read_conf(const char *policy, const char *routes)
{
    char text[4096];
    (void)snprintf(
        text, sizeof text,
        "defaults:\n  policy: { deadline: 2s, backoff: { kind: constant, base: 100ms } }\n"
        "targets:\n  shop:\n    addresses: [ 127.0.0.1:%d ]\n    policy: { %s }\n"
        "  other:\n    addresses: [ 127.0.0.1:%d ]\n"
        "listeners:\n  - listen: 127.0.0.1:0\n    kind: egress\n%s%s",
        ORIGIN_PORT, policy, ORIGIN_PORT, routes ? "    routes:\n" : "    target: shop\n",
        routes ? routes : "");
    struct conf *conf = NULL;
    if (conf_parse("scene", belay_slice_z(text), stderr, &conf) != CONF_GOOD) fail_msg("%s", text);
    return conf;
}

static struct proxy_options options_of(struct scene *scene)
{
    return (struct proxy_options){.targets = scene->targets, .events = &scene->out};
}

void scene_seeded(struct scene *scene, const char *policy, const char *routes, uint64_t seed)
{
    const char *error;
    memset(scene, 0, sizeof *scene);
    scene->rt = rt_create(seed);
    peer_start(&scene->peer, scene->rt, ORIGIN_PORT);
    scene->out = (struct event_out){.reserve = out_reserve, .commit = out_commit};
    buf_init(&scene->events, BYTES_MAX);
    scene->conf = read_conf(policy, routes);
    for (size_t i = 0; i < 2; i++) {
        void *memory = malloc(belay_target_size());
        CHECK(memory);
        scene->targets[i] = belay_target_init(memory, &scene->conf->targets[i].policy, seed);
    }
    struct proxy_options options = options_of(scene);
    scene->proxy = proxy_create(scene->rt, scene->conf, &options);
    struct rt_addr any = {.family = 4, .ip = {127, 0, 0, 1}};
    assert_true(proxy_listen(scene->proxy, &any, &error));
    proxy_addr(scene->proxy, &scene->addr);
}

void scene_init(struct scene *scene, const char *policy, const char *routes)
{
    scene_seeded(scene, policy, routes, 7);
}

void scene_configure(struct scene *scene, const char *policy, const char *routes)
{
    conf_give(scene->conf);
    scene->conf = read_conf(policy, routes);
    struct proxy_options options = options_of(scene);
    assert_true(proxy_prepare(scene->proxy, scene->conf, &options));
    proxy_commit(scene->proxy);
}

void scene_deinit(struct scene *scene)
{
    for (size_t i = 0; i < scene->client_count; i++) client_over(&scene->clients[i]);
    scene_pass(scene, 1);
    assert_int_equal(scene_stats(scene).running, 0);
    proxy_destroy(scene->proxy);
    conf_give(scene->conf);
    for (size_t i = 0; i < 2; i++) {
        struct belay_target_stats stats;
        belay_target_stats(scene->targets[i], rt_now(scene->rt), &stats);
        assert_int_equal(stats.in_flight + stats.waiting, 0);
        belay_target_deinit(scene->targets[i]);
        free(scene->targets[i]);
    }
    peer_stop(&scene->peer);
    scene_pass(scene, 1);
    struct sim_open open;
    sim_open(scene->rt, &open);
    assert_int_equal(open.conns + open.listeners + open.resolves + open.timers + open.hooks, 0);
    rt_destroy(scene->rt);
    buf_deinit(&scene->events);
    for (size_t i = 0; i < scene->client_count; i++) buf_deinit(&scene->clients[i].got);
}

static void on_passed(struct rt_timer *timer)
{
    (void)timer;
}

/* A world in which nothing can happen does not wait: a timer of our own makes time pass. */
void scene_pass(struct scene *scene, int64_t span_ms)
{
    struct rt_timer timer;
    struct belay_instant until = belay_instant_add(rt_now(scene->rt), belay_span_ms(span_ms));
    rt_timer_init(&timer, on_passed);
    rt_timer_arm(scene->rt, &timer, until);
    sim_run_until(scene->rt, until);
    rt_timer_disarm(scene->rt, &timer);
}

int64_t scene_ms(const struct scene *scene)
{
    return (rt_now(scene->rt).ns - SIM_START_NS) / BELAY_NS_PER_MS;
}

struct proxy_stats scene_stats(const struct scene *scene)
{
    struct proxy_stats stats;
    proxy_stats(scene->proxy, &stats);
    return stats;
}
