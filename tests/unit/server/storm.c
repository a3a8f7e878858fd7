/* storm.c: random clients against a random handler: answers come in order and whole or visibly cut,
 * bodies arrive as they were sent, every request is ended exactly once, and nothing is left behind.
 */
#include "world.h"

#include "base/check.h"
#include "base/rng.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#define CLIENTS 4
#define REQUESTS_MAX 12
#define BODY_MAX 20000   /* of a request; longer than a buffer */
#define ANSWER_MAX 30000 /* likewise */
#define PIECE_MAX 10000

/* What the handler does with one request. */
struct job {
    struct list node;
    struct storm *storm;
    struct server_exchange *exchange;
    unsigned number;      /* of its connection, from the path */
    uint64_t body_bytes;  /* seen so far */
    uint64_t body_length; /* announced in the path */
    bool body_end, paused, started, chunked, full;
    uint64_t left; /* of the answer */
};

struct client {
    struct rt_conn *conn;
    char *script; /* what is still to be sent */
    size_t sent, length;
    unsigned requests;
};

struct storm {
    struct world world;
    struct rng rng;
    struct list jobs;
    struct client clients[CLIENTS];
    unsigned begun, ended, gone;
    bool calling; /* the handler is inside a call to the server, which must not call back */
};

static uint64_t roll(struct storm *storm, uint64_t sides)
{
    return rng_scale(rng_next(&storm->rng), sides);
}

/* Byte i of the body of request n is known to both sides. */
static char body_byte(unsigned number, uint64_t i)
{
    return (char)('a' + (number * 7 + i) % 26);
}

/* ---- the handler ---- */

static void job_end(struct job *job)
{
    list_remove(&job->node);
    free(job);
}

static void job_answer(struct job *job)
{
    job->chunked = roll(job->storm, 2) == 0;
    job->left = roll(job->storm, 2) == 0 ? roll(job->storm, 100) : roll(job->storm, ANSWER_MAX);
    job->started = true;
    char length[24];
    int digits = snprintf(length, sizeof length, "%u", job->number);
    server_answer_begin(job->exchange, 200, belay_slice_z("OK"));
    server_answer_field(job->exchange, belay_slice_z("X-Number"),
                        belay_slice(length, (size_t)digits));
    server_answer_start(job->exchange, job->chunked ? HTTP1_CHUNKED : HTTP1_LENGTH, job->left,
                        !job->chunked);
}

static void job_give(struct job *job)
{
    char piece[PIECE_MAX];
    uint64_t some = 1 + roll(job->storm, PIECE_MAX - 1);
    if (some > job->left) some = job->left;
    memset(piece, (int)('0' + job->number % 10), some);
    job->left -= some;
    if (some > 0) job->full = !server_answer_body(job->exchange, belay_slice(piece, some));
    if (job->left > 0) return;
    struct server_exchange *exchange = job->exchange;
    job->storm->ended++;
    job_end(job);
    server_answer_end(exchange);
}

/* One thing that a handler may do at any time. */
static void job_do(struct job *job)
{
    switch (roll(job->storm, 16)) {
    case 0:
        job->paused = true;
        server_body_pause(job->exchange);
        break;
    case 1:
    case 2:
        job->paused = false;
        server_body_resume(job->exchange);
        break;
    case 3:
        if (roll(job->storm, 20) != 0) break;
        job->storm->ended++;
        server_abort(job->exchange);
        job_end(job);
        break;
    default:
        if (!job->started) {
            if (job->body_end || roll(job->storm, 30) == 0) job_answer(job);
        } else if (!job->full) {
            job_give(job);
        }
    }
}

static void job_step(struct job *job)
{
    struct storm *storm = job->storm;
    storm->calling = true;
    job_do(job);
    storm->calling = false;
}

static void on_request(void *owner, struct server_exchange *exchange)
{
    struct storm *storm = owner;
    struct job *job = calloc(1, sizeof *job);
    const struct http1_head *head = server_request_head(exchange);
    unsigned long long length;
    assert_false(storm->calling);
    assert_int_equal(sscanf(head->path.data, "/%u/%llu ", &job->number, &length), 2);
    job->body_length = length;
    job->storm = storm;
    job->exchange = exchange;
    job->body_end = head->framing == HTTP1_NO_BODY;
    server_set_user(exchange, job);
    list_push_back(&storm->jobs, &job->node);
    assert_int_equal(job->number, server_request_number(exchange)); /* in order, none left out */
    storm->begun++;
    job_step(job);
}

