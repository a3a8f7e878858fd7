/* flaky_act.c: plays each request of `belay flaky` as its script says. */
#include "app/flaky_act.h"
#include "base/text.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/rng.h"
#include "event/json.h"

#include <stdio.h>
#include <stdlib.h>

#define ECHO_BYTES_MAX ((size_t)8 << 20)
#define PIECE_BYTES 16384
#define REQUEST_ID_BYTES_MAX 1024 /* escaped */

enum finish { FINISH_WHOLE, FINISH_CLOSE, FINISH_RESET, FINISH_SHUT };

/* One request under way. The script and the names borrow from the request's head. */
struct act {
    struct list node;
    struct flaky *flaky;
    struct server_exchange *exchange;
    struct flaky_script script;
    struct belay_slice operation; /* its id, else the path */
    struct rt_timer timer;        /* the delay, then the drip */
    uint64_t call;                /* the number of this one for its key, from 1 */
    bool fails, half_closed, silent, dripping, ending;
    bool body_counted;
    uint64_t body_bytes; /* of the request */
    struct buf echo;
    uint64_t left; /* of the answer's body */
    enum finish finish;
};

static void act_destroy(struct act *act)
{
    rt_timer_disarm(act->flaky->rt, &act->timer);
    list_remove(&act->node);
    buf_deinit(&act->echo);
    free(act);
}

void flaky_forget_acts(struct flaky *flaky)
{
    while (!list_empty(&flaky->acts)) act_destroy(CONTAINER_OF(flaky->acts.next, struct act, node));
}

/* ---- what is said of it ---- */

/* Ids and paths come from outside: what could command a terminal is not printed. */
static void print_visible(struct belay_slice text)
{
    for (size_t i = 0; i < text.length && i < 200; i++) {
        char c = text.data[i];
        putchar(c > 32 && c < 127 ? c : '?');
    }
}

static void act_tell(struct act *act, const char *what)
{
    const struct http1_head *head = server_request_head(act->exchange);
    if (act->flaky->quiet) return;
    print_visible(head->method_text);
    putchar(' ');
    print_visible(head->path);
    fputs(" (", stdout);
    print_visible(act->script.key.length > 0 ? act->script.key : act->operation);
    printf(" call %llu): %s\n", (unsigned long long)act->call, what);
}

static void act_tell_status(struct act *act, int status)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", status);
    act->flaky->statuses[status]++;
    act_tell(act, text);
}

/* With its id, so that a client's own account of its calls can be matched with ours. */
static void record_call(struct flaky *flaky, const struct http1_head *head, const char *plays)
{
    const struct http1_field *id = http1_find(head, HTTP1_REQUEST_ID);
    char escaped[REQUEST_ID_BYTES_MAX + JSON_SLACK_BYTES];
    if (!flaky->calls) return;
    char *end = event_json_escape(escaped, id ? id->value : TEXT(""), REQUEST_ID_BYTES_MAX);
    fprintf(flaky->calls, "{\"requestId\":\"%.*s\",\"plays\":\"%s\"}\n", (int)(end - escaped),
            escaped, plays);
}

/* The totals, the operation and the key, where it has a name of its own. */
static size_t act_tallies(struct act *act, struct flaky_tally *tallies[3])
{
    struct flaky_counts *counts = act->flaky->counts;
    bool own_key =
        act->script.key.length > 0 && !belay_slice_equal(act->script.key, act->operation);
    tallies[0] = flaky_counts_totals(counts);
    tallies[1] = &flaky_counts_take(counts, act->operation)->tally;
    if (own_key) tallies[2] = &flaky_counts_take(counts, act->script.key)->tally;
    return own_key ? 3 : 2;
}

static void act_count_call(struct act *act)
{
    struct flaky_tally *tallies[3];
    enum belay_method method = server_request_head(act->exchange)->method;
    size_t count = act_tallies(act, tallies);
    for (size_t i = 0; i < count; i++) {
        tallies[i]->calls++;
        tallies[i]->methods[method]++;
    }
}

static void act_take_turn(struct act *act)
{
    struct belay_slice key = act->script.key.length > 0 ? act->script.key : act->operation;
    act->call = ++flaky_counts_take(act->flaky->counts, key)->turns;
    act->fails =
        act->call <= (uint64_t)act->script.fail_first && flaky_script_can_fail(&act->script);
}

/* What is to be played. */
static enum flaky_fault act_fault(const struct act *act)
{
    bool waits_for_reuse =
        act->script.fault == FLAKY_CLOSE_ON_REUSE && server_request_number(act->exchange) == 0;
    return act->fails && !waits_for_reuse ? act->script.fault : FLAKY_NONE;
}

