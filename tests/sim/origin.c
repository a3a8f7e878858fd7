/* origin.c: the scripted server: reads requests, does what its script says, counts (origin.h). */
#include "origin.h"

#include "base/check.h"
#include "base/list.h"
#include "caller.h"
#include "spared.h"
#include "wire.h"

#include <stdarg.h>
#include <stdlib.h>

#define STEPS_MAX 64
#define ANSWER_BYTES_MAX ((size_t)4 << 20)
#define READ_BYTES 16384

enum fault {
    FAULT_NONE,
    FAULT_SILENCE,
    FAULT_REFUSE,
    FAULT_CLOSE_BEFORE,
    FAULT_RESET_BEFORE,
    FAULT_CLOSE_MID,
    FAULT_RESET_AFTER_HEAD,
    FAULT_RESET_MID,
    FAULT_GARBAGE,
    FAULT_CLOSE_ON_REUSE,
    FAULT_RESET_ON_REUSE,
};

struct step {
    char text[80];
    int status;
    enum fault fault;
    struct belay_span delay, retry_after, drip_every;
    size_t body_bytes, drip_bytes;
    enum wire_framing framing;
    bool then_close, early, continues, has_retry_after;
};

struct origin {
    struct history *history;
    struct rt *rt;
    struct rt_listener *listener;
    char name[HISTORY_WORD_BYTES];
    struct step steps[STEPS_MAX];
    size_t step_count, next_step, calls;
    enum origin_order order;
    struct list conns;
    uint64_t next_seed;
};

struct conn {
    struct origin *origin;
    struct rt_conn *io;
    struct list node;
    struct rt_timer timer; /* the answer's delay, or the next drip */
    struct wire wire;
    struct buf out;
    size_t allowed; /* bytes of `out` that may be written now */
    size_t seen;    /* row of the request under way */
    const struct step *step;
    unsigned requests;
    bool heard, answering;
};

/* ---- the script ---- */

static struct belay_span parse_span(const char *word)
{
    char *unit;
    int64_t value = strtoll(word, &unit, 10);
    return belay_span_ms(strcmp(unit, "s") == 0 ? value * 1000 : value);
}

static size_t parse_bytes(const char *word)
{
    char *unit;
    size_t value = strtoull(word, &unit, 10);
    return strncmp(unit, "KiB", 3) == 0   ? value * 1024
           : strncmp(unit, "MiB", 3) == 0 ? value << 20
                                          : value;
}

struct fault_words {
    const char *words;
    enum fault fault;
    enum wire_framing framing;
};

/* Faults of one or more words, the longer ones first. */
static const struct fault_words *find_fault(const char *text)
{
    static const struct fault_words faults[] = {
        {"accept then silence", FAULT_SILENCE, WIRE_LENGTH},
        {"silence", FAULT_SILENCE, WIRE_LENGTH},
        {"refuse", FAULT_REFUSE, WIRE_LENGTH},
        {"close before", FAULT_CLOSE_BEFORE, WIRE_LENGTH},
        {"reset before", FAULT_RESET_BEFORE, WIRE_LENGTH},
        {"close mid-length", FAULT_CLOSE_MID, WIRE_LENGTH},
        {"close mid-chunk", FAULT_CLOSE_MID, WIRE_CHUNKED},
        {"reset mid-body", FAULT_RESET_MID, WIRE_LENGTH},
        {"reset after head", FAULT_RESET_AFTER_HEAD, WIRE_LENGTH},
        {"garbage", FAULT_GARBAGE, WIRE_LENGTH},
        {"close on reuse", FAULT_CLOSE_ON_REUSE, WIRE_LENGTH},
        {"reset on reuse", FAULT_RESET_ON_REUSE, WIRE_LENGTH},
    };
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        size_t length = strlen(faults[i].words);
        if (strncmp(text, faults[i].words, length) == 0 &&
            (text[length] == ' ' || text[length] == '\0')) {
            return &faults[i];
        }
    }
    return NULL;
}

static const char *next_word(const char *text)
{
    text += strcspn(text, " ");
    return text + strspn(text, " ");
}

static bool begins(const char *text, const char *word)
{
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && (text[length] == ' ' || text[length] == '\0');
}

