/* blocking.c: a GET over a plain blocking socket that survives an origin which fails.
 *
 *   belay flaky --fail-first 2 &
 *   cc -o blocking blocking.c $(pkg-config --cflags --libs belay)
 *   ./blocking 9000 /orders/42
 */
#include <belay/belay.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct belay_instant now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return belay_instant_of(t.tv_sec, t.tv_nsec);
}

/* The next blocking call on the socket ends at `end_at` at the latest. */
static void limit(int fd, struct belay_instant end_at)
{
    int64_t ns = belay_instant_since(end_at, now()).ns, us = ns > 1000 ? ns / 1000 : 1;
    struct timeval left = {us / 1000000, us % 1000000}; /* 0 would be no limit */
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof left);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof left);
}

static struct belay_outcome lost(enum belay_phase phase, enum belay_sent sent)
{
    bool late = errno == EAGAIN || errno == EINPROGRESS || errno == ETIMEDOUT;
    enum belay_error_class error = late                    ? BELAY_ERROR_TIMEOUT
                                   : errno == ECONNREFUSED ? BELAY_ERROR_REFUSED
                                                           : BELAY_ERROR_RESET;
    return belay_outcome_error(error, phase, sent);
}

/* Reads the answer, which ends with its connection (HTTP/1.0), and keeps its beginning. */
static struct belay_outcome answer(int fd, struct belay_instant end_at)
{
    char head[13] = "", piece[4096]; /* "HTTP/1.1 200" */
    size_t kept = 0;
    int status = 0;
    for (;;) {
        limit(fd, end_at);
        ssize_t got = recv(fd, piece, sizeof piece, 0);
        for (ssize_t i = 0; i < got && kept < sizeof head - 1; i++) head[kept++] = piece[i];
        sscanf(head, "HTTP/1.1 %3d", &status);
        if (got < 0) return lost(status ? BELAY_PHASE_BODY : BELAY_PHASE_HEADERS, BELAY_SENT);
        if (got == 0) break;
    }
    if (status) return belay_outcome_status(status);
    return belay_outcome_error(BELAY_ERROR_CLOSED, BELAY_PHASE_HEADERS, BELAY_SENT);
}

/* One call, which ends at `end_at` at the latest, and what it came to. */
static struct belay_outcome attempt(const char *port, const char *request,
                                    struct belay_instant end_at)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    struct belay_outcome outcome;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    limit(fd, end_at);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        outcome = lost(BELAY_PHASE_CONNECT, BELAY_UNSENT);
    } else if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0) {
        outcome = lost(BELAY_PHASE_SEND, BELAY_SENT);
    } else {
        outcome = answer(fd, end_at);
    }
    close(fd);
    return outcome;
}

int main(int argc, char **argv)
{
    char request[1024] = "";
    const char *path = argc == 3 ? argv[2] : "";
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path);
    if (argc != 3 || length >= (int)sizeof request) return 2;
    struct belay_policy policy = belay_policy_default();
    struct belay_target *origin = belay_target_create(&policy, (uint64_t)getpid());
    struct belay_traits traits = belay_traits_of(BELAY_METHOD_GET);
    struct belay_operation op;
    struct belay_admission may;
    struct belay_instant start = now();

    if (!origin) return 1;
    belay_operation_init(&op, &policy, origin, &traits, start,
                         belay_instant_add(start, policy.deadline_for), NULL);
    while ((may = belay_operation_admit(&op, now())).kind != BELAY_REFUSED) {
        if (may.kind == BELAY_WAIT) {
            struct timespec at = {may.at.ns / BELAY_NS_PER_S, may.at.ns % BELAY_NS_PER_S};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
            continue;
        }
        uint64_t luck;
        getrandom(&luck, sizeof luck, 0);
        struct belay_outcome outcome = attempt(argv[1], request, may.at);
        struct belay_verdict verdict = belay_operation_record(&op, &outcome, now(), luck);
        printf("attempt %u: %d, %s\n", verdict.attempt, outcome.status,
               belay_decision_name(verdict.decision));
        if (verdict.decision != BELAY_DECISION_RETRY) break;
    }
    struct belay_ending ending = belay_operation_finish(&op, now());
    printf("%s after %u attempts\n", ending.status ? "answered" : ending.word, ending.attempts);
    belay_target_destroy(origin);
    return ending.status ? 0 : 1;
}
