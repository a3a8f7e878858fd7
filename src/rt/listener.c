/* listener.c: listening sockets that the workers of a process share, and how one is drained. */
#include "base/check.h"
#include "rt/errors.h"
#include "rt/rt_uv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

/* Few a turn, so that a burst of connections spreads over the workers that were woken for it. */
#define ACCEPTS_PER_TURN_MAX 4
/* Out of descriptors or memory: the queue stays readable, so polling on would spin. */
#define REST_FOR belay_span_ms(100)
/* No more can wait in the kernel's queue. */
#define QUEUE_MAX (SOMAXCONN + 1)
/* While draining: handshakes whose SYN had been taken before get this long to finish. */
#define HANDSHAKE_FOR belay_span_ms(100)

/* One socket of the process; every listener on the address polls a descriptor of its own for it. */
struct shared_socket {
    struct list node;
    struct rt_addr addr;
    int fd;
    unsigned users;
};

struct rt_listener {
    uv_poll_t poll;
    struct rt *rt;
    struct shared_socket *socket;
    int fd; /* a loop polls a descriptor once only, and may still drain what is listened on anew */
    const struct rt_listener_events *events;
    void *owner;
    struct rt_timer timer; /* resting, or the end of draining */
    void (*drained)(void *owner);
    uint64_t exhausted;
    bool closed;
};

static struct lock registry_lock = {PTHREAD_MUTEX_INITIALIZER};
static struct list registry = {&registry, &registry};

static void on_incoming(uv_poll_t *poll, int status, int events);

static bool addr_equal(const struct rt_addr *a, const struct rt_addr *b)
{
    return a->family == b->family && a->port == b->port && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

/* A bound and listening descriptor, or -1 with errno. */
static int listen_on(struct rt_addr *addr)
{
    struct sockaddr_storage at;
    socklen_t at_length = addr_to_sockaddr(addr, &at);
    int fd = socket(at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    /* Inherited by what is accepted. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (addr->family == 6) (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (bind(fd, (const struct sockaddr *)&at, at_length) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &at_length) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    addr_from_sockaddr(&at, addr);
    return fd;
}

/* Refuses new handshakes on the socket but lets those under way finish: drops a segment that has
 * SYN and no ACK. The filter sees the packet from the TCP header on. A dropped SYN is sent again by
 * its kernel, to whoever listens by then; closing the socket instead would reset the connections
 * that still wait in its queue. */
static void refuse_handshakes(int fd)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13), /* the flags */
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TH_SYN | TH_ACK),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TH_SYN, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* Somebody listens on a socket that is being drained: it takes connections again. */
static void allow_handshakes(int fd)
{
    int ignored = 0;
    (void)setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &ignored, sizeof(ignored));
}

/* With the registry's lock held. NULL with errno set. */
static struct shared_socket *socket_join(const struct rt_addr *addr)
{
    for (struct list *node = registry.next; node != &registry; node = node->next) {
        struct shared_socket *shared = CONTAINER_OF(node, struct shared_socket, node);
        if (addr_equal(&shared->addr, addr)) {
            shared->users++;
            allow_handshakes(shared->fd);
            return shared;
        }
    }
    struct shared_socket *shared = calloc(1, sizeof(*shared));
    if (!shared) return NULL;
    shared->addr = *addr;
    shared->fd = listen_on(&shared->addr);
    if (shared->fd < 0) {
        int error = errno;
        free(shared);
        errno = error;
        return NULL;
    }
    shared->users = 1;
    list_push_back(&registry, &shared->node);
    return shared;
}

static void socket_leave(struct shared_socket *shared)
{
    lock_take(&registry_lock);
    if (--shared->users == 0) {
        list_remove(&shared->node);
        close(shared->fd);
        free(shared);
    }
    lock_give(&registry_lock);
}

static void listener_poll(struct rt_listener *listener)
{
    CHECK(uv_poll_start(&listener->poll, UV_READABLE, on_incoming) == 0);
}

static void on_rested(struct rt_timer *timer)
{
    listener_poll(CONTAINER_OF(timer, struct rt_listener, timer));
}

