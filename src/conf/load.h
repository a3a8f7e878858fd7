/* load.h: what reading a configuration and checking its rules share. */
#ifndef CONF_LOAD_H
#define CONF_LOAD_H

#include "conf/option.h"
#include "conf/problem.h"
#include "conf/snapshot.h"

#include <yaml.h>

/* Where an option was set. Line 0: nowhere, it has its default. */
struct mark {
    struct position at;
    const yaml_node_t *value;
    bool fresh; /* set at this level, not inherited */
};

struct marks {
    struct mark of[OPTIONS_MAX]; /* in the order of OPTIONS */
};

/* A policy on its way down: defaults, target, route. */
struct policy_state {
    struct belay_policy values;
    struct marks marks;
};

struct loader {
    yaml_document_t document;
    struct problems problems;
    struct snapshot *snapshot;
    size_t visits, routes;
    bool no_memory;
};

struct mark *mark_of(struct marks *marks, enum option_scope scope, const char *name);

/* rules.c. Each adds what is impossible; a pair of options is only told where one of the two is
 * fresh. */
void rules_policy(struct loader *loader, struct policy_state *state);
/* The policy as it is used: a default that would outlast the deadline ends with it. What is
 * inherited further down stays as it was, so that a longer deadline there gets the whole default.
 */
struct belay_policy rules_settle(const struct policy_state *state);
/* `at` has the position of each route; the last route may be the listener's own target, which has
 * none. */
void rules_routes(struct loader *loader, const struct conf_listener *listener,
                  const struct position *at, size_t count);
void rules_addresses(struct loader *loader, const struct conf *conf);

#endif
