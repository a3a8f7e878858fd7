/* caller.h: calls of a client to a scripted origin in the simulated world, and what came of them.
 */
#ifndef TESTS_CLIENT_CALLER_H
#define TESTS_CLIENT_CALLER_H

#include "test.h"

#include "base/check.h"
#include "client/client.h"
#include "peer.h"
#include "world.h"

#define PORT 9000

struct caller { /* one call, and what came of it */
    struct client_call call;
    struct client_failure failure;
    int status, heads, ends, failures, writables;
    char body[256];
    size_t body_bytes, pause_at; /* 0: never pauses */
    int64_t ended_at_ms;
    struct scene *scene;
};

struct scene {
    struct rt *rt;
    struct peer peer;
    struct client *client;
    struct client_options options;
    struct caller callers[16];
    size_t count;
};

/* Since the start. */
int64_t ms(const struct scene *scene);
/* A client of this host, and an origin that answers 200 "ok". */
void scene_named(struct scene *scene, const char *host);
void scene_init(struct scene *scene);
/* Ends the world and checks that nothing is left. */
void scene_deinit(struct scene *scene);
/* A world in which nothing can happen does not wait: this makes time pass. */
void pass(struct scene *scene, int64_t span_ms);
struct caller *start_with(struct scene *scene, const char *head, const char *body, bool body_ends);
struct caller *start(struct scene *scene);
/* One call, and time until it is over. */
struct caller *call(struct scene *scene);
struct client_stats stats(const struct scene *scene);
void assert_failed(const struct caller *caller, enum belay_error_class error,
                   enum belay_phase phase);
void assert_answered(const struct caller *caller, int status, const char *body);

#endif
