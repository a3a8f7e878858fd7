/* dns.c: names to addresses through c-ares, its sockets in uv_poll and its clock on our timers. */
#include "base/check.h"
#include "rt/errors.h"
#include "rt/rt_uv.h"

#include <ares.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* Of names, in each worker; also those that were cancelled and whose answer has not come. */
#define LOOKUPS_MAX 256
#define SERVER_TIMEOUT_MS 1000
#define SERVER_TRIES 3

struct dns {
    struct rt *rt;
    ares_channel channel;
    struct rt_timer timer; /* c-ares wants to be asked again */
    struct list sockets;
    unsigned under_way;
};

struct dns_socket {
    uv_poll_t poll;
    struct dns *dns;
    struct list node;
    ares_socket_t fd;
};

struct rt_resolve {
    struct rt *rt;
    struct rt_timer timer; /* gives the answer, from the loop */
    void (*done)(void *owner, const struct rt_resolved *result);
    void *owner;
    uint16_t port;
    bool asked, cancelled;
    struct rt_resolved result;
};

/* ---- c-ares without memory ---- */

/* It often tells its own want of memory as a fault of the name server. So what it allocates is
 * watched: from a failure on, until no look-up of this thread is under way, those that fail are not
 * blamed on anybody else. */
static _Thread_local bool starved;

static void *noted(void *bytes)
{
    if (!bytes) starved = true;
    return bytes;
}

static void *noting_malloc(size_t size)
{
    return noted(malloc(size));
}

static void *noting_realloc(void *old, size_t size)
{
    if (size > 0) return noted(realloc(old, size));
    free(old);
    return NULL;
}

static void use_allocator(void)
{
    (void)ares_library_init_mem(ARES_LIB_INIT_ALL, noting_malloc, free, noting_realloc);
}

/* ---- c-ares in the loop ---- */

static void rearm(struct dns *dns)
{
    struct timeval wait;
    if (!ares_timeout(dns->channel, NULL, &wait)) {
        rt_timer_disarm(dns->rt, &dns->timer);
        return;
    }
    struct belay_span span = {(int64_t)wait.tv_sec * BELAY_NS_PER_S + (int64_t)wait.tv_usec * 1000};
    /* Never at once: c-ares counts whole milliseconds of its own and would be asked in a ring. */
    span = belay_span_max(span, belay_span_ms(1));
    rt_timer_arm(dns->rt, &dns->timer, belay_instant_add(rt_now(dns->rt), span));
}

static void on_timer(struct rt_timer *timer)
{
    struct dns *dns = CONTAINER_OF(timer, struct dns, timer);
    ares_process_fd(dns->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    rearm(dns);
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
    struct dns_socket *socket = CONTAINER_OF(poll, struct dns_socket, poll);
    struct dns *dns = socket->dns;
    bool readable = status < 0 || (events & UV_READABLE),
         writable = status < 0 || (events & UV_WRITABLE);
    ares_process_fd(dns->channel, readable ? socket->fd : ARES_SOCKET_BAD,
                    writable ? socket->fd : ARES_SOCKET_BAD);
    rearm(dns);
}

static void on_socket_closed(uv_handle_t *handle)
{
    free(CONTAINER_OF(handle, struct dns_socket, poll));
}

static struct dns_socket *socket_find(struct dns *dns, ares_socket_t fd)
{
    for (struct list *node = dns->sockets.next; node != &dns->sockets; node = node->next) {
        struct dns_socket *socket = CONTAINER_OF(node, struct dns_socket, node);
        if (socket->fd == fd) return socket;
    }
    return NULL;
}

/* Called before c-ares uses it; -1: c-ares closes it, and asks nobody with it. A socket that nobody
 * polls would end its query with a timeout, which is not the name server's. */
static int on_socket_made(ares_socket_t fd, int type, void *data)
{
    struct dns *dns = data;
    struct dns_socket *socket = calloc(1, sizeof(*socket));
    (void)type;
    if (!socket || !polled_init(dns->rt, &socket->poll, fd)) {
        starved = true;
        free(socket);
        return -1;
    }
    socket->dns = dns;
    socket->fd = fd;
    list_push_back(&dns->sockets, &socket->node);
    return 0;
}

static void on_socket_state(void *data, ares_socket_t fd, int readable, int writable)
{
    struct dns *dns = data;
    struct dns_socket *socket = socket_find(dns, fd);
    if (!socket) return;
    if (!readable && !writable) { /* c-ares closes it right after */
        list_remove(&socket->node);
        uv_close((uv_handle_t *)&socket->poll, on_socket_closed);
        return;
    }
    int events = (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0);
    (void)uv_poll_start(&socket->poll, events, on_socket);
}

static struct dns *dns_create(struct rt *rt)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, use_allocator);
    struct dns *dns = calloc(1, sizeof(*dns));
    if (!dns) return NULL;
    struct ares_options options = {
        .timeout = SERVER_TIMEOUT_MS,
        .tries = SERVER_TRIES,
        .sock_state_cb = on_socket_state,
        .sock_state_cb_data = dns,
    };
    dns->rt = rt;
    list_init(&dns->sockets);
    rt_timer_init(&dns->timer, on_timer);
    int mask = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
    if (ares_init_options(&dns->channel, &options, mask) != ARES_SUCCESS) {
        free(dns);
        return NULL;
    }
    ares_set_socket_callback(dns->channel, on_socket_made, dns);
    return dns;
}

