/* serve.c: the daemon as a process: what it serves, writes and says, through signals and new
 * configurations. */
#include "app/app.h"
#include "run.h"
#include "test.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char folder[64], config[96], events[96], moved[96];
static char answer[1 << 16], content[1 << 16];

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/belay-serve-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(config, sizeof config, "%s/belay.yaml", folder);
    snprintf(events, sizeof events, "%s/events", folder);
    snprintf(moved, sizeof moved, "%s/moved", folder);
    (void)alarm(120); /* a test that hangs fails */
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(config);
    (void)unlink(events);
    (void)unlink(moved);
    return rmdir(folder);
}

__attribute__((format(printf, 1, 2))) static void configure(const char *format, ...)
{
    FILE *file = fopen(config, "w");
    va_list arguments;
    assert_non_null(file);
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    assert_int_equal(fclose(file), 0);
}

static const char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) return "";
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    (void)fclose(file);
    return content;
}

/* A socket that listens and never accepts; its port. */
static int silent_server(unsigned *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, length), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static int send_request(unsigned port, const char *path)
{
    char request[256];
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    int length = snprintf(request, sizeof request,
                          "GET %s HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n", path);
    assert_int_equal(send(fd, request, (size_t)length, MSG_NOSIGNAL), length);
    return fd;
}

static int read_status(int fd)
{
    size_t length = 0;
    ssize_t got;
    while ((got = recv(fd, answer + length, sizeof answer - 1 - length, 0)) > 0)
        length += (size_t)got;
    answer[length] = '\0';
    (void)close(fd);
    return length > 12 ? atoi(answer + 9) : 0;
}

static int get(unsigned port, const char *path)
{
    return read_status(send_request(port, path));
}

static unsigned port_of(const char *address)
{
    const char *colon = strrchr(address, ':');
    assert_non_null(colon);
    return (unsigned)atoi(colon + 1);
}

static unsigned start_origin(struct running *origin, const char *fail_first)
{
    const char *argv[] = {"flaky",        "--listen", "127.0.0.1:0", "--quiet",
                          "--fail-first", fail_first, NULL};
    run_start(origin, app_flaky, argv);
    return port_of(run_until(origin, "listening on http://"));
}

static void start_belay(struct running *belay)
{
    const char *argv[] = {"serve", "-c", config, "--workers", "2", NULL};
    run_start(belay, app_serve, argv);
}

static unsigned egress_port(struct running *belay)
{
    const char *address = run_until(belay, "egress on http://");
    return (unsigned)atoi(strchr(address, ':') + 1);
}

#define TARGET                                                                                     \
    "targets: { t: { addresses: [\"127.0.0.1:%u\"], policy: { backoff: { base: 1ms, max: 1ms } } " \
    "} }\n"
#define LISTENER "{ listen: \"127.0.0.1:%u\", target: t }"
#define EVENTS "events: { file: %s }\ndrain: { grace: 10ms }\n"

static size_t count(const char *text, const char *word)
{
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) found++;
    return found;
}

static void test_a_call_survives_two_503s_and_is_recorded(void **state)
{
    (void)state;
    struct running origin, belay;
    configure(TARGET "listeners: [" LISTENER "]\n" EVENTS, start_origin(&origin, "2"), 0u, events);
    start_belay(&belay);
    unsigned port = egress_port(&belay);
    (void)run_until(&belay, "runs with 2 workers");
    assert_int_equal(get(port, "/orders/42"), 200);
    assert_int_equal(run_end(&belay, SIGTERM), 0);
    (void)run_end(&origin, SIGTERM);
    const char *text = read_file(events);
    assert_int_equal(count(text, "\n"), 4);
    assert_int_equal(count(text, "\"decision\":\"retry\""), 2);
    assert_non_null(strstr(text, "\"result\":{\"status\":200},\"answer\":200,\"attempts\":3"));
}

static void test_hup_opens_the_events_file_anew(void **state)
{
    (void)state;
    struct running origin, belay;
    configure(TARGET "listeners: [" LISTENER "]\n" EVENTS, start_origin(&origin, "0"), 0u, events);
    start_belay(&belay);
    unsigned port = egress_port(&belay);
    assert_int_equal(get(port, "/first"), 200);
    assert_int_equal(rename(events, moved), 0);
    assert_int_equal(kill(belay.pid, SIGHUP), 0);
    (void)run_until(&belay, "is taken");
    assert_int_equal(get(port, "/second"), 200);
    assert_int_equal(run_end(&belay, SIGINT), 0);
    (void)run_end(&origin, SIGTERM);
    assert_non_null(strstr(read_file(events), "/second"));
    assert_int_equal(count(read_file(events), "\n") + count(read_file(moved), "\n"), 4);
}

