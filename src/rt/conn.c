/* conn.c: one TCP connection over uv_poll: connect, read, write, interest, close. */
#include "base/check.h"
#include "rt/errors.h"
#include "rt/rt_uv.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

struct rt_conn {
    uv_poll_t poll;
    struct rt *rt;
    const struct rt_conn_events *events;
    void *owner;
    uint64_t written;
    struct list node; /* in rt->changed, failing or lingering, or in none */
    struct belay_instant linger_until;
    int fd;
    int connect_errno;
    struct rt_addr peer;
    uint8_t interest; /* what the owner wants */
    uint8_t polled;   /* what libuv was told */
    bool connecting, incoming, ended, lingering;
};

/* How long a closed connection whose peer may still be sending is kept, so that its input cannot
 * reset our answer. */
#define LINGER_FOR belay_span_ms(2000)
/* And what part of the descriptors they may hold together: the oldest goes first. */
#define LINGER_SHARE 8

static void on_poll(uv_poll_t *poll, int status, int events);

/* ---- addresses ---- */

socklen_t addr_to_sockaddr(const struct rt_addr *addr, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof(*out));
    if (addr->family == 6) {
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(addr->port);
        memcpy(&six->sin6_addr, addr->ip, 16);
        return sizeof(*six);
    }
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    four->sin_family = AF_INET;
    four->sin_port = htons(addr->port);
    memcpy(&four->sin_addr, addr->ip, 4);
    return sizeof(*four);
}

void addr_from_sockaddr(const struct sockaddr_storage *in, struct rt_addr *out)
{
    *out = (struct rt_addr){0};
    if (in->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)in;
        out->family = 6;
        out->port = ntohs(six->sin6_port);
        memcpy(out->ip, &six->sin6_addr, 16);
    } else if (in->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)in;
        out->family = 4;
        out->port = ntohs(four->sin_port);
        memcpy(out->ip, &four->sin_addr, 4);
    }
}

/* ---- making one ---- */

/* Takes the descriptor; NULL without memory. Nothing is polled yet. */
static struct rt_conn *conn_create(struct rt *rt, int fd, const struct rt_addr *peer)
{
    struct rt_conn *conn = calloc(1, sizeof(*conn));
    if (!conn || !polled_init(rt, &conn->poll, fd)) {
        free(conn);
        close(fd);
        return NULL;
    }
    conn->poll.data = conn;
    conn->rt = rt;
    conn->fd = fd;
    conn->peer = *peer;
    conn->interest = RT_READ;
    list_init(&conn->node);
    return conn;
}

static void conn_poll(struct rt_conn *conn, unsigned wanted)
{
    if (wanted == conn->polled) return;
    int events = ((wanted & RT_READ) ? UV_READABLE : 0) | ((wanted & RT_WRITE) ? UV_WRITABLE : 0);
    /* Fails only for a descriptor that is being polled twice. */
    CHECK((events ? uv_poll_start(&conn->poll, events, on_poll) : uv_poll_stop(&conn->poll)) == 0);
    conn->polled = (uint8_t)wanted;
}

static void conn_changed(struct rt_conn *conn)
{
    if (list_empty(&conn->node)) list_push_back(&conn->rt->changed, &conn->node);
}

struct rt_conn *conn_accepted(struct rt *rt, int fd, const struct rt_addr *peer)
{
    struct rt_conn *conn = conn_create(rt, fd, peer);
    if (!conn) return NULL;
    conn->incoming = true;
    conn_changed(conn);
    return conn;
}

struct rt_conn *rt_connect(struct rt *rt, const struct rt_addr *addr,
                           const struct rt_conn_events *events, void *owner,
                           enum belay_error_class *error)
{
    int fd = socket(addr->family == 6 ? AF_INET6 : AF_INET,
                    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int reason = fd >= 0 ? ENOMEM : errno;
    struct rt_conn *conn = fd >= 0 ? conn_create(rt, fd, addr) : NULL;
    if (!conn) {
        *error = errors_of_connect(reason);
        return NULL;
    }
    rt_conn_own(conn, events, owner);
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));

    struct sockaddr_storage to;
    socklen_t to_length = addr_to_sockaddr(addr, &to);
    conn->connecting = true;
    if (connect(fd, (const struct sockaddr *)&to, to_length) != 0 && errno != EINPROGRESS &&
        errno != EINTR) {
        conn->connect_errno = errno;
        list_push_back(&rt->failing, &conn->node);
    } else {
        conn_changed(conn);
    }
    return conn;
}