struct rt_listener *rt_listen(struct rt *rt, const struct rt_addr *addr,
                              const struct rt_listener_events *events, void *owner,
                              const char **error)
{
    struct rt_listener *listener = calloc(1, sizeof(*listener));
    lock_take(&registry_lock);
    struct shared_socket *shared = listener ? socket_join(addr) : NULL;
    int reason = errno;
    lock_give(&registry_lock);
    if (!shared) {
        free(listener);
        *error = strerrordesc_np(reason);
        return NULL;
    }
    listener->fd = fcntl(shared->fd, F_DUPFD_CLOEXEC, 0);
    reason = listener->fd < 0 ? errno : ENOMEM;
    if (listener->fd < 0 || !polled_init(rt, &listener->poll, listener->fd)) {
        if (listener->fd >= 0) close(listener->fd);
        socket_leave(shared);
        free(listener);
        *error = strerrordesc_np(reason);
        return NULL;
    }
    listener->rt = rt;
    listener->socket = shared;
    listener->events = events;
    listener->owner = owner;
    rt_timer_init(&listener->timer, on_rested);
    listener_poll(listener);
    return listener;
}

void rt_listener_addr(const struct rt_listener *listener, struct rt_addr *out)
{
    *out = listener->socket->addr;
}

uint64_t rt_listener_exhausted(const struct rt_listener *listener)
{
    return listener->exhausted;
}

enum taken { TAKEN_ONE, TAKEN_DEAD, TAKEN_NONE, TAKEN_EXHAUSTED };

/* Takes one connection from the kernel's queue and hands it over. */
static enum taken take_one(struct rt_listener *listener)
{
    struct sockaddr_storage from;
    socklen_t from_length = sizeof(from);
    int fd =
        accept4(listener->fd, (struct sockaddr *)&from, &from_length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno == EAGAIN) return TAKEN_NONE;
        return errors_died_in_queue(errno) ? TAKEN_DEAD : TAKEN_EXHAUSTED;
    }
    struct rt_addr peer;
    addr_from_sockaddr(&from, &peer);
    struct rt_conn *conn = conn_accepted(listener->rt, fd, &peer);
    if (!conn) return TAKEN_EXHAUSTED;
    listener->events->accepted(listener->owner, conn);
    return TAKEN_ONE;
}

/* Up to so many, and until there are no more. */
static enum taken take_some(struct rt_listener *listener, int count_max)
{
    enum taken taken = TAKEN_ONE;
    for (int i = 0; i < count_max && taken <= TAKEN_DEAD && !listener->closed; i++)
        taken = take_one(listener);
    return taken;
}

static void rest(struct rt_listener *listener)
{
    listener->exhausted++;
    (void)uv_poll_stop(&listener->poll);
    if (listener->drained) return; /* the end of draining takes what waits */
    rt_timer_arm(listener->rt, &listener->timer, belay_instant_add(rt_now(listener->rt), REST_FOR));
}

static void on_incoming(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events;
    struct rt_listener *listener = CONTAINER_OF(poll, struct rt_listener, poll);
    enum taken taken = take_some(listener, ACCEPTS_PER_TURN_MAX);
    if (taken == TAKEN_EXHAUSTED && !listener->closed) rest(listener);
}

static void on_handshakes_over(struct rt_timer *timer)
{
    struct rt_listener *listener = CONTAINER_OF(timer, struct rt_listener, timer);
    enum taken taken = take_some(listener, QUEUE_MAX);
    if (listener->closed) return;
    /* What waits is owed an answer: again when descriptors have come back. */
    if (taken == TAKEN_EXHAUSTED) {
        listener->exhausted++;
        rt_timer_arm(listener->rt, timer, belay_instant_add(rt_now(listener->rt), REST_FOR));
        return;
    }
    (void)uv_poll_stop(&listener->poll);
    listener->drained(listener->owner);
}

void rt_listener_drain(struct rt_listener *listener, void (*done)(void *owner))
{
    refuse_handshakes(listener->fd);
    listener->drained = done;
    rt_timer_disarm(listener->rt, &listener->timer);
    rt_timer_init(&listener->timer, on_handshakes_over);
    rt_timer_arm(listener->rt, &listener->timer,
                 belay_instant_add(rt_now(listener->rt), HANDSHAKE_FOR));
}

static void on_closed(uv_handle_t *handle)
{
    free(CONTAINER_OF(handle, struct rt_listener, poll));
}

void rt_listener_close(struct rt_listener *listener)
{
    listener->closed = true;
    rt_timer_disarm(listener->rt, &listener->timer);
    uv_close((uv_handle_t *)&listener->poll, on_closed);
    close(listener->fd);
    socket_leave(listener->socket);
}
