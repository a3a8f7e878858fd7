/* args.h: options of a subcommand, the same way everywhere. */
#ifndef APP_ARGS_H
#define APP_ARGS_H

#include <stdbool.h>
#include <stddef.h>

/* `--name VALUE` or `--name=VALUE` when `value` is there, else a flag. Short names, such as "-c",
 * are names too. */
struct arg {
    const char *name;
    const char **value;
    bool *flag;
};

/* Takes the options out of argv[1..]; what is left are words, in their order, from argv[1] on;
 * *count is argc then. After "--" everything is a word; "-" alone is one, and so is a negative
 * number. False: `belay NAME: ...` was written to stderr. */
bool args_parse(int *count, char **argv, const struct arg *args, size_t arg_count)
    __attribute__((warn_unused_result));

#endif