void rt_conn_own(struct rt_conn *conn, const struct rt_conn_events *events, void *owner)
{
    conn->events = events;
    conn->owner = owner;
}

/* ---- readiness ---- */

void rt_conn_interest(struct rt_conn *conn, unsigned interest)
{
    conn->interest = (uint8_t)interest;
    conn_changed(conn);
}

void conn_apply_interest(struct rt *rt)
{
    while (!list_empty(&rt->changed)) {
        struct rt_conn *conn = CONTAINER_OF(rt->changed.next, struct rt_conn, node);
        list_remove(&conn->node);
        conn_poll(conn, conn->connecting ? RT_WRITE : conn->interest);
    }
}

void conn_fail_pending(struct rt *rt)
{
    while (!list_empty(&rt->failing)) {
        struct rt_conn *conn = CONTAINER_OF(rt->failing.next, struct rt_conn, node);
        list_remove(&conn->node);
        conn->events->failed(conn->owner, errors_of_connect(conn->connect_errno));
    }
}

/* A connect to a free port of this machine can meet itself, when the kernel picks that port for our
 * end. */
static bool met_itself(const struct rt_conn *conn)
{
    struct sockaddr_storage local = {0};
    socklen_t length = sizeof(local);
    struct rt_addr own;
    if (getsockname(conn->fd, (struct sockaddr *)&local, &length) != 0) return false;
    addr_from_sockaddr(&local, &own);
    return own.port == conn->peer.port && memcmp(own.ip, conn->peer.ip, sizeof(own.ip)) == 0;
}

static void connect_finished(struct rt_conn *conn)
{
    int error = 0;
    socklen_t length = sizeof(error);
    (void)getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == 0 && met_itself(conn)) error = ECONNREFUSED;
    if (error != 0) {
        conn->events->failed(conn->owner, errors_of_connect(error));
        return;
    }
    conn->connecting = false;
    conn_changed(conn);
    conn->events->ready(conn->owner, RT_WRITE);
}

