/* peer.h: a scripted origin in the simulated world: says the bytes of a test, notes all that it is
 * sent. */
#ifndef TESTS_CLIENT_PEER_H
#define TESTS_CLIENT_PEER_H

#include "base/buf.h"
#include "base/list.h"
#include "rt/rt.h"

#define KEEP_SILENT "" /* a reply: takes the request and never answers */

enum peer_then { PEER_KEEP, PEER_CLOSE, PEER_RESET };

/* What the n-th request gets; the last one is repeated for those that follow. */
struct peer_reply {
    const char *bytes;
    int64_t after_ms;    /* from the request's end to the first byte */
    enum peer_then then; /* once the bytes are out */
    int64_t then_ms;     /* how long it waits before that */
    int64_t drip_ms;     /* one byte, then this long nothing; 0: all at once */
    size_t length;       /* 0: up to the NUL */
    bool at_head;        /* does not wait for the request's body */
    bool deaf;           /* and stops reading there */
};

struct peer {
    struct rt *rt;
    struct rt_listener *listener;
    struct rt_addr addr;
    const struct peer_reply *script;
    size_t script_count;
    struct list conns;
    struct buf seen; /* the requests as they came, each ended by "\n--\n" */
    unsigned requests, accepted, ended, broken;
    enum peer_then on_accept; /* PEER_KEEP: serves it */
};

void peer_start(struct peer *peer, struct rt *rt, uint16_t port);
#define PEER_SAYS(peer, ...)                                                                       \
    do {                                                                                           \
        static const struct peer_reply says_[] = {__VA_ARGS__};                                    \
        (peer)->script = says_;                                                                    \
        (peer)->script_count = sizeof says_ / sizeof says_[0];                                     \
    } while (0)
const char *peer_seen(struct peer *peer);
unsigned peer_open(const struct peer *peer);
/* All its connections, as a restart of the service does. */
void peer_cut_all(struct peer *peer, enum peer_then how);
/* Bytes that nobody asked for, on every connection. */
void peer_blurt(struct peer *peer, const char *bytes);
void peer_stop(struct peer *peer);

#endif
