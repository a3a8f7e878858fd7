/* origin.c: the cheapest origin there can be: `GET /N` is answered with N bytes, keep-alive, no
 * parsing beyond that. */
#include "net.h"

#define BODY_BYTES_MAX (1 << 25)

struct peer {
    int fd;
    size_t got;       /* bytes of a request that has not come whole */
    const char *rest; /* what the socket has not taken yet */
    size_t rest_bytes;
    char request[4096];
};

/* The last answer is kept: a run asks for one size only. */
static char answer[BODY_BYTES_MAX + 256];
static size_t answer_bytes, answer_for = SIZE_MAX;

static void prepare(size_t body_bytes)
{
    if (answer_for == body_bytes) return;
    must(body_bytes <= BODY_BYTES_MAX, "body size");
    int head = snprintf(
        answer, sizeof answer,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n", body_bytes);
    memset(answer + head, 'x', body_bytes);
    answer_bytes = (size_t)head + body_bytes;
    answer_for = body_bytes;
}

static void send_rest(int epoll, struct peer *peer)
{
    while (peer->rest_bytes > 0) {
        ssize_t n = send(peer->fd, peer->rest, peer->rest_bytes, MSG_NOSIGNAL);
        if (n < 0) break;
        peer->rest += n;
        peer->rest_bytes -= (size_t)n;
    }
    static const uint32_t reading = EPOLLIN, writing = EPOLLOUT;
    if (peer->rest_bytes > 0)
        net_watch(epoll, peer->fd, EPOLL_CTL_MOD, writing, peer);
    else if (peer->rest)
        net_watch(epoll, peer->fd, EPOLL_CTL_MOD, reading, peer);
    if (peer->rest_bytes == 0) peer->rest = NULL;
}

static void answer_request(int epoll, struct peer *peer)
{
    peer->request[peer->got] = 0;
    if (!strstr(peer->request, "\r\n\r\n")) return;
    char *slash = strchr(peer->request, '/');
    prepare(slash ? strtoul(slash + 1, NULL, 10) : 0);
    peer->got = 0;
    ssize_t n = send(peer->fd, answer, answer_bytes, MSG_NOSIGNAL);
    if (n == (ssize_t)answer_bytes) return;
    size_t sent = n > 0 ? (size_t)n : 0;
    peer->rest = answer + sent;
    peer->rest_bytes = answer_bytes - sent;
    send_rest(epoll, peer);
}

static void serve(int epoll, struct peer *peer)
{
    if (peer->rest_bytes > 0) {
        send_rest(epoll, peer);
        return;
    }
    ssize_t n = recv(peer->fd, peer->request + peer->got, sizeof peer->request - 1 - peer->got, 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
        close(peer->fd);
        free(peer);
        return;
    }
    peer->got += (size_t)n;
    answer_request(epoll, peer);
}

static void accept_all(int epoll, int listener)
{
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        set_nodelay(fd);
        struct peer *peer = calloc(1, sizeof *peer);
        must(peer != NULL, "calloc");
        peer->fd = fd;
        net_watch(epoll, fd, EPOLL_CTL_ADD, EPOLLIN, peer);
    }
}

int main(void)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC), listener = net_listen();
    must(epoll >= 0, "epoll_create1");
    net_watch(epoll, listener, EPOLL_CTL_ADD, EPOLLIN, NULL);
    for (;;) {
        struct epoll_event events[EVENTS_MAX];
        int count = epoll_wait(epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr)
                serve(epoll, events[i].data.ptr);
            else
                accept_all(epoll, listener);
        }
    }
}