void dns_destroy(struct dns *dns)
{
    ares_destroy(dns->channel);
    rt_timer_disarm(dns->rt, &dns->timer);
    free(dns);
}

bool dns_use_servers(struct rt *rt, const char *servers)
{
    if (!rt->dns) rt->dns = dns_create(rt);
    return rt->dns && ares_set_servers_ports_csv(rt->dns->channel, servers) == ARES_SUCCESS;
}

/* ---- one look-up ---- */

static void on_answer_due(struct rt_timer *timer)
{
    struct rt_resolve *resolve = CONTAINER_OF(timer, struct rt_resolve, timer);
    struct rt_resolved result = resolve->result;
    void (*done)(void *, const struct rt_resolved *) = resolve->done;
    void *owner = resolve->owner;
    free(resolve);
    done(owner, &result);
}

static void answer_soon(struct rt_resolve *resolve)
{
    rt_timer_arm(resolve->rt, &resolve->timer, rt_now(resolve->rt));
}

static void take_family(struct rt_resolved *result, const struct ares_addrinfo *info, int family,
                        uint16_t port)
{
    for (const struct ares_addrinfo_node *node = info->nodes; node; node = node->ai_next) {
        if (node->ai_family != family || result->count == RT_RESOLVE_ADDRS_MAX) continue;
        struct sockaddr_storage addr = {0};
        memcpy(&addr, node->ai_addr, node->ai_addrlen);
        addr_from_sockaddr(&addr, &result->addrs[result->count]);
        result->addrs[result->count++].port = port;
        result->ttl = belay_span_min(result->ttl,
                                     (struct belay_span){(int64_t)node->ai_ttl * BELAY_NS_PER_S});
    }
}

/* c-ares does not say why it could ask nobody. */
static bool lacks_descriptors(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return errors_is_shortage(errno);
    close(fd);
    return false;
}

static enum belay_error_class error_of(int status)
{
    if (starved) return BELAY_ERROR_CANCELLED;
    switch (status) {
    case ARES_ENOMEM: return BELAY_ERROR_CANCELLED;
    case ARES_ETIMEOUT: return BELAY_ERROR_TIMEOUT;
    case ARES_ECONNREFUSED: /* none of the servers could be asked; */
    case ARES_EFILE:        /* nor the file of hosts be read */
        return lacks_descriptors() ? BELAY_ERROR_CANCELLED : BELAY_ERROR_DNS;
    default: return BELAY_ERROR_DNS;
    }
}

static void on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
    (void)timeouts;
    struct rt_resolve *resolve = arg;
    struct rt_resolved *result = &resolve->result;
    resolve->asked = false;
    resolve->rt->dns->under_way--;
    if (status == ARES_SUCCESS && info) {
        result->ttl.ns = INT64_MAX;
        take_family(result, info, AF_INET, resolve->port);
        take_family(result, info, AF_INET6, resolve->port);
    }
    if (info) ares_freeaddrinfo(info);
    if (result->count == 0) {
        result->error = error_of(status);
        result->ttl.ns = 0;
    }
    if (resolve->rt->dns->under_way == 0) starved = false;
    if (resolve->cancelled) {
        free(resolve);
        return;
    }
    answer_soon(resolve);
}

/* NONE: the answer will come. */
static enum belay_error_class ask(struct rt_resolve *resolve, struct belay_slice host)
{
    struct rt *rt = resolve->rt;
    char name[256];
    if (host.length == 0 || host.length >= sizeof(name) || memchr(host.data, '\0', host.length))
        return BELAY_ERROR_DNS;
    if (!rt->dns) rt->dns = dns_create(rt);
    if (!rt->dns) return BELAY_ERROR_CANCELLED;
    if (rt->dns->under_way >= LOOKUPS_MAX) return BELAY_ERROR_DNS;
    memcpy(name, host.data, host.length);
    name[host.length] = '\0';
    struct ares_addrinfo_hints hints = {
        .ai_flags = ARES_AI_NOSORT, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    resolve->asked = true;
    rt->dns->under_way++;
    ares_getaddrinfo(rt->dns->channel, name, NULL, &hints, on_answer, resolve);
    rearm(rt->dns);
    return BELAY_ERROR_NONE;
}

struct rt_resolve *rt_resolve(struct rt *rt, struct belay_slice host, uint16_t port,
                              void (*done)(void *owner, const struct rt_resolved *result),
                              void *owner)
{
    struct rt_resolve *resolve = calloc(1, sizeof(*resolve));
    if (!resolve) return NULL;
    resolve->rt = rt;
    resolve->done = done;
    resolve->owner = owner;
    resolve->port = port;
    rt_timer_init(&resolve->timer, on_answer_due);
    struct rt_resolved *result = &resolve->result;
    if (rt_addr_parse(host, port, &result->addrs[0])) {
        result->count = 1;
        result->ttl.ns = INT64_MAX;
        answer_soon(resolve);
        return resolve;
    }
    enum belay_error_class error = ask(resolve, host);
    if (error != BELAY_ERROR_NONE) {
        result->error = error;
        answer_soon(resolve);
    }
    return resolve;
}

void rt_resolve_cancel(struct rt_resolve *resolve)
{
    if (resolve->asked) {
        resolve->cancelled = true; /* c-ares cannot drop one query: its answer frees it */
        return;
    }
    rt_timer_disarm(resolve->rt, &resolve->timer);
    free(resolve);
}