static void on_body(void *owner, struct server_exchange *exchange, struct belay_slice piece,
                    bool end)
{
    struct job *job = server_user(exchange);
    (void)owner;
    assert_false(job->storm->calling);
    assert_false(job->body_end);
    assert_false(job->paused);
    for (size_t i = 0; i < piece.length; i++) {
        assert_int_equal(piece.data[i], body_byte(job->number, job->body_bytes + i));
    }
    job->body_bytes += piece.length;
    job->body_end = end;
    if (end) assert_int_equal(job->body_bytes, job->body_length);
    job_step(job);
}

static void on_writable(void *owner, struct server_exchange *exchange)
{
    struct job *job = server_user(exchange);
    (void)owner;
    assert_false(job->storm->calling);
    assert_true(job->full);
    job->full = false;
    job_step(job);
}

static void on_gone(void *owner, struct server_exchange *exchange, const struct http1_error *error)
{
    struct storm *storm = owner;
    (void)error;
    assert_false(storm->calling);
    storm->gone++;
    job_end(server_user(exchange));
}

static void on_bad_request(void *owner, const struct http1_error *error,
                           struct belay_instant began_at)
{
    (void)owner;
    (void)began_at;
    assert_true(error->status == 408 ||
                error->status == 400); /* too slow, or cut short: never misread */
}

/* ---- the clients ---- */

static size_t write_request(struct storm *storm, unsigned number, char *at)
{
    static const char *const extras[] = {"", "", "", "Expect: 100-continue\r\n"};
    unsigned length = (unsigned)roll(storm, 3);
    length = length == 0 ? 0 : (unsigned)roll(storm, length == 1 ? 1000 : BODY_MAX);
    char *start = at;
    bool chunked = length > 0 && roll(storm, 2) == 0;
    at += sprintf(at, "%s /%u/%u HTTP/1.1\r\nHost: a\r\n%s", length > 0 ? "POST" : "GET", number,
                  length, extras[roll(storm, 4)]);
    if (length == 0) return (size_t)(at + sprintf(at, "\r\n") - start);
    if (chunked)
        at += sprintf(at, "Transfer-Encoding: chunked\r\n\r\n");
    else
        at += sprintf(at, "Content-Length: %u\r\n\r\n", length);
    for (unsigned i = 0; i < length;) {
        unsigned some = chunked ? 1 + (unsigned)roll(storm, length - i) : length;
        if (chunked) at += sprintf(at, "%x\r\n", some);
        for (unsigned end = i + some; i < end; i++) *at++ = body_byte(number, i);
        if (chunked) at += sprintf(at, "\r\n");
    }
    if (chunked) at += sprintf(at, "0\r\n\r\n");
    return (size_t)(at - start);
}

static void client_connect(struct storm *storm, struct client *client)
{
    client->requests = 1 + (unsigned)roll(storm, REQUESTS_MAX);
    client->script = malloc(REQUESTS_MAX * (BODY_MAX * 8 + 400));
    client->sent = client->length = 0;
    for (unsigned i = 0; i < client->requests; i++) {
        client->length += write_request(storm, i, client->script + client->length);
    }
    client->conn = world_connect(&storm->world);
    client->conn->read_max = 1 + roll(storm, 5000);
    client->conn->write_max = 1 + roll(storm, 5000);
}

static void client_step(struct storm *storm, struct client *client)
{
    struct rt_conn *conn = client->conn;
    uint64_t dice = roll(storm, 1000);
    if (conn->closed) return;
    if (dice < 2) {
        conn->in_reset = true;
    } else if (dice < 4) {
        conn->in_end = true;
    } else if (dice < 100) {
        conn->write_room = roll(storm, 2000);
    } else if (dice < 300) {
        conn->write_room = SIZE_MAX;
    } else if (dice < 320) {
        conn->events->ready(conn->owner, RT_READ | RT_WRITE); /* for nothing, maybe */
    } else if (dice < 900 && client->sent < client->length && !conn->in_end) {
        size_t some = 1 + roll(storm, client->length - client->sent);
        assert_true(buf_add(&conn->in, client->script + client->sent, some));
        client->sent += some;
    }
}

