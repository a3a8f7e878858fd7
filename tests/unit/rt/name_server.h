/* name_server.h: a name server in a thread: known.test has one address, silent.test is never
 * answered, no other name exists. */
#ifndef TESTS_UNIT_RT_NAME_SERVER_H
#define TESTS_UNIT_RT_NAME_SERVER_H

#include "test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct name_server {
    int fd, stop[2];
    pthread_t thread;
    char address[32];
};

/* Builds the answer in place; 0: say nothing. */
static inline size_t name_server_answer(unsigned char *packet, size_t length)
{
    static const unsigned char known[] = "\5known\4test";
    static const unsigned char silent[] = "\6silent\4test";
    const unsigned char *question = packet + 12;
    if (memcmp(question, silent, sizeof(silent)) == 0) return 0;
    packet[2] |= 0x80; /* an answer */
    packet[3] = 0;
    packet[10] = packet[11] = 0; /* no additional records */
    size_t end = 12;
    while (packet[end] != 0) end += packet[end] + 1U;
    bool asks_a = packet[end + 2] == 1;
    end += 5;
    (void)length;
    if (memcmp(question, known, sizeof(known)) != 0) {
        packet[3] = 3; /* no such name */
        return end;
    }
    if (!asks_a) return end;
    static const unsigned char record[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 77, 0, 4, 127, 0, 0, 5};
    packet[7] = 1;
    memcpy(packet + end, record, sizeof(record));
    return end + sizeof(record);
}

static inline void *name_server_run(void *arg)
{
    const struct name_server *server = arg;
    for (;;) {
        unsigned char packet[1024];
        struct sockaddr_in from;
        struct pollfd either[2] = {{.fd = server->fd, .events = POLLIN},
                                   {.fd = server->stop[0], .events = POLLIN}};
        if (poll(either, 2, -1) < 0 || either[1].revents) return NULL;
        socklen_t from_length = sizeof(from);
        ssize_t count =
            recvfrom(server->fd, packet, 512, 0, (struct sockaddr *)&from, &from_length);
        if (count < 17) continue;
        size_t length = name_server_answer(packet, (size_t)count);
        if (length > 0)
            sendto(server->fd, packet, length, 0, (struct sockaddr *)&from, from_length);
    }
}

static inline void name_server_start(struct name_server *server)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    server->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->fd, (struct sockaddr *)&at, length), 0);
    assert_int_equal(getsockname(server->fd, (struct sockaddr *)&at, &length), 0);
    snprintf(server->address, sizeof(server->address), "127.0.0.1:%u", ntohs(at.sin_port));
    assert_int_equal(pipe(server->stop), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, name_server_run, server), 0);
}

static inline void name_server_stop(struct name_server *server)
{
    close(server->stop[1]);
    assert_int_equal(pthread_join(server->thread, NULL), 0);
    close(server->stop[0]);
    close(server->fd);
}

#endif
