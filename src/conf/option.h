/* option.h: the one table of all options: loader, check, dump, help and manual page derive from it.
 *
 * A row's name is its path inside its scope: "backoff.base" is the key `base` of the mapping
 * `backoff` of a policy.
 */
#ifndef CONF_OPTION_H
#define CONF_OPTION_H

#include <belay/slice.h>
#include <stdint.h>

enum option_scope {
    SCOPE_ROOT,     /* struct conf */
    SCOPE_POLICY,   /* struct belay_policy */
    SCOPE_TARGET,   /* struct conf_target */
    SCOPE_LISTENER, /* struct conf_listener */
    SCOPE_ROUTE,    /* struct conf_route */
    SCOPE_COUNT
};

enum option_type {
    /* One word that is a number inside. */
    TYPE_DURATION, /* struct belay_span */
    TYPE_RATE,     /* struct belay_span between two calls */
    TYPE_SIZE,     /* size_t */
    TYPE_SHARE,    /* uint32_t, parts per million */
    TYPE_INTEGER,  /* uint32_t */
    TYPE_BOOLEAN,  /* bool */
    TYPE_WORD,     /* an enum: `words` in the order of its values */
    TYPE_SWITCH,   /* bool: a group that may be `off` as a whole, or by way of its `member` */
    /* One word that stays text: char *. */
    TYPE_FILE,
    TYPE_PATH,
    TYPE_HEADER,
    TYPE_ADDRESS, /* struct conf_address */
    /* Lists. */
    TYPE_METHODS,   /* uint32_t: bits in the order of `words` */
    TYPE_OUTCOMES,  /* struct belay_retry_on: `words` are the error classes' bits, and statuses */
    TYPE_HEADERS,   /* struct conf_names */
    TYPE_ADDRESSES, /* conf_target.addresses and address_count */
    /* What only the loader can read. */
    TYPE_TARGET,  /* size_t: the index of a target, given by its name */
    TYPE_SECTION, /* a scope of its own below this key */
};

struct option {
    const char *name;
    enum option_scope scope;
    enum option_type type;
    size_t offset;
    /* The default as it would be written; list words are split by blanks; NULL: none. */
    const char *initial;
    const char *internet;     /* the default with `network: internet`; NULL: the same */
    int64_t min, max;         /* of the number inside, unless the zero word is given */
    const char *zero;         /* the word for 0, NULL or the empty list */
    const char *const *words; /* ended by NULL; "" is a value that nobody may write */
    const char *member;       /* TYPE_SWITCH: the option that `off` stands for */
    bool target_only;         /* belongs to the state that all routes to a target share */
    bool at_start;            /* taken when the daemon starts, and not by a reload */
    const char *help;         /* one sentence */
};

#define OPTIONS_MAX 80
extern const struct option OPTIONS[];
extern const size_t OPTION_COUNT;

/* The row of that name; NULL when there is none. */
const struct option *option_find(enum option_scope scope, struct belay_slice name);
/* Does a name of this scope begin with `group` and a dot? */
bool option_is_group(enum option_scope scope, struct belay_slice group);
/* Is the row directly or deeper inside `group` ("" : everything)? */
bool option_in_group(const struct option *option, struct belay_slice group);
/* The keys that may stand directly in `group`: at most `max` of them, each once, in `keys`; returns
 * how many. */
#define OPTION_KEY_BYTES_MAX 32
size_t option_keys(enum option_scope scope, struct belay_slice group,
                   char (*keys)[OPTION_KEY_BYTES_MAX], size_t max);
bool option_is_list(const struct option *option);

#endif