static int act_status(const struct act *act)
{
    return act->fails && act->script.status != 0 ? act->script.status : 200;
}

static void act_record(const struct act *act)
{
    char status[16];
    enum flaky_fault fault = act_fault(act);
    (void)snprintf(status, sizeof status, "%d", act_status(act));
    record_call(act->flaky, server_request_head(act->exchange),
                fault == FLAKY_NONE ? status : flaky_fault_name(fault));
}

static void act_count_body(struct act *act, bool complete)
{
    struct flaky_tally *tallies[3];
    size_t count = act_tallies(act, tallies);
    act->body_counted = true;
    for (size_t i = 0; i < count; i++) {
        tallies[i]->bodies_complete += complete;
        tallies[i]->bodies_cut += !complete;
        tallies[i]->body_bytes += act->body_bytes;
    }
}

/* ---- answers ---- */

void flaky_answer(struct server_exchange *exchange, int status, struct belay_slice type,
                  struct belay_slice body)
{
    server_answer_begin(exchange, status, belay_slice_z(http1_reason_phrase(status)));
    server_answer_field(exchange, TEXT("Content-Type"), type);
    server_answer_start(exchange, HTTP1_LENGTH, body.length, true);
    server_answer_body(exchange, body);
    server_answer_end(exchange);
}

static void act_finish(struct act *act)
{
    struct server_exchange *exchange = act->exchange;
    enum finish finish = act->finish;
    act_destroy(act);
    if (finish == FINISH_RESET) {
        server_abort(exchange);
        return;
    }
    if (finish == FINISH_CLOSE) server_answer_raw(exchange, belay_slice(NULL, 0));
    if (finish == FINISH_SHUT) server_shut_after(exchange);
    server_answer_end(exchange);
}

/* Gives what is left of the body as fast as it is taken, then ends. */
static void act_stream(struct act *act)
{
    char filler[PIECE_BYTES];
    memset(filler, 'x', sizeof filler);
    while (act->left > 0) {
        size_t some = act->left < PIECE_BYTES ? (size_t)act->left : PIECE_BYTES;
        act->left -= some;
        if (!server_answer_body(act->exchange, belay_slice(filler, some)))
            return; /* on_writable goes on */
    }
    if (act->finish == FINISH_RESET) {
        act->ending = true; /* a reset at once would destroy what the client has not read yet */
        rt_timer_arm(act->flaky->rt, &act->timer,
                     belay_instant_add(rt_now(act->flaky->rt), act->script.every));
    } else {
        act_finish(act);
    }
}

static void act_drip(struct act *act)
{
    if (act->left > 0) {
        act->left--;
        server_answer_body(act->exchange, TEXT("."));
    }
    if (act->left == 0) {
        act_finish(act);
        return;
    }
    rt_timer_arm(act->flaky->rt, &act->timer,
                 belay_instant_add(rt_now(act->flaky->rt), act->script.every));
}

static void act_begin_answer(struct act *act, int status, struct belay_slice type)
{
    server_answer_begin(act->exchange, status, belay_slice_z(http1_reason_phrase(status)));
    server_answer_field(act->exchange, TEXT("Content-Type"), type);
    if (act->fails && act->script.retry_after.length > 0) {
        server_answer_field(act->exchange, TEXT("Retry-After"), act->script.retry_after);
    }
}

static uint64_t act_bytes(const struct act *act, uint64_t otherwise)
{
    return act->script.bytes == FLAKY_BYTES_UNSAID ? otherwise : act->script.bytes;
}

/* A body of so many bytes that ends badly, or slowly. */
static void act_answer_filler(struct act *act, int status, enum http1_framing framing,
                              uint64_t length, uint64_t given, enum finish finish)
{
    act_begin_answer(act, status, TEXT("application/octet-stream"));
    server_answer_start(act->exchange, framing, length, framing == HTTP1_LENGTH);
    act->left = given;
    act->finish = finish;
    if (act->dripping) {
        act_drip(act);
    } else {
        act_stream(act);
    }
}

static void act_answer(struct act *act, int status, enum finish finish)
{
    char text[64];
    int length = snprintf(text, sizeof text, "{\"call\":%llu,\"status\":%d}\n",
                          (unsigned long long)act->call, status);
    struct belay_slice type = TEXT("application/json"), body = belay_slice(text, (size_t)length);
    act_tell_status(act, status);
    if (act->script.bytes != FLAKY_BYTES_UNSAID) {
        act_answer_filler(act, status, HTTP1_LENGTH, act->script.bytes, act->script.bytes, finish);
        return;
    }
    if (act->script.echo) {
        const struct http1_field *field =
            http1_find(server_request_head(act->exchange), HTTP1_CONTENT_TYPE);
        type = field ? field->value : TEXT("application/octet-stream");
        body = buf_slice(&act->echo);
    }
    act_begin_answer(act, status, type);
    server_answer_start(act->exchange, HTTP1_LENGTH, body.length, true);
    act->finish = finish;
    server_answer_body(act->exchange, body);
    act_finish(act);
}

