/* rt_uv.h: what the files of the libuv world share: the loop of one worker. */
#ifndef RT_RT_UV_H
#define RT_RT_UV_H

#include "base/list.h"
#include "base/lock.h"
#include "base/rng.h"
#include "rt/rt.h"
#include "rt/timers.h"

#include <sys/socket.h>
#include <uv.h>

struct dns;

struct rt {
    uv_loop_t loop;
    uv_prepare_t turn_end; /* runs before each poll: the turn's end */
    uv_timer_t wakeup;     /* the one libuv timer, behind `timers` */
    uv_async_t posted;
    struct timers timers;
    struct rng rng;
    struct belay_instant now;
    struct belay_wall wall;
    bool now_known, wall_known, wakeup_armed;
    size_t poll_slots;     /* libuv's table has at least so many */
    uint64_t wakeup_at_ms; /* on libuv's clock, which is ours in whole milliseconds */
    struct rt_hook *hooks, **hooks_end;
    struct rt_hook *hook_following; /* the next to run, while they run */
    struct lock posts_lock;
    struct rt_post *posts; /* the newest first */

    struct list changed;   /* connections whose interest differs from what the kernel was told */
    struct list failing;   /* connections that failed inside rt_connect */
    struct list lingering; /* closed by their owners, the oldest first */
    struct rt_timer linger_timer;
    size_t lingering_count, lingering_max;
    struct dns *dns; /* NULL until the first look-up of a name */
};

/* polled.c */
/* uv_poll_init; polling the descriptor needs no more memory after that. False: memory lacks, or it
 * cannot be polled. */
bool polled_init(struct rt *rt, uv_poll_t *poll, int fd) __attribute__((warn_unused_result));
/* Around the making of a loop. False: no memory. */
bool polled_begin(void) __attribute__((warn_unused_result));
void polled_begun(void);

/* conn.c */
/* NULL: no memory; fd is closed. */
struct rt_conn *conn_accepted(struct rt *rt, int fd, const struct rt_addr *peer);
void conn_rt_init(struct rt *rt);
void conn_rt_deinit(struct rt *rt);
void conn_fail_pending(struct rt *rt);
void conn_apply_interest(struct rt *rt);
socklen_t addr_to_sockaddr(const struct rt_addr *addr, struct sockaddr_storage *out);
void addr_from_sockaddr(const struct sockaddr_storage *in, struct rt_addr *out);

/* dns.c */
/* Asks these servers ("127.0.0.1:5353,[::1]:53") and not those of the machine. False: not
 * understood. */
bool dns_use_servers(struct rt *rt, const char *servers) __attribute__((warn_unused_result));
void dns_destroy(struct dns *dns);

#endif