/* False when the peer has ended or the connection broke: nothing left to wait for. */
static bool linger_discard(struct rt_conn *conn)
{
    /* MSG_TRUNC drops it without copying. */
    ssize_t count = recv(conn->fd, NULL, 1 << 20, MSG_TRUNC | MSG_DONTWAIT);
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

static void on_closed(uv_handle_t *handle)
{
    free(CONTAINER_OF(handle, struct rt_conn, poll));
}

static void conn_release(struct rt_conn *conn)
{
    list_remove(&conn->node);
    if (conn->lingering) conn->rt->lingering_count--;
    uv_close((uv_handle_t *)&conn->poll, on_closed);
    close(conn->fd);
    conn->fd = -1;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct rt_conn *conn = CONTAINER_OF(poll, struct rt_conn, poll);
    unsigned ready =
        ((events & UV_READABLE) ? RT_READ : 0U) | ((events & UV_WRITABLE) ? RT_WRITE : 0U);
    if (status < 0) {
        /* libuv stops polling a socket in error; the next read or write tells what it is. */
        ready = conn->polled;
        conn->polled = 0;
        conn_changed(conn);
    }
    if (conn->lingering) {
        if (status < 0 || !linger_discard(conn)) conn_release(conn);
    } else if (conn->connecting) {
        connect_finished(conn);
    } else if (ready & conn->interest) {
        conn->events->ready(conn->owner, ready & conn->interest);
    }
}

/* ---- bytes ---- */

struct rt_io rt_conn_read(struct rt_conn *conn, char *buffer, size_t capacity)
{
    ssize_t count;
    do {
        count = recv(conn->fd, buffer, capacity, 0);
    } while (count < 0 && errno == EINTR);
    if (count > 0) return (struct rt_io){.kind = RT_IO_OK, .count = (size_t)count};
    if (count < 0 && errno == EAGAIN) return (struct rt_io){.kind = RT_IO_AGAIN};
    conn->ended = true;
    if (count == 0) return (struct rt_io){.kind = RT_IO_END};
    return (struct rt_io){.kind = RT_IO_ERROR, .error = errors_of_io(errno)};
}

struct rt_io rt_conn_write(struct rt_conn *conn, const struct belay_slice *pieces, size_t count)
{
    struct iovec vector[RT_WRITE_PIECES_MAX];
    CHECK(count > 0 && count <= RT_WRITE_PIECES_MAX);
    for (size_t i = 0; i < count; i++) {
        vector[i] = (struct iovec){(void *)(uintptr_t)pieces[i].data, pieces[i].length};
    }
    struct msghdr message = {.msg_iov = vector, .msg_iovlen = count};
    ssize_t sent;
    do {
        sent = count == 1 ? send(conn->fd, pieces->data, pieces->length, MSG_NOSIGNAL)
                          : sendmsg(conn->fd, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent >= 0) {
        conn->written += (uint64_t)sent;
        return (struct rt_io){.kind = RT_IO_OK, .count = (size_t)sent};
    }
    if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)
        return (struct rt_io){.kind = RT_IO_AGAIN};
    return (struct rt_io){.kind = RT_IO_ERROR, .error = errors_of_io(errno)};
}

uint64_t rt_conn_written(const struct rt_conn *conn)
{
    return conn->written;
}

bool rt_conn_dead(struct rt_conn *conn)
{
    char byte;
    return recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
           (errno != EAGAIN && errno != EINTR);
}

/* ---- the end ---- */

void rt_conn_shutdown_write(struct rt_conn *conn)
{
    (void)shutdown(conn->fd, SHUT_WR);
}

/* Closing a socket with unread input resets it, and a reset destroys the answer that the peer has
 * not read yet. So a server that closes first says its end and throws away what still comes, until
 * the peer ends or LINGER_FOR. */
static void linger(struct rt_conn *conn)
{
    struct rt *rt = conn->rt;
    rt_conn_shutdown_write(conn);
    conn->lingering = true;
    conn->linger_until = belay_instant_add(rt_now(rt), LINGER_FOR);
    list_remove(&conn->node);
    conn_poll(conn, RT_READ);
    list_push_back(&rt->lingering, &conn->node);
    if (++rt->lingering_count > rt->lingering_max)
        conn_release(CONTAINER_OF(rt->lingering.next, struct rt_conn, node));
    if (!rt_timer_armed(&rt->linger_timer)) rt_timer_arm(rt, &rt->linger_timer, conn->linger_until);
}

static void on_linger_timer(struct rt_timer *timer)
{
    struct rt *rt = CONTAINER_OF(timer, struct rt, linger_timer);
    while (!list_empty(&rt->lingering)) {
        struct rt_conn *conn = CONTAINER_OF(rt->lingering.next, struct rt_conn, node);
        if (belay_instant_before(rt_now(rt), conn->linger_until)) {
            rt_timer_arm(rt, &rt->linger_timer, conn->linger_until);
            return;
        }
        conn_release(conn);
    }
}

void rt_conn_close(struct rt_conn *conn, enum rt_close how)
{
    if (how == RT_CLOSE_ABORT) {
        struct linger reset = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    } else if (conn->incoming && conn->written > 0 && !conn->ended) {
        linger(conn);
        return;
    }
    conn_release(conn);
}

void conn_rt_init(struct rt *rt)
{
    struct rlimit descriptors;
    bool known = getrlimit(RLIMIT_NOFILE, &descriptors) == 0;
    rt->lingering_max = known ? (size_t)descriptors.rlim_cur / LINGER_SHARE : SIZE_MAX;
    list_init(&rt->changed);
    list_init(&rt->failing);
    list_init(&rt->lingering);
    rt_timer_init(&rt->linger_timer, on_linger_timer);
}

void conn_rt_deinit(struct rt *rt)
{
    rt_timer_disarm(rt, &rt->linger_timer);
    while (!list_empty(&rt->lingering)) {
        conn_release(CONTAINER_OF(rt->lingering.next, struct rt_conn, node));
    }
}