/* Takes one setting off the front; NULL: not understood. */
static const char *parse_setting(struct step *step, const char *text)
{
    const struct fault_words *fault = find_fault(text);
    if (fault) {
        step->fault = fault->fault;
        if (fault->framing != WIRE_LENGTH) step->framing = fault->framing;
        text += strlen(fault->words);
        return text + strspn(text, " ");
    }
    const char *rest = next_word(text);
    if (begins(text, "ok"))
        step->status = 200;
    else if (begins(text, "chunked"))
        step->framing = WIRE_CHUNKED;
    else if (begins(text, "until-close"))
        step->framing = WIRE_UNTIL_CLOSE;
    else if (begins(text, "early"))
        step->early = true;
    else if (begins(text, "continue"))
        step->continues = true;
    else if (text[0] >= '0' && text[0] <= '9') {
        char *unit;
        long value = strtol(text, &unit, 10);
        if (*unit == 'm' || *unit == 's')
            step->delay = belay_span_ms(*unit == 'm' ? value : value * 1000);
        else
            step->status = (int)value;
    } else if (begins(text, "then") && begins(rest, "close")) {
        step->then_close = true;
        rest = next_word(rest);
    } else if (begins(text, "status")) {
        step->status = (int)strtol(rest, NULL, 10);
        rest = next_word(rest);
    } else if (begins(text, "body")) {
        step->body_bytes = parse_bytes(rest);
        rest = next_word(rest);
    } else if (begins(text, "retry-after")) {
        char word[16];
        snprintf(word, sizeof(word), "%.*s", (int)strcspn(rest, " "), rest);
        step->retry_after = parse_span(word);
        step->has_retry_after = true;
        rest = next_word(rest);
    } else if (begins(text, "drip")) {
        char word[16];
        const char *slash = strchr(rest, '/');
        CHECK(slash);
        step->drip_bytes = parse_bytes(rest);
        snprintf(word, sizeof(word), "%.*s", (int)strcspn(slash + 1, " "), slash + 1);
        step->drip_every = parse_span(word);
        rest = next_word(rest);
    } else {
        return NULL;
    }
    return rest;
}

static void parse_step(struct step *step, const char *line, size_t length)
{
    *step = (struct step){.status = 200, .body_bytes = 2, .framing = WIRE_LENGTH};
    CHECK(length < sizeof(step->text));
    memcpy(step->text, line, length);
    for (const char *text = step->text + strspn(step->text, " "); *text;) {
        const char *rest = parse_setting(step, text);
        if (!rest) fprintf(stderr, "script not understood: %s\n", text);
        CHECK(rest);
        text = rest;
    }
}

void origin_script(struct origin *origin, const char *script)
{
    origin->step_count = origin->next_step = 0;
    while (*script) {
        size_t length = strcspn(script, "\n");
        CHECK(origin->step_count < STEPS_MAX);
        if (length > 0) parse_step(&origin->steps[origin->step_count++], script, length);
        script += length + (script[length] == '\n');
    }
    CHECK(origin->step_count > 0);
}

static const struct step *step_at(const struct origin *origin, size_t place)
{
    return &origin->steps[place < origin->step_count ? place : origin->step_count - 1];
}

static const struct step *choose_step(struct origin *origin, const char *operation)
{
    switch (origin->order) {
    case ORIGIN_IN_TURN: return step_at(origin, origin->next_step++);
    case ORIGIN_BY_OPERATION: return step_at(origin, origin_calls_of(origin, operation) - 1);
    case ORIGIN_BY_LUCK: return &origin->steps[sim_luck(origin->rt, origin->step_count)];
    }
    return NULL;
}

/* ---- answering ---- */

static void conn_close(struct conn *conn, enum rt_close how)
{
    rt_timer_disarm(conn->origin->rt, &conn->timer);
    rt_conn_close(conn->io, how);
    list_remove(&conn->node);
    buf_deinit(&conn->out);
    free(conn);
}

static void add(struct conn *conn, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct conn *conn, const char *format, ...)
{
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    CHECK(length > 0);
    spared_add(&conn->out, line, (size_t)length);
}

static void add_body(struct conn *conn, uint64_t seed, uint64_t offset, size_t count)
{
    while (count > 0) {
        size_t room;
        char *at = spared_reserve(&conn->out, count, &room);
        size_t part = room < count ? room : count;
        wire_fill(at, seed, offset, part);
        buf_wrote(&conn->out, part);
        offset += part;
        count -= part;
    }
}

