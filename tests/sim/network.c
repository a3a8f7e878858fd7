/* network.c: the simulated network: listeners, connects, and pairs of ends with latency, windows
 * and faults. */
#include "rt_sim.h"

#include "base/buf.h"
#include "base/check.h"
#include "spared.h"

#include <stdlib.h>

#define SEGMENTS_MAX 32
#define ACCEPTS_PER_TURN_MAX 4
#define SYN_AGAIN_AFTER belay_span_ms(1000)
#define HANDSHAKE_FOR belay_span_ms(100)

enum segment_kind { SEGMENT_DATA, SEGMENT_END, SEGMENT_RESET };

struct segment {
    struct belay_instant at;
    size_t count; /* DATA: bytes */
    enum segment_kind kind;
};

enum end_state {
    END_NONE, /* the accepting end before the connect has come through */
    END_CONNECTING,
    END_OPEN,
    END_CLOSED, /* the owner let go of it */
};

/* One end, and what is on its way to it. */
struct rt_conn {
    struct pair *pair;
    const struct rt_conn_events *events;
    void *owner;
    struct list node; /* rt->signalled, or a listener's backlog */
    struct buf in;    /* arrived and in flight */
    size_t arrived;
    struct segment segments[SEGMENTS_MAX];
    size_t segment_first, segment_count;
    struct rt_timer delivery;
    uint64_t written;
    enum end_state state;
    enum belay_error_class broken; /* NONE: stands */
    unsigned interest, applied;
    bool incoming, in_ended, out_ended, spurious;
    bool waiting;                /* in a listener's backlog */
    bool failing, arrived_there; /* what of its connect the owner is still to be told */
};

struct pair {
    struct rt *rt;
    struct list node;
    struct rt_conn ends[2]; /* 0 connected, 1 accepted */
    struct sim_link link;
    struct rt_addr to;
    struct rt_timer handshake;
};

struct rt_listener {
    struct rt *rt;
    struct list node, backlog;
    struct rt_addr addr;
    const struct rt_listener_events *events;
    void *owner;
    enum sim_gate (*gate)(void *owner);
    void (*drained)(void *owner);
    struct rt_timer drain_timer;
    struct rt_timer accepting; /* takes the backlog, few a turn */
};

static struct rt_conn *other(struct rt_conn *end)
{
    return &end->pair->ends[end == &end->pair->ends[0] ? 1 : 0];
}

/* ---- links ---- */

struct sim_link sim_link_perfect(void)
{
    return (struct sim_link){.window_bytes = 64 * 1024};
}