/* ---- the play ---- */

static void act_misbehave(struct act *act, enum flaky_fault fault)
{
    static const char garbage[] = "\x16\x03\x01 this is no HTTP\n\n";
    int status = act_status(act);
    uint64_t length = act_bytes(act, fault == FLAKY_DRIP ? 10 : 100);
    act->flaky->faults[fault]++;
    if (fault != FLAKY_CLOSE_AFTER) act_tell(act, flaky_fault_name(fault));
    switch (fault) {
    case FLAKY_SILENCE:
        act->silent = true;
        act->finish = FINISH_RESET;
        if (act->half_closed) act_finish(act);
        break;
    case FLAKY_RESET:
        act->finish = FINISH_RESET;
        act_finish(act);
        break;
    case FLAKY_CLOSE:
    case FLAKY_CLOSE_ON_REUSE:
        act->finish = FINISH_CLOSE;
        act_finish(act);
        break;
    case FLAKY_DRIP:
        act->dripping = true;
        act_answer_filler(act, status, HTTP1_LENGTH, length, length, FINISH_WHOLE);
        break;
    case FLAKY_CLOSE_MID_BODY:
        act_answer_filler(act, status, HTTP1_LENGTH, length, length / 2, FINISH_CLOSE);
        break;
    case FLAKY_RESET_MID_BODY:
        act_answer_filler(act, status, HTTP1_LENGTH, length, length / 2, FINISH_RESET);
        break;
    case FLAKY_TRUNCATE_CHUNKED:
        act_answer_filler(act, status, HTTP1_CHUNKED, 0, length, FINISH_CLOSE);
        break;
    case FLAKY_CLOSE_AFTER: act_answer(act, status, FINISH_SHUT); break;
    case FLAKY_GARBAGE:
        server_answer_raw(act->exchange, belay_slice(garbage, sizeof garbage - 1));
        act->finish = FINISH_CLOSE;
        act_finish(act);
        break;
    case FLAKY_NONE:
    case FLAKY_FAULT_COUNT: break;
    }
}

static void act_play(struct act *act)
{
    enum flaky_fault fault = act_fault(act);
    if (act->ending) {
        act_finish(act);
    } else if (act->dripping) {
        act_drip(act);
    } else if (fault == FLAKY_NONE) {
        act_answer(act, act_status(act), FINISH_WHOLE);
    } else {
        act_misbehave(act, fault);
    }
}

static void on_timer(struct rt_timer *timer)
{
    act_play(CONTAINER_OF(timer, struct act, timer));
}

/* The request is whole. */
static void act_start(struct act *act)
{
    if (act->script.delay.ns == 0) {
        act_play(act);
    } else {
        rt_timer_arm(act->flaky->rt, &act->timer,
                     belay_instant_add(rt_now(act->flaky->rt), act->script.delay));
    }
}

/* ---- which script ---- */

static const struct http1_field *find_field(const struct http1_head *head, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < head->field_count; i++) {
        struct belay_slice here = head->fields[i].name;
        if (here.length == length && strncasecmp(here.data, name, length) == 0)
            return &head->fields[i];
    }
    return NULL;
}

static const struct flaky_script *by_chance(struct flaky *flaky)
{
    if (flaky->chance_count == 0) return &flaky->common;
    uint64_t luck = rng_scale(rt_random(flaky->rt), 1000000);
    for (size_t i = 0; i < flaky->chance_count; i++) {
        if (luck < flaky->chances[i].per_million) return &flaky->chances[i].script;
        luck -= flaky->chances[i].per_million;
    }
    return &flaky->common;
}

/* A request's own script, or the common one, or chance's. */
static bool choose_script(struct flaky *flaky, const struct http1_head *head,
                          struct flaky_script *script, char problem[FLAKY_PROBLEM_MAX])
{
    const struct http1_field *field = find_field(head, "X-Flaky");
    bool scripted = flaky_script_is_path(head->path);
    if (!scripted && !field) {
        *script = *by_chance(flaky);
        return true;
    }
    flaky_script_init(script);
    if (scripted && !flaky_script_add_path(script, head->path, problem)) return false;
    if (scripted && !flaky_script_add(script, head->query, problem)) return false;
    if (field && !flaky_script_add(script, field->value, problem)) return false;
    if (script->fail_first != FLAKY_ALWAYS && !flaky_script_can_fail(script)) script->status = 503;
    return true;
}

