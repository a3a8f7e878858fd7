/* conf.h: the configuration as an immutable snapshot of plain values, and how it is loaded.
 *
 * conf knows no engine: it fills these structs. A snapshot is counted by reference; a running
 * operation keeps the one it began with. Errors carry file:line:column, the rule and the nearest
 * valid name.
 */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <belay/method.h>
#include <belay/policy.h>
#include <belay/slice.h>
#include <stdio.h>

enum conf_effect { CONF_EFFECT_BY_METHOD, CONF_EFFECT_READ, CONF_EFFECT_WRITE };
enum conf_key { CONF_KEY_NONE, CONF_KEY_HONOURED, CONF_KEY_REQUIRED, CONF_KEY_ADDED };
enum conf_kind { CONF_KIND_EGRESS, CONF_KIND_GUARD };
enum conf_network { CONF_NETWORK_LOCAL, CONF_NETWORK_INTERNET };

struct conf_address {
    char *host; /* a literal address or a name */
    uint16_t port;
    int line, column;
};

struct conf_target {
    char *name;
    struct conf_address *addresses; /* exactly one in this version */
    size_t address_count;
    enum conf_network network;
    struct belay_policy policy; /* defaults, then the target's own */
};

/* A path template: literal segments and {name} segments. */
struct conf_route {
    char *path;       /* NULL: every path (the listener's own `target`) */
    uint32_t methods; /* bit m: enum belay_method m; 0: all */
    size_t target;    /* index into conf.targets */
    enum conf_effect effect;
    uint32_t idempotent; /* bits of enum belay_method */
    enum conf_key idempotency_key;
    struct belay_policy policy; /* the target's, then the route's own */
};

struct conf_listener {
    struct conf_address listen; /* the host is a literal address; port 0: any free one */
    enum conf_kind kind;        /* always egress in this version */
    /* The first match wins; the listener's own `target` is a last route without a path. */
    struct conf_route *routes;
    size_t route_count;
};

/* Names of header fields, which lists may change. */
struct conf_names {
    char **items;
    size_t count;
};

struct conf {
    struct conf_address admin;  /* host NULL: no admin listener */
    char *events_file;          /* "-": stdout; NULL: none */
    size_t events_buffer_bytes; /* [4 MiB] */
    uint32_t workers;           /* 0: one a core */
    struct conf_target *targets;
    size_t target_count;
    struct conf_listener *listeners;
    size_t listener_count;
    struct belay_span drain_grace_for;  /* [1 s] section 16 */
    struct belay_span head_timeout_for; /* [10 s] a client may take for its request head */
    struct belay_span client_idle_for; /* [60 s] a kept-alive client connection without a request */
    uint32_t connections_max;          /* [10000] over all listeners and workers */
    struct conf_names deadline_in;     /* [grpc-timeout, connect-timeout-ms, ...] */
    char *deadline_out;                /* [X-Request-Timeout-Ms] */
    /* [X-Retry-Owner, grpc-previous-rpc-attempts, x-envoy-attempt-count] */
    struct conf_names retry_marks;
};

/* Why there is no configuration. */
enum conf_verdict {
    CONF_GOOD,
    CONF_WRONG,      /* it was read, and breaks a rule */
    CONF_UNREADABLE, /* no file, no right to read it, a directory, too large, no memory */
};

#define CONF_FILE_BYTES_MAX (1024 * 1024)

/* Writes every error found (at most 20) to `errors`, one a line: `file:line:column: rule`; an
 * unreadable file gets two lines without a position. *conf is set, with one reference, only for
 * CONF_GOOD. */
enum conf_verdict conf_read(const char *file, FILE *errors, struct conf **conf)
    __attribute__((warn_unused_result));
/* The same for text already in memory; `file` is only said in errors. Any bytes are safe. */
enum conf_verdict conf_parse(const char *file, struct belay_slice text, FILE *errors,
                             struct conf **conf) __attribute__((warn_unused_result));
struct conf *conf_take(struct conf *conf); /* one more reference; from any thread */
void conf_give(struct conf *conf);         /* one less; the last frees; from any thread */
/* Has anybody else a reference? Once it is false, all that they did before giving theirs is seen.
 */
bool conf_is_shared(const struct conf *conf);
/* Of all routes: no operation under this configuration takes longer. */
struct belay_span conf_longest_deadline(const struct conf *conf);
/* Every option with its value, as YAML that loads to the same snapshot. */
void conf_dump(const struct conf *conf, FILE *out);
/* Every option with its default and what it means, for a person at a terminal. */
void conf_help(FILE *out);

#endif
