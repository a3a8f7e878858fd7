/* conf.h: the configuration as an immutable snapshot of plain values, and how it is loaded.
 *
 * conf knows no engine: it fills these structs. A snapshot is counted by reference; a running operation keeps the one
 * it began with. Errors carry file:line:column, the rule and the nearest valid name.
 */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <belay/method.h>
#include <belay/policy.h>
#include <belay/slice.h>
#include <stdio.h>

enum conf_effect { CONF_EFFECT_BY_METHOD, CONF_EFFECT_READ, CONF_EFFECT_WRITE };
enum conf_key { CONF_KEY_NONE, CONF_KEY_HONOURED, CONF_KEY_REQUIRED, CONF_KEY_ADDED };
enum conf_network { CONF_NETWORK_LOCAL, CONF_NETWORK_INTERNET };

struct conf_address {
    char *host;     /* a literal address or a name */
    uint16_t port;
    int line, column;
};

struct conf_target {
    char *name;
    struct conf_address *addresses; /* exactly one in this version */
    size_t address_count;
    enum conf_network network;
    struct belay_policy policy;     /* defaults, then the target's own */
};

/* A path template: literal segments and {name} segments. */
struct conf_route {
    char *path;              /* NULL: every path (the listener's own `target`) */
    uint32_t methods;        /* bit m: enum belay_method m; 0: all */
    size_t target;           /* index into conf.targets */
    enum conf_effect effect;
    uint32_t idempotent;     /* bits of enum belay_method */
    enum conf_key idempotency_key;
    struct belay_policy policy; /* the target's, then the route's own */
};

struct conf_listener {
    struct conf_address listen;
    struct conf_route *routes;  /* first match wins; a listener with `target` has one route without a path */
    size_t route_count;
};

/* Names of header fields, which lists may change. */
struct conf_names {
    char **items;
    size_t count;
};

struct conf {
    struct conf_address admin;     /* host NULL: no admin listener */
    char *events_file;             /* "-": stdout; NULL: none */
    size_t events_buffer_bytes;    /* [4 MiB] */
    uint32_t workers;              /* 0: one a core */
    struct conf_target *targets;
    size_t target_count;
    struct conf_listener *listeners;
    size_t listener_count;
    struct belay_span drain_grace_for; /* [1 s] section 16 */
    struct belay_span head_timeout_for; /* [10 s] a client may take for its request head */
    struct belay_span client_idle_for;  /* [60 s] a kept-alive client connection without a request */
    uint32_t connections_max;           /* [10000] client connections a process */
    struct conf_names deadline_in;  /* [grpc-timeout, connect-timeout-ms, ...] */
    char *deadline_out;             /* [X-Request-Timeout-Ms] */
    struct conf_names retry_marks;  /* [X-Retry-Owner, grpc-previous-rpc-attempts, x-envoy-attempt-count] */
};

/* Writes every error found (at most 20) to `errors`, one a line: `file:line:column: rule`. NULL when there is one. */
struct conf *conf_load(const char *file, FILE *errors);
struct conf *conf_take(struct conf *conf); /* one more reference */
void conf_give(struct conf *conf);         /* one less; the last frees */
/* Every option with its value, as YAML that loads to the same snapshot. */
void conf_dump(const struct conf *conf, FILE *out);

#endif