static bool is_bodiless(const struct conn *conn)
{
    return strncmp(conn->wire.head, "HEAD ", 5) == 0 || conn->step->status == 204 ||
           conn->step->status == 304;
}

static void add_framing(struct conn *conn, const struct step *step)
{
    if (step->framing == WIRE_CHUNKED) add(conn, "Transfer-Encoding: chunked\r\n");
    if (step->framing == WIRE_LENGTH) add(conn, "Content-Length: %zu\r\n", step->body_bytes);
    if (step->framing == WIRE_UNTIL_CLOSE) add(conn, "Connection: close\r\n");
}

/* How much of a body is sent before the fault strikes. */
static size_t body_sent(const struct step *step)
{
    if (step->fault == FAULT_RESET_AFTER_HEAD) return 0;
    bool mid = step->fault == FAULT_CLOSE_MID || step->fault == FAULT_RESET_MID;
    return mid ? step->body_bytes / 2 : step->body_bytes;
}

static void compose(struct conn *conn)
{
    const struct step *step = conn->step;
    uint64_t seed = conn->origin->next_seed++;
    if (step->fault == FAULT_GARBAGE) {
        add(conn, "SSH-2.0-OpenSSH\r\n\r\n");
        return;
    }
    history_seen(conn->origin->history, conn->seen)->answering = step->status;
    add(conn, "HTTP/1.1 %d Scripted\r\nX-Body-Seed: %llu\r\nX-Body-Length: %zu\r\n", step->status,
        (unsigned long long)seed, step->body_bytes);
    if (step->has_retry_after)
        add(conn, "Retry-After: %lld\r\n", (long long)(step->retry_after.ns / BELAY_NS_PER_S));
    if (step->status != 204) add_framing(conn, step);
    add(conn, "\r\n");
    if (is_bodiless(conn)) return;
    size_t sent = body_sent(step), half = sent / 2;
    if (step->framing != WIRE_CHUNKED) {
        add_body(conn, seed, 0, sent);
        return;
    }
    if (half > 0) {
        add(conn, "%zx\r\n", half);
        add_body(conn, seed, 0, half);
        add(conn, "\r\n");
    }
    bool cut = sent < step->body_bytes;
    if (sent > half) {
        add(conn, "%zx\r\n", cut ? sent - half + 1 : sent - half); /* a cut one promises more */
        add_body(conn, seed, half, sent - half);
        if (!cut) add(conn, "\r\n");
    }
    if (!cut) add(conn, "0\r\n\r\n");
}

static void next_request(struct conn *conn)
{
    conn->step = NULL;
    conn->heard = conn->answering = false;
    conn->allowed = 0;
    wire_init(&conn->wire, false, false);
}

/* All of the answer is written: what the step does then. */
static void answered(struct conn *conn)
{
    struct history *history = conn->origin->history;
    const struct step *step = conn->step;
    struct seen *seen = history_seen(history, conn->seen);
    bool cut = body_sent(step) < step->body_bytes && !is_bodiless(conn);
    if (!cut && step->fault != FAULT_GARBAGE) seen->status = step->status;
    switch (step->fault) {
    case FAULT_CLOSE_MID:
    case FAULT_GARBAGE:
        history_note(history, conn->origin->name, "closes");
        conn_close(conn, RT_CLOSE_GRACEFUL);
        return;
    case FAULT_RESET_AFTER_HEAD:
    case FAULT_RESET_MID:
        history_note(history, conn->origin->name, "resets");
        conn_close(conn, RT_CLOSE_ABORT);
        return;
    default: break;
    }
    history_note(history, conn->origin->name, "answered %d", step->status);
    if (step->then_close || step->framing == WIRE_UNTIL_CLOSE || step->early) {
        conn_close(conn, RT_CLOSE_GRACEFUL);
        return;
    }
    next_request(conn);
    rt_conn_interest(conn->io, RT_READ);
}