static bool addr_equal(const struct rt_addr *a, const struct rt_addr *b)
{
    return a->family == b->family && a->port == b->port && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

void sim_link_set(struct rt *rt, const struct rt_addr *addr, const struct sim_link *link)
{
    if (!addr) {
        rt->default_link = *link;
        return;
    }
    size_t i = 0;
    while (i < rt->link_count && !addr_equal(&rt->link_addrs[i], addr)) i++;
    CHECK(i < SIM_LINKS_MAX);
    rt->link_addrs[i] = *addr;
    rt->links[i] = *link;
    if (i == rt->link_count) rt->link_count++;
}

static const struct sim_link *link_to(const struct rt *rt, const struct rt_addr *addr)
{
    for (size_t i = 0; i < rt->link_count; i++) {
        if (addr_equal(&rt->link_addrs[i], addr)) return &rt->links[i];
    }
    return &rt->default_link;
}

static struct belay_instant after_latency(struct pair *pair)
{
    const struct sim_link *link = &pair->link;
    int64_t range = link->latency_max.ns - link->latency_min.ns;
    int64_t extra = range > 0 ? (int64_t)sim_luck(pair->rt, (uint64_t)range + 1) : 0;
    return belay_instant_add(pair->rt->now, belay_span_ns(link->latency_min.ns + extra));
}

/* ---- segments on their way to an end ---- */

static void signal_end(struct rt_conn *end)
{
    if (end->waiting || (end->state != END_OPEN && end->state != END_CONNECTING)) return;
    if (list_empty(&end->node)) list_push_back(&end->pair->rt->signalled, &end->node);
}

static struct segment *last_segment(struct rt_conn *to)
{
    if (to->segment_count == 0) return NULL;
    return &to->segments[(to->segment_first + to->segment_count - 1) % SEGMENTS_MAX];
}

static void send_segment(struct rt_conn *to, enum segment_kind kind, size_t count)
{
    struct belay_instant at = after_latency(to->pair);
    struct segment *last = last_segment(to);
    if (last) at = belay_instant_max(at, last->at);
    if (last && to->segment_count == SEGMENTS_MAX - 2 && kind == SEGMENT_DATA &&
        last->kind == SEGMENT_DATA) {
        last->count += count; /* no room: it travels with the last one */
        return;
    }
    if (to->segment_count == SEGMENTS_MAX) return; /* nothing counts after an end and a reset */
    to->segments[(to->segment_first + to->segment_count++) % SEGMENTS_MAX] =
        (struct segment){at, count, kind};
    if (!rt_timer_armed(&to->delivery))
        rt_timer_arm(to->pair->rt, &to->delivery, to->segments[to->segment_first].at);
}

static void drop_segments(struct rt_conn *end)
{
    end->segment_count = 0;
    rt_timer_disarm(end->pair->rt, &end->delivery);
}

static void break_end(struct rt_conn *end, enum belay_error_class error)
{
    if (end->broken == BELAY_ERROR_NONE) end->broken = error;
    /* Some kernels still give what had arrived before a reset, some do not. */
    if (end->arrived == 0 || sim_chance(end->pair->rt, 500)) {
        buf_clear(&end->in);
        end->arrived = 0;
    }
    drop_segments(end);
    signal_end(end);
}

/* An end that nobody owns any more gets bytes: an accepted one throws them away (it lingers), the
 * other resets. */
static void deliver_to_closed(struct rt_conn *end, const struct segment *segment)
{
    if (segment->kind != SEGMENT_DATA) return;
    buf_drop(&end->in, segment->count);
    if (end->incoming) {
        signal_end(other(end));
    } else {
        send_segment(other(end), SEGMENT_RESET, 0);
    }
}

static void deliver(struct rt_conn *end, const struct segment *segment)
{
    if (end->state == END_CLOSED) {
        deliver_to_closed(end, segment);
        return;
    }
    switch (segment->kind) {
    case SEGMENT_DATA: end->arrived += segment->count; break;
    case SEGMENT_END: end->in_ended = true; break;
    case SEGMENT_RESET: break_end(end, BELAY_ERROR_RESET); break;
    }
    signal_end(end);
    struct rt_conn *from = other(end);
    if (from->state == END_OPEN && sim_chance(end->pair->rt, end->pair->link.spurious)) {
        from->spurious = true;
        signal_end(from);
    }
}

static void on_delivery(struct rt_timer *timer)
{
    struct rt_conn *end = CONTAINER_OF(timer, struct rt_conn, delivery);
    struct rt *rt = end->pair->rt;
    while (end->segment_count > 0) {
        struct segment segment = end->segments[end->segment_first];
        if (belay_instant_before(rt->now, segment.at)) break;
        end->segment_first = (end->segment_first + 1) % SEGMENTS_MAX;
        end->segment_count--;
        deliver(end, &segment);
    }
    if (end->segment_count > 0)
        rt_timer_arm(rt, &end->delivery, end->segments[end->segment_first].at);
}

/* ---- pairs ---- */

static void on_syn(struct rt_timer *timer);

static void end_init(struct rt_conn *end, struct pair *pair, enum end_state state)
{
    end->pair = pair;
    end->state = state;
    end->interest = RT_READ;
    end->applied = RT_READ;
    list_init(&end->node);
    buf_init(&end->in, pair->link.window_bytes);
    rt_timer_init(&end->delivery, on_delivery);
}

static void pair_destroy(struct pair *pair)
{
    rt_timer_disarm(pair->rt, &pair->handshake);
    for (int i = 0; i < 2; i++) {
        rt_timer_disarm(pair->rt, &pair->ends[i].delivery);
        list_remove(&pair->ends[i].node);
        buf_deinit(&pair->ends[i].in);
    }
    list_remove(&pair->node);
    free(pair);
}

/* Nobody can see it any more: it goes at the turn's end. */
static void pair_let_go(struct pair *pair)
{
    bool unseen = pair->ends[0].state == END_CLOSED &&
                  (pair->ends[1].state == END_CLOSED || pair->ends[1].state == END_NONE);
    if (!unseen) return;
    list_remove(&pair->node);
    list_push_back(&pair->rt->closed, &pair->node);
}

struct rt_conn *rt_connect(struct rt *rt, const struct rt_addr *addr,
                           const struct rt_conn_events *events, void *owner,
                           enum belay_error_class *error)
{
    const struct sim_link *link = link_to(rt, addr);
    struct pair *pair = sim_chance(rt, link->exhausted) ? NULL : calloc(1, sizeof(*pair));
    if (!pair) {
        *error = BELAY_ERROR_CANCELLED;
        return NULL;
    }
    pair->rt = rt;
    pair->link = *link;
    pair->to = *addr;
    end_init(&pair->ends[0], pair, END_CONNECTING);
    end_init(&pair->ends[1], pair, END_NONE);
    pair->ends[1].incoming = true;
    rt_conn_own(&pair->ends[0], events, owner);
    rt_timer_init(&pair->handshake, on_syn);
    list_push_back(&rt->pairs, &pair->node);
    if (!sim_chance(rt, link->lost)) {
        struct belay_instant at = after_latency(pair);
        if (sim_chance(rt, link->late)) at = belay_instant_add(at, link->late_for);
        rt_timer_arm(rt, &pair->handshake, at);
    }
    return &pair->ends[0];
}

static struct rt_listener *listener_at(const struct rt *rt, const struct rt_addr *addr)
{
    for (struct list *node = rt->listeners.next; node != &rt->listeners; node = node->next) {
        struct rt_listener *listener = CONTAINER_OF(node, struct rt_listener, node);
        if (addr_equal(&listener->addr, addr)) return listener;
    }
    return NULL;
}

static void on_refused(struct rt_timer *timer)
{
    struct pair *pair = CONTAINER_OF(timer, struct pair, handshake);
    pair->ends[0].failing = true;
    signal_end(&pair->ends[0]);
}

static void on_connected(struct rt_timer *timer)
{
    struct pair *pair = CONTAINER_OF(timer, struct pair, handshake);
    if (pair->ends[0].state != END_CONNECTING) return;
    pair->ends[0].state = END_OPEN;
    pair->ends[0].arrived_there = true;
    signal_end(&pair->ends[0]);
}

static void later(struct pair *pair, void (*fire)(struct rt_timer *timer), struct belay_instant at)
{
    pair->handshake.fire = fire;
    rt_timer_arm(pair->rt, &pair->handshake, at);
}

/* The connect has reached the other side. */
static void on_syn(struct rt_timer *timer)
{
    struct pair *pair = CONTAINER_OF(timer, struct pair, handshake);
    struct rt *rt = pair->rt;
    struct rt_listener *listener = listener_at(rt, &pair->to);
    enum sim_gate gate = SIM_GATE_REFUSE;
    if (listener) gate = listener->gate ? listener->gate(listener->owner) : SIM_GATE_OPEN;
    if (gate == SIM_GATE_SILENT) return;
    if (gate == SIM_GATE_REFUSE || sim_chance(rt, pair->link.refused)) {
        later(pair, on_refused, after_latency(pair));
        return;
    }
    if (listener->drained) { /* dropped: sent again by whoever connects */
        later(pair, on_syn, belay_instant_add(rt->now, SYN_AGAIN_AFTER));
        return;
    }
    struct rt_conn *accepted = &pair->ends[1];
    accepted->state = END_OPEN;
    accepted->waiting = true;
    list_push_back(&listener->backlog, &accepted->node);
    if (!rt_timer_armed(&listener->accepting)) rt_timer_arm(rt, &listener->accepting, rt->now);
    later(pair, on_connected, after_latency(pair));
}

/* ---- an end in its owner's hands ---- */

void rt_conn_own(struct rt_conn *conn, const struct rt_conn_events *events, void *owner)
{
    conn->events = events;
    conn->owner = owner;
}

static size_t room_to_write(struct rt_conn *conn)
{
    return conn->pair->link.window_bytes - buf_length(&other(conn)->in);
}

/* The world may break a connection between any two calls. */
static void toss_reset(struct rt_conn *conn)
{
    if (conn->broken != BELAY_ERROR_NONE || !sim_chance(conn->pair->rt, conn->pair->link.reset))
        return;
    break_end(conn, BELAY_ERROR_RESET);
    struct rt_conn *peer = other(conn);
    if (peer->state != END_CLOSED) send_segment(peer, SEGMENT_RESET, 0);
}

struct rt_io rt_conn_read(struct rt_conn *conn, char *buffer, size_t capacity)
{
    struct pair *pair = conn->pair;
    toss_reset(conn);
    if (conn->arrived == 0) {
        if (conn->broken != BELAY_ERROR_NONE)
            return (struct rt_io){.kind = RT_IO_ERROR, .error = conn->broken};
        return (struct rt_io){.kind = conn->in_ended ? RT_IO_END : RT_IO_AGAIN};
    }
    size_t count = conn->arrived < capacity ? conn->arrived : capacity;
    if (count > 1 && sim_chance(pair->rt, pair->link.short_read))
        count = 1 + (size_t)sim_luck(pair->rt, count - 1);
    memcpy(buffer, buf_slice(&conn->in).data, count);
    buf_drop(&conn->in, count);
    conn->arrived -= count;
    signal_end(other(conn)); /* there is room again */
    return (struct rt_io){.kind = RT_IO_OK, .count = count};
}

struct rt_io rt_conn_write(struct rt_conn *conn, const struct belay_slice *pieces, size_t count)
{
    CHECK(count > 0 && count <= RT_WRITE_PIECES_MAX && !conn->out_ended);
    struct pair *pair = conn->pair;
    struct rt_conn *peer = other(conn);
    toss_reset(conn);
    if (conn->broken != BELAY_ERROR_NONE)
        return (struct rt_io){.kind = RT_IO_ERROR, .error = conn->broken};
    size_t wanted = 0, room = room_to_write(conn), done = 0;
    for (size_t i = 0; i < count; i++) wanted += pieces[i].length;
    if (room == 0) return (struct rt_io){.kind = RT_IO_AGAIN};
    size_t taken = wanted < room ? wanted : room;
    if (taken > 1 && sim_chance(pair->rt, pair->link.short_write))
        taken = 1 + (size_t)sim_luck(pair->rt, taken - 1);
    conn->written += taken;
    struct rt_io accepted = {.kind = RT_IO_OK, .count = taken};
    if (peer->broken != BELAY_ERROR_NONE) return accepted; /* the reset is on its way to us */
    for (size_t i = 0; i < count && done < taken; i++) {
        size_t part = pieces[i].length < taken - done ? pieces[i].length : taken - done;
        if (part > 0) spared_add(&peer->in, pieces[i].data, part);
        done += part;
    }
    send_segment(peer, SEGMENT_DATA, taken);
    return accepted;
}

uint64_t rt_conn_written(const struct rt_conn *conn)
{
    return conn->written;
}

void rt_conn_interest(struct rt_conn *conn, unsigned interest)
{
    conn->interest = interest;
    if (sim_chance(conn->pair->rt, conn->pair->link.spurious)) conn->spurious = true;
    signal_end(conn);
}

bool rt_conn_dead(struct rt_conn *conn)
{
    return conn->broken != BELAY_ERROR_NONE || conn->in_ended || conn->arrived > 0;
}

void rt_conn_shutdown_write(struct rt_conn *conn)
{
    if (conn->out_ended || conn->broken != BELAY_ERROR_NONE) return;
    conn->out_ended = true;
    send_segment(other(conn), SEGMENT_END, 0);
}

void rt_conn_close(struct rt_conn *conn, enum rt_close how)
{
    struct rt_conn *peer = other(conn);
    CHECK(conn->state == END_OPEN || conn->state == END_CONNECTING);
    bool stood = conn->state == END_OPEN;
    if (stood && how == RT_CLOSE_GRACEFUL) rt_conn_shutdown_write(conn);
    if (how == RT_CLOSE_ABORT && conn->broken == BELAY_ERROR_NONE && peer->state == END_OPEN) {
        send_segment(peer, SEGMENT_RESET, 0);
    }
    conn->state = END_CLOSED;
    conn->waiting = false;
    list_remove(&conn->node);
    buf_drop(&conn->in, conn->arrived);
    conn->arrived = 0;
    if (peer->state == END_NONE) rt_timer_disarm(conn->pair->rt, &conn->pair->handshake);
    if (peer->state == END_OPEN) signal_end(peer);
    pair_let_go(conn->pair);
}

/* ---- signalling ---- */

/* What the kernel would say of it now. */
static unsigned level(struct rt_conn *end)
{
    if (end->broken != BELAY_ERROR_NONE || end->spurious) return RT_READ | RT_WRITE;
    unsigned ready = end->arrived > 0 || end->in_ended ? RT_READ : 0;
    if (room_to_write(end) > 0) ready |= RT_WRITE;
    return ready;
}

static void call_end(struct rt_conn *end)
{
    if (end->failing) {
        end->failing = false;
        end->events->failed(end->owner, BELAY_ERROR_REFUSED);
        return;
    }
    if (end->state != END_OPEN) return;
    unsigned ready = level(end) & end->applied & end->interest;
    if (end->arrived_there) ready = RT_WRITE; /* comes whatever the interest is */
    end->arrived_there = false;
    end->spurious = false;
    if (end->applied != end->interest) signal_end(end); /* looked at again once it is applied */
    if (ready == 0) return;
    signal_end(end); /* level-triggered: looked at again next turn */
    end->events->ready(end->owner, ready);
}

bool network_pending(const struct rt *rt)
{
    return !list_empty(&rt->signalled);
}

#define SIGNALLED_MAX 4096

void network_signal(struct rt *rt)
{
    struct rt_conn *due[SIGNALLED_MAX];
    size_t count = 0;
    while (!list_empty(&rt->signalled) && count < SIGNALLED_MAX) {
        struct rt_conn *end = CONTAINER_OF(rt->signalled.next, struct rt_conn, node);
        list_remove(&end->node);
        due[count++] = end;
    }
    for (size_t i = count; rt->shuffled && i > 1; i--) {
        size_t j = (size_t)sim_luck(rt, i);
        struct rt_conn *swap = due[i - 1];
        due[i - 1] = due[j];
        due[j] = swap;
    }
    /* An earlier callback may have closed a later one: its pair stays until the turn's end, its
     * state tells. */
    for (size_t i = 0; i < count; i++) call_end(due[i]);
}

void network_turn_end(struct rt *rt)
{
    for (struct list *node = rt->signalled.next; node != &rt->signalled; node = node->next) {
        struct rt_conn *end = CONTAINER_OF(node, struct rt_conn, node);
        end->applied = end->interest;
    }
    while (!list_empty(&rt->closed)) pair_destroy(CONTAINER_OF(rt->closed.next, struct pair, node));
}

/* ---- listening ---- */

static void on_drain_over(struct rt_timer *timer)
{
    struct rt_listener *listener = CONTAINER_OF(timer, struct rt_listener, drain_timer);
    if (!list_empty(&listener->backlog)) {
        rt_timer_arm(listener->rt, timer, belay_instant_add(listener->rt->now, HANDSHAKE_FOR));
        return;
    }
    listener->drained(listener->owner);
}

static void on_accepting(struct rt_timer *timer)
{
    struct rt_listener *listener = CONTAINER_OF(timer, struct rt_listener, accepting);
    struct rt *rt = listener->rt;
    struct rt_conn *taken[ACCEPTS_PER_TURN_MAX];
    int count = 0;
    while (count < ACCEPTS_PER_TURN_MAX && !list_empty(&listener->backlog)) {
        taken[count] = CONTAINER_OF(listener->backlog.next, struct rt_conn, node);
        list_remove(&taken[count]->node);
        taken[count++]->waiting = false;
    }
    if (!list_empty(&listener->backlog)) rt_timer_arm(rt, timer, rt->now);
    const struct rt_listener_events *events = listener->events;
    void *owner = listener->owner; /* the listener may be closed by the first of them */
    for (int i = 0; i < count; i++) {
        events->accepted(owner, taken[i]);
        signal_end(taken[i]);
    }
}

struct rt_listener *rt_listen(struct rt *rt, const struct rt_addr *addr,
                              const struct rt_listener_events *events, void *owner,
                              const char **error)
{
    static const uint16_t first_free_port = 40000;
    struct rt_addr at = *addr;
    for (at.port = addr->port ? addr->port : first_free_port;
         addr->port == 0 && listener_at(rt, &at);)
        at.port++;
    if (listener_at(rt, &at)) {
        *error = "Address already in use";
        return NULL;
    }
    struct rt_listener *listener = calloc(1, sizeof(*listener));
    CHECK(listener);
    *listener = (struct rt_listener){.rt = rt, .addr = at, .events = events, .owner = owner};
    list_init(&listener->backlog);
    rt_timer_init(&listener->drain_timer, on_drain_over);
    rt_timer_init(&listener->accepting, on_accepting);
    list_push_back(&rt->listeners, &listener->node);
    return listener;
}

void sim_listener_gate(struct rt_listener *listener, enum sim_gate (*gate)(void *owner))
{
    listener->gate = gate;
}

void rt_listener_addr(const struct rt_listener *listener, struct rt_addr *out)
{
    *out = listener->addr;
}

uint64_t rt_listener_exhausted(const struct rt_listener *listener)
{
    (void)listener;
    return 0; /* this world never runs out when accepting */
}

void rt_listener_drain(struct rt_listener *listener, void (*done)(void *owner))
{
    listener->drained = done;
    rt_timer_arm(listener->rt, &listener->drain_timer,
                 belay_instant_add(listener->rt->now, HANDSHAKE_FOR));
}

void rt_listener_close(struct rt_listener *listener)
{
    while (!list_empty(&listener->backlog)) {
        struct rt_conn *end = CONTAINER_OF(listener->backlog.next, struct rt_conn, node);
        rt_conn_close(end, RT_CLOSE_ABORT);
    }
    rt_timer_disarm(listener->rt, &listener->drain_timer);
    rt_timer_disarm(listener->rt, &listener->accepting);
    list_remove(&listener->node);
    free(listener);
}

/* ---- life ---- */

void network_init(struct rt *rt)
{
    list_init(&rt->pairs);
    list_init(&rt->signalled);
    list_init(&rt->closed);
    list_init(&rt->listeners);
}

void network_deinit(struct rt *rt)
{
    while (!list_empty(&rt->listeners))
        rt_listener_close(CONTAINER_OF(rt->listeners.next, struct rt_listener, node));
    network_turn_end(rt);
    while (!list_empty(&rt->pairs)) pair_destroy(CONTAINER_OF(rt->pairs.next, struct pair, node));
}

/* Ends that somebody still owns. */
size_t network_conns(const struct rt *rt)
{
    size_t count = 0;
    for (struct list *node = rt->pairs.next; node != &rt->pairs; node = node->next) {
        struct pair *pair = CONTAINER_OF(node, struct pair, node);
        for (int i = 0; i < 2; i++) {
            count += pair->ends[i].state == END_OPEN || pair->ends[i].state == END_CONNECTING;
        }
    }
    return count;
}

size_t network_listeners(const struct rt *rt)
{
    size_t count = 0;
    for (struct list *node = rt->listeners.next; node != &rt->listeners; node = node->next) count++;
    return count;
}
