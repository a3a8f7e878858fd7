/* flaky_act.h: `belay flaky` at work: one origin, and each request played as its script says. */
#ifndef APP_FLAKY_ACT_H
#define APP_FLAKY_ACT_H

#include "app/flaky_counts.h"
#include "app/flaky_script.h"
#include "base/list.h"
#include "server/server.h"

#include <stdio.h>

#define FLAKY_CHANCES_MAX 32

/* One request in so many gets this script instead of the common one. */
struct flaky_chance {
    struct flaky_script script;
    uint32_t per_million;
};

struct flaky {
    struct rt *rt;
    struct server *server;
    struct flaky_counts *counts;
    struct flaky_script common; /* of requests that bring no script */
    struct flaky_chance chances[FLAKY_CHANCES_MAX];
    size_t chance_count;
    bool quiet;       /* no line a request */
    FILE *calls;      /* one JSON line a call, as it is read; may be NULL */
    struct list acts; /* under way */
    uint64_t faults[FLAKY_FAULT_COUNT], statuses[600], bad_scripts;
    uint64_t after_close; /* calls that came after close-after had shut their connection */
};

extern const struct server_handler flaky_handler; /* its owner is a struct flaky */

/* GET /_flaky/counts, POST /_flaky/reset; anything else there is 404. */
void flaky_desk(struct flaky *flaky, struct server_exchange *exchange);
/* A whole answer. */
void flaky_answer(struct server_exchange *exchange, int status, struct belay_slice type,
                  struct belay_slice body);
/* No act is under way afterwards; the server may be destroyed. */
void flaky_forget_acts(struct flaky *flaky);

#endif
