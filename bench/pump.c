/* pump.c: a bare byte pump between two sockets: what a proxy would cost if it understood nothing.
 */
#include "net.h"

#define PIECE_BYTES (1 << 16)

/* One direction: bytes read from `from` that `to` has not taken. */
struct side {
    int fd;
    struct side *other;
    char *held; /* read from the other side, to be written here */
    size_t held_bytes;
    size_t held_at;
};

static uint16_t origin_port;

static void drop(struct side *side)
{
    struct side *other = side->other;
    close(side->fd);
    close(other->fd);
    side->fd = other->fd = -1; /* the memory stays: a later event of this turn may still name it */
}

/* Writes what is held for this side; false while the socket takes no more. */
static int flush(struct side *side)
{
    while (side->held_at < side->held_bytes) {
        ssize_t n = send(side->fd, side->held + side->held_at, side->held_bytes - side->held_at,
                         MSG_NOSIGNAL);
        if (n < 0) return 0;
        side->held_at += (size_t)n;
    }
    free(side->held);
    side->held = NULL;
    side->held_bytes = side->held_at = 0;
    return 1;
}

static void hold(int epoll, struct side *side, const char *bytes, size_t count)
{
    side->held = malloc(count);
    must(side->held != NULL, "malloc");
    memcpy(side->held, bytes, count);
    side->held_bytes = count;
    side->held_at = 0;
    net_watch(epoll, side->fd, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT, side);
    net_watch(epoll, side->other->fd, EPOLL_CTL_MOD, 0, side->other);
}

static void pump(int epoll, struct side *from)
{
    static char piece[PIECE_BYTES];
    ssize_t n = recv(from->fd, piece, sizeof piece, 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
        drop(from);
        return;
    }
    ssize_t sent = send(from->other->fd, piece, (size_t)n, MSG_NOSIGNAL);
    if (sent < 0) sent = 0;
    if (sent < n) hold(epoll, from->other, piece + sent, (size_t)(n - sent));
}

static void on_event(int epoll, struct side *side, uint32_t ready)
{
    if (side->fd < 0) return;
    if ((ready & EPOLLOUT) && flush(side)) {
        net_watch(epoll, side->fd, EPOLL_CTL_MOD, EPOLLIN, side);
        net_watch(epoll, side->other->fd, EPOLL_CTL_MOD, EPOLLIN, side->other);
    }
    if (ready & (EPOLLIN | EPOLLHUP | EPOLLERR)) pump(epoll, side);
}

static void accept_all(int epoll, int listener)
{
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        set_nodelay(fd);
        struct side *sides = calloc(2, sizeof *sides); /* never freed: runs are short */
        must(sides != NULL, "calloc");
        sides[0] = (struct side){.fd = fd, .other = &sides[1]};
        sides[1] = (struct side){.fd = net_connect(origin_port), .other = &sides[0]};
        net_watch(epoll, sides[0].fd, EPOLL_CTL_ADD, EPOLLIN, &sides[0]);
        net_watch(epoll, sides[1].fd, EPOLL_CTL_ADD, EPOLLIN, &sides[1]);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: pump ORIGIN_PORT\n");
        return 2;
    }
    origin_port = (uint16_t)strtoul(argv[1], NULL, 10);
    int epoll = epoll_create1(EPOLL_CLOEXEC), listener = net_listen();
    must(epoll >= 0, "epoll_create1");
    net_watch(epoll, listener, EPOLL_CTL_ADD, EPOLLIN, NULL);
    for (;;) {
        struct epoll_event events[EVENTS_MAX];
        int count = epoll_wait(epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr)
                on_event(epoll, events[i].data.ptr, events[i].events);
            else
                accept_all(epoll, listener);
        }
    }
}
