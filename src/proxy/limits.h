/* limits.h: what a recipient tells of its own limits, in the three generations of RateLimit fields.
 * Pure.
 *
 * `RateLimit` and `RateLimit-Policy` as lists (draft-ietf-httpapi-ratelimit-headers 08 to 10),
 * `RateLimit` as a dictionary (draft 07), and the pairs `RateLimit-Remaining`, `RateLimit-Reset`,
 * also with X- in front. A field that breaks the syntax is ignored whole; an item whose numbers
 * make no sense is ignored alone. A name may be a token too, as the drafts between had it.
 */
#ifndef PROXY_LIMITS_H
#define PROXY_LIMITS_H

#include "http1/http1.h"

struct limits_told {
    bool any;
    uint64_t left;               /* calls that may still be made ... */
    struct belay_span reset_for; /* ... in this time; of several limits the slowest */
};

/* A pair's reset above 10^9 is a point in time: then `now` is the beginning. */
struct limits_told limits_read(const struct http1_head *head, struct belay_wall now);

#endif
