/* dns.c: literals, the hosts file, answers with their TTL, names that do not exist, silence and
 * cancelling. */
#include "world.h"

#include "rt/rt_uv.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

struct answer {
    struct world *world;
    int count;
    struct rt_resolved result;
};

static void on_done(void *owner, const struct rt_resolved *result)
{
    struct answer *answer = owner;
    answer->count++;
    answer->result = *result;
    world_told(answer->world);
}

static struct rt_resolve *look_up(struct answer *answer, const char *host)
{
    return rt_resolve(answer->world->rt, belay_slice_z(host), 80, on_done, answer);
}

static void a_literal_answers_later_like_any_other(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct answer answer = {.world = &world};
    assert_non_null(look_up(&answer, "127.0.0.9"));
    assert_int_equal(answer.count, 0);
    world_run(&world, 1);
    assert_int_equal(answer.result.error, BELAY_ERROR_NONE);
    assert_int_equal(answer.result.count, 1);
    assert_int_equal(answer.result.addrs[0].ip[3], 9);
    assert_int_equal(answer.result.addrs[0].port, 80);
    assert_true(answer.result.ttl.ns > 3600 * BELAY_NS_PER_S);
    world_deinit(&world);
}

static void localhost_is_known(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct answer answer = {.world = &world};
    assert_non_null(look_up(&answer, "localhost"));
    assert_int_equal(answer.count, 0);
    world_run(&world, 1);
    assert_int_equal(answer.result.error, BELAY_ERROR_NONE);
    assert_true(answer.result.count >= 1);
    assert_int_equal(answer.result.addrs[0].family, 4);
    assert_int_equal(answer.result.addrs[0].ip[0], 127);
    assert_int_equal(answer.result.addrs[0].port, 80);
    world_deinit(&world);
}

static void names_that_cannot_be_are_dns_errors(void **state)
{
    (void)state;
    static char long_name[400];
    memset(long_name, 'a', sizeof(long_name) - 1);
    const char *const names[] = {"", long_name, "a..b"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct world world;
        world_init(&world);
        struct answer answer = {.world = &world};
        assert_non_null(look_up(&answer, names[i]));
        assert_int_equal(answer.count, 0);
        world_run(&world, 1);
        assert_int_equal(answer.result.error, BELAY_ERROR_DNS);
        assert_int_equal(answer.result.count, 0);
        world_deinit(&world);
    }
}

/* ---- a name server of our own: known.test has one address, silent.test is never answered ---- */

struct name_server {
    int fd, stop[2];
    pthread_t thread;
    char address[32];
};

/* Builds the answer in place; 0: say nothing. */
static size_t name_server_answer(unsigned char *packet, size_t length)
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

static void *name_server_run(void *arg)
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

static void name_server_start(struct name_server *server)
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

static void name_server_stop(struct name_server *server)
{
    close(server->stop[1]);
    assert_int_equal(pthread_join(server->thread, NULL), 0);
    close(server->stop[0]);
    close(server->fd);
}

static void an_answer_has_its_addresses_and_ttl(void **state)
{
    (void)state;
    struct name_server server;
    struct world world;
    name_server_start(&server);
    world_init(&world);
    assert_true(dns_use_servers(world.rt, server.address));
    struct answer known = {.world = &world}, unknown = known;
    assert_non_null(look_up(&known, "known.test"));
    assert_non_null(look_up(&unknown, "unknown.test"));
    world_run(&world, 2);
    assert_int_equal(known.result.error, BELAY_ERROR_NONE);
    assert_int_equal(known.result.count, 1);
    assert_int_equal(known.result.addrs[0].ip[3], 5);
    assert_int_equal(known.result.ttl.ns, 77 * BELAY_NS_PER_S);
    assert_int_equal(unknown.result.error, BELAY_ERROR_DNS);
    world_deinit(&world);
    name_server_stop(&server);
}

static void nothing_comes_after_cancel_and_the_bound_holds(void **state)
{
    (void)state;
    struct name_server server;
    struct world world;
    name_server_start(&server);
    world_init(&world);
    assert_true(dns_use_servers(world.rt, server.address));
    struct answer answer = {.world = &world};
    /* A silent name server keeps them all under way, cancelled or not. */
    for (int i = 0; i < 256; i++) rt_resolve_cancel(look_up(&answer, "silent.test"));
    rt_resolve_cancel(look_up(&answer, "127.0.0.1"));
    struct answer over = {.world = &world};
    assert_non_null(look_up(&over, "known.test"));
    world_run(&world, 1);
    assert_int_equal(over.result.error, BELAY_ERROR_DNS);
    assert_int_equal(answer.count, 0);
    world_deinit(&world);
    name_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_literal_answers_later_like_any_other),
        cmocka_unit_test(localhost_is_known),
        cmocka_unit_test(names_that_cannot_be_are_dns_errors),
        cmocka_unit_test(an_answer_has_its_addresses_and_ttl),
        cmocka_unit_test(nothing_comes_after_cancel_and_the_bound_holds),
    };
    return cmocka_run_group_tests_name("dns", tests, NULL, NULL);
}