/* ---- what the server tells ---- */

static void refuse_script(struct flaky *flaky, struct server_exchange *exchange,
                          const char *problem)
{
    char text[FLAKY_PROBLEM_MAX + 2];
    int length = snprintf(text, sizeof text, "%s\n", problem);
    flaky->bad_scripts++;
    flaky_answer(exchange, 400, TEXT("text/plain; charset=utf-8"),
                 belay_slice(text, (size_t)length));
}

static struct act *act_create(struct flaky *flaky, struct server_exchange *exchange,
                              const struct flaky_script *script)
{
    const struct http1_head *head = server_request_head(exchange);
    const struct http1_field *id = http1_find(head, HTTP1_OPERATION_ID);
    struct act *act = calloc(1, sizeof *act);
    if (!act) return NULL;
    act->flaky = flaky;
    act->exchange = exchange;
    act->script = *script;
    act->operation = id && id->value.length > 0 ? id->value : head->path;
    rt_timer_init(&act->timer, on_timer);
    buf_init(&act->echo, ECHO_BYTES_MAX);
    list_push_back(&flaky->acts, &act->node);
    server_set_user(exchange, act);
    return act;
}

/* It crossed the end of its connection on the way: read and counted, but nothing is played. */
static void act_come_too_late(struct act *act)
{
    act->flaky->after_close++;
    record_call(act->flaky, server_request_head(act->exchange), "after-close");
    act->finish = FINISH_RESET;
    act_finish(act);
}

static void on_request(void *owner, struct server_exchange *exchange)
{
    struct flaky *flaky = owner;
    const struct http1_head *head = server_request_head(exchange);
    struct flaky_script script;
    char problem[FLAKY_PROBLEM_MAX];
    if (head->path.length >= 8 && memcmp(head->path.data, "/_flaky/", 8) == 0) {
        flaky_desk(flaky, exchange);
        return;
    }
    if (!choose_script(flaky, head, &script, problem)) {
        refuse_script(flaky, exchange, problem);
        return;
    }
    struct act *act = act_create(flaky, exchange, &script);
    if (!act) {
        server_abort(exchange);
        return;
    }
    act_count_call(act);
    if (server_is_shut(exchange)) {
        act_come_too_late(act);
        return;
    }
    act_take_turn(act);
    act_record(act);
    if (head->framing == HTTP1_NO_BODY) act_start(act);
}

static void on_body(void *owner, struct server_exchange *exchange, struct belay_slice piece,
                    bool end)
{
    struct act *act = server_user(exchange);
    (void)owner;
    act->body_bytes += piece.length;
    if (act->script.echo && !buf_add(&act->echo, piece.data, piece.length)) {
        bool too_long = buf_length(&act->echo) + piece.length > ECHO_BYTES_MAX;
        act_count_body(act, false);
        act_destroy(act);
        if (too_long)
            flaky_answer(exchange, 413, TEXT("text/plain"),
                         TEXT("the body is too long to be echoed\n"));
        else
            flaky_answer(exchange, 503, TEXT("text/plain"), TEXT("no memory is left\n"));
        return;
    }
    if (!end) return;
    act_count_body(act, true);
    act_start(act);
}

static void on_writable(void *owner, struct server_exchange *exchange)
{
    struct act *act = server_user(exchange);
    (void)owner;
    if (!act->dripping && !act->ending) act_stream(act);
}

static void on_gone(void *owner, struct server_exchange *exchange, const struct http1_error *error)
{
    struct act *act = server_user(exchange);
    (void)owner;
    (void)error;
    if (server_request_head(exchange)->framing != HTTP1_NO_BODY && !act->body_counted)
        act_count_body(act, false);
    act_destroy(act);
}

static void on_half_closed(void *owner, struct server_exchange *exchange)
{
    struct act *act = server_user(exchange);
    (void)owner;
    act->half_closed = true;
    if (act->silent) act_finish(act);
}

static void on_bad_request(void *owner, const struct http1_error *error,
                           struct belay_instant began_at)
{
    (void)owner;
    (void)error;
    (void)began_at;
}

const struct server_handler flaky_handler = {
    .request = on_request,
    .body = on_body,
    .writable = on_writable,
    .gone = on_gone,
    .half_closed = on_half_closed,
    .bad_request = on_bad_request,
};
