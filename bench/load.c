/* load.c: a closed-loop load: so many keep-alive connections, so many requests in all, then a line
 * of JSON. */
#include "net.h"

#include <time.h>

struct caller {
    int fd;
    size_t got;  /* bytes of this answer so far */
    size_t want; /* bytes of the whole answer; 0: its head has not come whole */
    char head[2048];
};

static char request[512];
static size_t request_bytes;
static uint64_t to_send, to_finish, failed;

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void ask(struct caller *caller)
{
    if (to_send == 0) return;
    to_send--;
    caller->got = caller->want = 0;
    must(send(caller->fd, request, request_bytes, MSG_NOSIGNAL) == (ssize_t)request_bytes, "send");
}

/* Learns the answer's whole length from its head, once that is there. */
static void read_head(struct caller *caller)
{
    char *end = strstr(caller->head, "\r\n\r\n");
    if (!end) return;
    char *field = strcasestr(caller->head, "\r\ncontent-length:");
    must(field != NULL && field < end, "an answer without Content-Length");
    caller->want = (size_t)(end + 4 - caller->head) + strtoul(field + 17, NULL, 10);
    if (strncmp(caller->head, "HTTP/1.1 200", 12) != 0) failed++;
}

static void on_bytes(struct caller *caller)
{
    static char piece[1 << 17];
    ssize_t n = recv(caller->fd, piece, sizeof piece, 0);
    if (n < 0 && errno == EAGAIN) return;
    must(n > 0, "the proxy closed a connection");
    if (caller->want == 0) {
        size_t room = sizeof caller->head - 1 - caller->got;
        size_t take = (size_t)n < room ? (size_t)n : room;
        memcpy(caller->head + caller->got, piece, take);
        caller->head[caller->got + take] = 0;
        caller->got += (size_t)n;
        read_head(caller);
    } else {
        caller->got += (size_t)n;
    }
    if (caller->want == 0 || caller->got < caller->want) return;
    must(caller->got == caller->want, "more bytes than the answer has");
    to_finish--;
    ask(caller);
}

static void finish_all(int epoll)
{
    while (to_finish > 0) {
        struct epoll_event events[EVENTS_MAX];
        int count = epoll_wait(epoll, events, EVENTS_MAX, 30000);
        must(count > 0, "no answer for 30 s");
        for (int i = 0; i < count; i++) on_bytes(events[i].data.ptr);
    }
}

/* `idle`: the connections are made one after the other, each with one request, and kept until
 * standard input ends. */
static void keep_idle(int epoll, struct caller *callers, size_t connections, uint16_t port)
{
    for (size_t i = 0; i < connections; i++) {
        callers[i].fd = net_connect(port);
        net_watch(epoll, callers[i].fd, EPOLL_CTL_ADD, EPOLLIN, &callers[i]);
        to_send = to_finish = 1;
        ask(&callers[i]);
        finish_all(epoll);
    }
    printf("idle\n");
    fflush(stdout);
    while (getchar() != EOF) continue;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: load PORT BODY_BYTES CONNECTIONS REQUESTS|idle\n");
        return 2;
    }
    uint16_t port = (uint16_t)strtoul(argv[1], NULL, 10);
    size_t connections = strtoul(argv[3], NULL, 10);
    request_bytes = (size_t)snprintf(request, sizeof request,
                                     "GET /%s HTTP/1.1\r\nHost: bench\r\n\r\n", argv[2]);
    struct caller *callers = calloc(connections, sizeof *callers);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    must(callers != NULL && epoll >= 0, "start");
    if (strcmp(argv[4], "idle") == 0) {
        keep_idle(epoll, callers, connections, port);
        return 0;
    }
    uint64_t requests = strtoull(argv[4], NULL, 10);
    to_send = to_finish = requests;
    for (size_t i = 0; i < connections; i++) {
        callers[i].fd = net_connect(port);
        net_watch(epoll, callers[i].fd, EPOLL_CTL_ADD, EPOLLIN, &callers[i]);
    }
    double began = seconds_now();
    for (size_t i = 0; i < connections; i++) ask(&callers[i]);
    finish_all(epoll);
    double took = seconds_now() - began;
    printf("{\"requests\": %llu, \"failed\": %llu, \"seconds\": %.6f}\n",
           (unsigned long long)requests, (unsigned long long)failed, took);
    return 0;
}