static void test_a_new_configuration_adds_and_removes_listeners(void **state)
{
    (void)state;
    struct running origin, belay;
    unsigned origin_port = start_origin(&origin, "0"), fixed;
    (void)close(silent_server(&fixed)); /* a port that was free a moment ago */
    configure(TARGET "listeners: [" LISTENER "]\n" EVENTS, origin_port, 0u, events);
    start_belay(&belay);
    unsigned first = egress_port(&belay);
    configure(TARGET "listeners: [" LISTENER ", " LISTENER "]\n" EVENTS, origin_port, 0u, fixed,
              events);
    assert_int_equal(kill(belay.pid, SIGHUP), 0);
    assert_int_equal(egress_port(&belay), fixed);
    (void)run_until(&belay, "is taken");
    assert_int_equal(get(first, "/kept"), 200);
    assert_int_equal(get(fixed, "/added"), 200);
    configure(TARGET "listeners: [" LISTENER "]\n" EVENTS, origin_port, fixed, events);
    assert_int_equal(kill(belay.pid, SIGHUP), 0);
    (void)run_until(&belay, "is taken");
    assert_int_equal(get(fixed, "/still"), 200);
    assert_int_equal(run_end(&belay, SIGTERM), 0);
    (void)run_end(&origin, SIGTERM);
}

static void test_a_wrong_configuration_changes_nothing(void **state)
{
    (void)state;
    struct running origin, belay;
    unsigned origin_port = start_origin(&origin, "0"), taken;
    int holder = silent_server(&taken);
    configure(TARGET "listeners: [" LISTENER "]\n" EVENTS, origin_port, 0u, events);
    start_belay(&belay);
    unsigned port = egress_port(&belay);
    configure("listener: []\n");
    assert_int_equal(kill(belay.pid, SIGHUP), 0);
    (void)run_until(&belay, "unknown key \"listener\"");
    (void)run_until(&belay, "is not taken; the old configuration stays");
    configure(TARGET "listeners: [" LISTENER ", " LISTENER "]\n" EVENTS, origin_port, 0u, taken,
              events);
    assert_int_equal(kill(belay.pid, SIGHUP), 0);
    (void)run_until(&belay, "Address already in use");
    (void)run_until(&belay, "is not taken");
    assert_int_equal(get(port, "/"), 200);
    assert_int_equal(run_end(&belay, SIGTERM), 0);
    (void)run_end(&origin, SIGTERM);
    (void)close(holder);
}

#define ONE_FAILURE_OPENS                                                                          \
    "targets: { t: { addresses: [\"127.0.0.1:%u\"], policy: { attempts: %u, breaker: "             \
    "{ consecutive: 1, open_for: 60s } } } }\nlisteners: [" LISTENER "]\n" EVENTS

static void test_a_breaker_stays_open_over_a_new_configuration(void **state)
{
    (void)state;
    struct running belay;
    unsigned dead;
    (void)close(silent_server(&dead));
    configure(ONE_FAILURE_OPENS, dead, 1u, 0u, events);
    start_belay(&belay);
    unsigned port = egress_port(&belay);
    assert_int_equal(get(port, "/"), 502);
    assert_int_equal(get(port, "/"), 503);
    configure(ONE_FAILURE_OPENS, dead, 2u, 0u, events);
    assert_int_equal(kill(belay.pid, SIGHUP), 0);
    (void)run_until(&belay, "is taken");
    assert_int_equal(get(port, "/"), 503);
    assert_int_equal(run_end(&belay, SIGTERM), 0);
    assert_int_equal(count(read_file(events), "{\"status\":\"breaker_open\"}"), 2);
}

#define DEADLINE                                                                                   \
    "targets: { t: { addresses: [\"127.0.0.1:%u\"], policy: { deadline: %s } } }\n"                \
    "listeners: [" LISTENER "]\n" EVENTS

static void test_a_running_operation_is_awaited_and_a_second_signal_cuts_it(void **state)
{
    (void)state;
    struct running belay;
    unsigned silent;
    int holder = silent_server(&silent);
    configure(DEADLINE, silent, "400ms", 0u, events);
    start_belay(&belay);
    int fd = send_request(egress_port(&belay), "/");
    (void)run_until(&belay, "runs with");
    struct sockaddr_in peer;
    socklen_t length = sizeof peer;
    (void)close(accept(holder, (struct sockaddr *)&peer, &length));
    assert_int_equal(kill(belay.pid, SIGTERM), 0);
    (void)run_until(&belay, "stopping");
    assert_int_not_equal(read_status(fd), 0);
    assert_int_equal(run_end(&belay, 0), 0);

    configure(DEADLINE, silent, "60s", 0u, events);
    start_belay(&belay);
    fd = send_request(egress_port(&belay), "/");
    int reached = accept(holder, (struct sockaddr *)&peer, &length);
    assert_int_equal(kill(belay.pid, SIGTERM), 0);
    (void)run_until(&belay, "stopping");
    assert_int_equal(kill(belay.pid, SIGTERM), 0);
    (void)run_until(&belay, "stopped at once");
    assert_int_equal(run_end(&belay, 0), 1);
    (void)close(fd);
    (void)close(reached);
    (void)close(holder);
}