static void pump(struct conn *conn)
{
    while (conn->allowed > 0) {
        struct belay_slice piece = buf_slice(&conn->out);
        if (piece.length > conn->allowed) piece.length = conn->allowed;
        struct rt_io io = rt_conn_write(conn->io, &piece, 1);
        if (io.kind == RT_IO_AGAIN) {
            rt_conn_interest(conn->io, RT_READ | RT_WRITE);
            return;
        }
        if (io.kind != RT_IO_OK) {
            conn_close(conn, RT_CLOSE_ABORT);
            return;
        }
        buf_drop(&conn->out, io.count);
        conn->allowed -= io.count;
    }
    if (buf_length(&conn->out) == 0) {
        answered(conn);
    } else {
        rt_conn_interest(conn->io, RT_READ);
    }
}

/* Closes or resets without a byte of an answer. */
static bool ends_before(struct conn *conn)
{
    bool reused = conn->requests > 1;
    enum fault fault = conn->step->fault;
    bool closes = fault == FAULT_CLOSE_BEFORE || (fault == FAULT_CLOSE_ON_REUSE && reused);
    bool resets = fault == FAULT_RESET_BEFORE || (fault == FAULT_RESET_ON_REUSE && reused);
    if (!closes && !resets) return false;
    history_note(conn->origin->history, conn->origin->name, closes ? "closes" : "resets");
    conn_close(conn, closes ? RT_CLOSE_GRACEFUL : RT_CLOSE_ABORT);
    return true;
}

static void on_timer(struct rt_timer *timer)
{
    struct conn *conn = CONTAINER_OF(timer, struct conn, timer);
    struct rt *rt = conn->origin->rt;
    if (!conn->answering) {
        if (ends_before(conn)) return;
        conn->answering = true;
        compose(conn);
        conn->allowed = conn->step->drip_bytes ? 0 : buf_length(&conn->out);
    }
    if (conn->step->drip_bytes && buf_length(&conn->out) > conn->allowed) {
        size_t left = buf_length(&conn->out) - conn->allowed;
        conn->allowed += conn->step->drip_bytes < left ? conn->step->drip_bytes : left;
        if (left > conn->step->drip_bytes) {
            rt_timer_arm(rt, timer, belay_instant_add(rt_now(rt), conn->step->drip_every));
        }
    }
    pump(conn);
}

/* Whatever it is comes from the timer, so that no connection goes while it is being read. */
static void begin_answer(struct conn *conn)
{
    struct rt *rt = conn->origin->rt;
    if (conn->step->fault == FAULT_SILENCE) return;
    rt_timer_arm(rt, &conn->timer, belay_instant_add(rt_now(rt), conn->step->delay));
}

/* ---- reading ---- */

static void on_head(struct conn *conn)
{
    struct origin *origin = conn->origin;
    struct history *history = origin->history;
    char attempt[16], key[64];
    conn->requests++;
    conn->seen = history_add_seen(history);
    struct seen *seen = history_seen(history, conn->seen);
    snprintf(seen->origin, sizeof(seen->origin), "%s", origin->name);
    snprintf(seen->method, sizeof(seen->method), "%.*s", (int)strcspn(conn->wire.head, " "),
             conn->wire.head);
    (void)wire_field(&conn->wire, "X-Operation-Id", seen->operation, sizeof(seen->operation));
    (void)wire_field(&conn->wire, "X-Request-Attempt", attempt, sizeof(attempt));
    seen->attempt = (uint32_t)strtoul(attempt, NULL, 10);
    seen->keyed = wire_field(&conn->wire, "Idempotency-Key", key, sizeof(key));
    seen->garbage = strstr(conn->wire.head, CALLER_GARBAGE_PATH) != NULL;
    seen->at = rt_now(origin->rt);
    origin->calls++;
    history_note(history, origin->name, "is sent %s %s attempt %u", seen->method, seen->operation,
                 seen->attempt);
    conn->step = choose_step(origin, seen->operation);
    if (conn->step->continues) {
        static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
        struct belay_slice piece = belay_slice(text, sizeof(text) - 1);
        (void)rt_conn_write(conn->io, &piece, 1);
    }
}

static void on_whole(struct conn *conn)
{
    struct seen *seen = history_seen(conn->origin->history, conn->seen);
    conn->heard = true;
    seen->whole = true;
    seen->body_right = !conn->wire.has_seed || wire_body_is_right(&conn->wire);
    if (conn->step->early) return;
    begin_answer(conn);
}

