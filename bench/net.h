/* net.h: the few socket lines that the programs of the bench share; a fault ends the program. */
#ifndef BENCH_NET_H
#define BENCH_NET_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX 256

static inline void must(int ok, const char *what)
{
    if (ok) return;
    perror(what);
    exit(1);
}

static inline struct sockaddr_in loopback(uint16_t port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return addr;
}

static inline void set_nodelay(int fd)
{
    int one = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static inline void set_nonblocking(int fd)
{
    must(fcntl(fd, F_SETFL, O_NONBLOCK) == 0, "fcntl");
}

/* Listens on a free port of loopback and prints it, so that whoever started the program knows. */
static inline int net_listen(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    must(fd >= 0, "socket");
    struct sockaddr_in addr = loopback(0);
    socklen_t length = sizeof addr;
    must(bind(fd, (struct sockaddr *)&addr, sizeof addr) == 0, "bind");
    must(listen(fd, 4096) == 0, "listen");
    must(getsockname(fd, (struct sockaddr *)&addr, &length) == 0, "getsockname");
    printf("listening on 127.0.0.1:%u\n", ntohs(addr.sin_port));
    fflush(stdout);
    return fd;
}

/* Connects (it waits: loopback) and makes the descriptor non-blocking. */
static inline int net_connect(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0, "socket");
    struct sockaddr_in addr = loopback(port);
    must(connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0, "connect");
    set_nodelay(fd);
    set_nonblocking(fd);
    return fd;
}

static inline void net_watch(int epoll, int fd, int operation, uint32_t interest, void *with)
{
    struct epoll_event event = {.events = interest, .data.ptr = with};
    must(epoll_ctl(epoll, operation, fd, &event) == 0, "epoll_ctl");
}

#endif