static void test_the_admin_listener_sums_the_workers(void **state)
{
    (void)state;
    struct running origin, belay;
    configure(TARGET "listeners: [" LISTENER "]\nadmin: { listen: \"127.0.0.1:0\" }\n" EVENTS,
              start_origin(&origin, "1"), 0u, events);
    start_belay(&belay);
    unsigned port = egress_port(&belay), admin = port_of(run_until(&belay, "admin on http://"));
    for (int i = 0; i < 5; i++) assert_int_equal(get(port, "/x"), 200);
    assert_int_equal(get(admin, "/readyz"), 200);
    assert_int_equal(get(admin, "/metrics"), 200);
    assert_non_null(strstr(answer, "belay_operations_total{target=\"t\"} 5\n"));
    assert_non_null(strstr(answer, "belay_workers 2\n"));
    char requests[96];
    snprintf(requests, sizeof requests, "belay_requests_total{listener=\"127.0.0.1:%u\"} 5\n",
             port);
    assert_non_null(strstr(answer, requests));
    assert_int_equal(run_end(&belay, SIGTERM), 0);
    (void)run_end(&origin, SIGTERM);
}

static const struct run *serve(const char *first, const char *second, const char *third,
                               const char *fourth)
{
    const char *argv[] = {"serve", first, second, third, fourth, NULL};
    return run(app_serve, NULL, argv);
}

static void test_what_cannot_start_says_why(void **state)
{
    (void)state;
    unsigned taken;
    int holder = silent_server(&taken);
    configure(TARGET "listeners: [" LISTENER "]\n", 9u, taken);
    assert_int_equal(serve("-c", config, NULL, NULL)->code, 1);
    assert_non_null(strstr(serve("-c", config, NULL, NULL)->err, "Address already in use"));
    configure(TARGET "listeners: [" LISTENER "]\nadmin: { listen: \"127.0.0.1:%u\" }\n", 9u, 0u,
              taken);
    assert_int_equal(serve("-c", config, "--workers", "1")->code, 1);
    assert_non_null(
        strstr(serve("-c", config, "--workers", "1")->err, "for admin: Address already in use"));
    configure(TARGET "listeners: [" LISTENER "]\nevents: { file: /nowhere/events }\n", 9u, 0u);
    assert_int_equal(serve("-c", config, NULL, NULL)->code, 1);
    assert_non_null(strstr(serve("-c", config, NULL, NULL)->err,
                           "cannot write events to /nowhere/events: No such"));
    configure("workers: many\n");
    assert_int_equal(serve("-c", config, NULL, NULL)->code, 1);
    assert_int_equal(serve("-c", "/nowhere/belay.yaml", NULL, NULL)->code, 2);
    (void)close(holder);
}

static void test_usage(void **state)
{
    (void)state;
    assert_int_equal(serve("--help", NULL, NULL, NULL)->code, 0);
    assert_int_equal(serve(NULL, NULL, NULL, NULL)->code, 2);
    assert_int_equal(serve("-c", "x", "--workers", "0")->code, 2);
    assert_int_equal(serve("-c", "x", "--workers", "1025")->code, 2);
    assert_int_equal(serve("-c", "x", "--workers", "two")->code, 2);
    assert_int_equal(serve("-c", "x", "more", NULL)->code, 2);
    assert_non_null(strstr(serve("--confg", "x", NULL, NULL)->err, "did you mean --config?"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_call_survives_two_503s_and_is_recorded),
        TEST(test_hup_opens_the_events_file_anew),
        TEST(test_a_new_configuration_adds_and_removes_listeners),
        TEST(test_a_wrong_configuration_changes_nothing),
        TEST(test_a_breaker_stays_open_over_a_new_configuration),
        TEST(test_a_running_operation_is_awaited_and_a_second_signal_cuts_it),
        TEST(test_the_admin_listener_sums_the_workers),
        TEST(test_what_cannot_start_says_why),
        TEST(test_usage),
    };
    return cmocka_run_group_tests_name("app/serve", tests, NULL, NULL);
}