/* False: bytes that are no request, or a second one before the first was answered. */
static bool take(struct conn *conn, const char *bytes, size_t count)
{
    while (count > 0 && !conn->heard) {
        size_t used;
        bool had_head = conn->wire.has_head;
        enum wire_step step = wire_feed(&conn->wire, bytes, count, &used);
        bytes += used;
        count -= used;
        if (step == WIRE_BAD) return false;
        if (!had_head && conn->wire.has_head) {
            on_head(conn);
            if (conn->step->early) begin_answer(conn);
        }
        if (step == WIRE_DONE) on_whole(conn);
    }
    return count == 0;
}

static void on_ready(void *owner, unsigned ready)
{
    struct conn *conn = owner;
    char bytes[READ_BYTES];
    if ((ready & RT_WRITE) && conn->allowed > 0) {
        pump(conn);
        return; /* it may be gone */
    }
    if (!(ready & RT_READ)) return;
    struct rt_io io = rt_conn_read(conn->io, bytes, sizeof(bytes));
    if (io.kind == RT_IO_AGAIN) return;
    if (io.kind != RT_IO_OK) {
        conn_close(conn, RT_CLOSE_GRACEFUL);
        return;
    }
    if (take(conn, bytes, io.count)) return;
    history_note(conn->origin->history, conn->origin->name, "was sent no request");
    conn->origin->history->unreadable++;
}

static void on_failed(void *owner, enum belay_error_class error)
{
    (void)owner, (void)error; /* only connecting ends fail */
}

static void on_accepted(void *owner, struct rt_conn *io)
{
    static const struct rt_conn_events events = {on_ready, on_failed};
    struct origin *origin = owner;
    struct conn *conn = spared_calloc(1, sizeof(*conn));
    conn->origin = origin;
    conn->io = io;
    buf_init(&conn->out, ANSWER_BYTES_MAX);
    rt_timer_init(&conn->timer, on_timer);
    next_request(conn);
    list_push_back(&origin->conns, &conn->node);
    rt_conn_own(io, &events, conn);
}

/* ---- life ---- */

/* A step that refuses is taken by the connect. */
static enum sim_gate on_connect(void *owner)
{
    struct origin *origin = owner;
    if (origin->order == ORIGIN_BY_LUCK ||
        step_at(origin, origin->next_step)->fault != FAULT_REFUSE) {
        return SIM_GATE_OPEN;
    }
    origin->next_step++;
    history_note(origin->history, origin->name, "refuses");
    return SIM_GATE_REFUSE;
}

struct origin *origin_create(struct history *history, const char *name, uint16_t port,
                             const char *script, enum origin_order order)
{
    static const struct rt_listener_events events = {on_accepted};
    struct origin *origin = calloc(1, sizeof(*origin));
    CHECK(origin);
    origin->history = history;
    origin->rt = history->rt;
    origin->order = order;
    snprintf(origin->name, sizeof(origin->name), "%s", name);
    list_init(&origin->conns);
    origin_script(origin, script);
    struct rt_addr addr = {.family = 4, .port = port, .ip = {127, 0, 0, 1}};
    const char *why;
    origin->listener = rt_listen(origin->rt, &addr, &events, origin, &why);
    CHECK(origin->listener);
    sim_listener_gate(origin->listener, on_connect);
    return origin;
}

size_t origin_calls(const struct origin *origin)
{
    return origin->calls;
}

size_t origin_calls_of(const struct origin *origin, const char *operation)
{
    size_t count = 0;
    for (size_t i = 0; i < origin->history->seen.count; i++) {
        const struct seen *seen = history_seen(origin->history, i);
        count += strcmp(seen->operation, operation) == 0 && strcmp(seen->origin, origin->name) == 0;
    }
    return count;
}

void origin_addr(const struct origin *origin, struct rt_addr *out)
{
    rt_listener_addr(origin->listener, out);
}

void origin_restart(struct origin *origin)
{
    while (!list_empty(&origin->conns)) {
        struct conn *conn = CONTAINER_OF(origin->conns.next, struct conn, node);
        /* A clean end within an answer that is delimited by closing would be a whole one, for
         * everybody. */
        bool looks_whole = conn->answering && conn->step->framing == WIRE_UNTIL_CLOSE;
        conn_close(conn, looks_whole ? RT_CLOSE_ABORT : RT_CLOSE_GRACEFUL);
    }
}

void origin_destroy(struct origin *origin)
{
    origin_restart(origin);
    rt_listener_close(origin->listener);
    free(origin);
}
