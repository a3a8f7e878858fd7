/* blocking.c: a GET over a plain blocking socket that survives an origin which fails.
 *
 *   belay flaky --fail-first 2 &
 *   cc -o blocking blocking.c $(pkg-config --cflags --libs belay)
 *   ./blocking 9000 /orders/42
 */
#include <belay/belay.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
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

/* One call, which may take as long as `limit`, and what it came to. The answer to HTTP/1.0 ends
 * with its connection. */
static struct belay_outcome attempt(const char *port, const char *path, struct belay_span limit)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    struct timeval silence = {limit.ns / BELAY_NS_PER_S, limit.ns % BELAY_NS_PER_S / 1000 + 1};
    char request[1024], answer[4096] = "";
    int status = 0, length = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return belay_outcome_error(BELAY_ERROR_REFUSED, BELAY_PHASE_CONNECT, BELAY_UNSENT);
    }
    send(fd, request, (size_t)length, MSG_NOSIGNAL);
    ssize_t got = recv(fd, answer, sizeof answer - 1, MSG_WAITALL);
    close(fd);
    if (sscanf(answer, "HTTP/1.1 %3d", &status) == 1) return belay_outcome_status(status);
    return belay_outcome_error(got < 0 ? BELAY_ERROR_TIMEOUT : BELAY_ERROR_CLOSED,
                               BELAY_PHASE_HEADERS, BELAY_SENT);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
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
        struct belay_outcome outcome = attempt(argv[1], argv[2], may.remaining);
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