/* What came back: answers 0, 1, 2..., each whole, the last one perhaps cut. */
static void client_check(const struct rt_conn *conn)
{
    struct belay_slice rest = buf_slice(&conn->out);
    struct http1_limits limits = http1_limits_default();
    static struct http1_head head;
    unsigned expected = 0;
    while (rest.length > 0) {
        struct http1_scan scan = {0};
        struct http1_error error;
        size_t used;
        enum http1_step step =
            http1_parse_response(&scan, &limits, BELAY_METHOD_GET, rest, &head, &used, &error);
        if (step == HTTP1_MORE) return;
        assert_int_equal(step, HTTP1_DONE);
        rest = belay_slice(rest.data + used, rest.length - used);
        if (head.status == 100) continue;
        if (head.status != 200) return; /* the server's own refusal is the last */
        bool found = false;
        for (size_t i = 0; i < head.field_count; i++) {
            if (!belay_slice_equal(head.fields[i].name, belay_slice_z("X-Number"))) continue;
            assert_int_equal(strtoul(head.fields[i].value.data, NULL, 10), expected);
            found = true;
        }
        assert_true(found);
        struct http1_body body;
        http1_body_init(&body, &limits, head.framing, head.content_length);
        for (step = HTTP1_MORE; step == HTTP1_MORE;) {
            struct belay_slice piece;
            step = http1_body_step(&body, rest, &used, &piece, &error);
            assert_int_not_equal(step, HTTP1_BAD);
            for (size_t i = 0; i < piece.length; i++)
                assert_int_equal(piece.data[i], '0' + (int)(expected % 10));
            rest = belay_slice(rest.data + used, rest.length - used);
            if (step == HTTP1_MORE && rest.length == 0) return;
        }
        expected++;
    }
}

/* ---- the storm ---- */

static void storm_step(struct storm *storm)
{
    client_step(storm, &storm->clients[roll(storm, CLIENTS)]);
    if (!list_empty(&storm->jobs) && roll(storm, 2) == 0) {
        struct list *node = storm->jobs.next;
        for (uint64_t skip = roll(storm, 3); skip > 0 && node->next != &storm->jobs; skip--)
            node = node->next;
        job_step(CONTAINER_OF(node, struct job, node));
    }
    if (roll(storm, 50) == 0) {
        world_pass(&storm->world, belay_span_ms((int64_t)roll(storm, 300)));
    } else {
        world_settle(&storm->world);
    }
}

static uint64_t latest_seed;
static struct {
    unsigned begun, ended, gone;
} total;

static void run_storm(uint64_t seed)
{
    static const struct server_handler handler = {.request = on_request,
                                                  .body = on_body,
                                                  .writable = on_writable,
                                                  .gone = on_gone,
                                                  .bad_request = on_bad_request};
    struct storm storm = {.world = {.handler = &handler}};
    storm.world.owner = &storm;
    rng_seed(&storm.rng, seed);
    list_init(&storm.jobs);
    storm.world.limits = (struct server_limits){.http1 = http1_limits_default(),
                                                .head_for = belay_span_ms(5000),
                                                .idle_for = belay_span_ms(4000),
                                                .silence_for = belay_span_ms(2000),
                                                .connections_max = CLIENTS,
                                                .backlog_bytes_max = 2000};
    storm.world.limits.http1.head_bytes_max = 200; /* and so a small buffer */
    world_start(&storm.world);
    for (int i = 0; i < CLIENTS; i++) client_connect(&storm, &storm.clients[i]);
    for (int i = 0; i < 600; i++) storm_step(&storm);
    if (roll(&storm, 2) == 0) {
        for (int i = 0; i < CLIENTS; i++) storm.clients[i].conn->in_reset = true;
        for (int i = 0; i < CLIENTS; i++) {
            struct rt_conn *conn = storm.clients[i].conn;
            if (!conn->closed) conn->events->ready(conn->owner, RT_READ);
        }
        world_pass(&storm.world, belay_span_ms(20000));
    }
    for (int i = 0; i < CLIENTS; i++) {
        client_check(storm.clients[i].conn);
        free(storm.clients[i].script);
    }
    unsigned left = 0;
    while (!list_empty(&storm.jobs)) {
        job_end(CONTAINER_OF(storm.jobs.next, struct job, node));
        left++;
    }
    assert_int_equal(storm.begun, storm.ended + storm.gone + left);
    total.begun += storm.begun;
    total.ended += storm.ended;
    total.gone += storm.gone;
    world_stop(&storm.world);
}

static void storms(void **state)
{
    (void)state;
    const char *given = getenv("BELAY_SEED");
    uint64_t first = given ? strtoull(given, NULL, 10) : 1;
    uint64_t count = given ? 1 : 500;
    for (uint64_t seed = first; seed < first + count; seed++) {
        latest_seed = seed;
        run_storm(seed);
    }
    print_message("%u requests, %u answered, %u lost\n", total.begun, total.ended, total.gone);
    assert_true(total.ended > total.begun / 2); /* storms that drown everything test nothing */
}

static int tell_seed(void **state)
{
    (void)state;
    print_message("the latest seed was %llu; BELAY_SEED repeats one\n",
                  (unsigned long long)latest_seed);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(storms, tell_seed)};
    return cmocka_run_group_tests_name("server storm", tests, NULL, NULL);
}
