/* args.h: options of a subcommand, the same way everywhere. */
#ifndef APP_ARGS_H
#define APP_ARGS_H

#include <stdbool.h>
#include <stddef.h>

/* The values of an option that may be given again, in their order. */
#define ARG_VALUES_MAX 64
struct arg_values {
    const char *items[ARG_VALUES_MAX];
    const char *names[ARG_VALUES_MAX]; /* by which each was given */
    size_t count;
};

/* `--name VALUE` or `--name=VALUE` when `value` or `values` is there, else a flag. Short names,
 * such as "-c", are names too. Names that share a `value` are one option: given a second time, by
 * any of them, it is refused, so that no value silently wins over another. */
struct arg {
    const char *name;
    const char **value;
    bool *flag;
    struct arg_values *values;
};
#define ARGS_MAX 64 /* rows of a table */

/* Takes the options out of argv[1..]; what is left are words, in their order, from argv[1] on;
 * *count is argc then. After "--" everything is a word; "-" alone is one, and so is a negative
 * number. False: `belay NAME: ...` was written to stderr. */
bool args_parse(int *count, char **argv, const struct arg *args, size_t arg_count)
    __attribute__((warn_unused_result));

#endif
