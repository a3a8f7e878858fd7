/* args.c: takes options off a command line (args.h). */
#include "app/args.h"

#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

#define ARGS_MAX 32

static const struct arg *find(const struct arg *args, size_t count, struct belay_slice name)
{
    for (size_t i = 0; i < count; i++) {
        if (belay_slice_equal(belay_slice_z(args[i].name), name)) return &args[i];
    }
    return NULL;
}

static bool unknown(const char *command, const struct arg *args, size_t count,
                    struct belay_slice name)
{
    const char *names[ARGS_MAX];
    for (size_t i = 0; i < count && i < ARGS_MAX; i++) names[i] = args[i].name;
    const char *meant = nearest_name(name, names, count < ARGS_MAX ? count : ARGS_MAX);
    fprintf(stderr, "belay %s: unknown option %.*s", command, (int)name.length, name.data);
    if (meant) fprintf(stderr, "; did you mean %s?", meant);
    fprintf(stderr, "\nbelay %s: `belay %s --help` lists the options\n", command, command);
    return false;
}

/* *at is moved to a value that is an argument of its own. */
static bool take(char **argv, int argc, int *at, const struct arg *args, size_t arg_count)
{
    const char *text = argv[*at], *equals = strncmp(text, "--", 2) == 0 ? strchr(text, '=') : NULL;
    struct belay_slice name = belay_slice(text, equals ? (size_t)(equals - text) : strlen(text));
    const struct arg *arg = find(args, arg_count, name);
    if (!arg) return unknown(argv[0], args, arg_count, name);
    if (arg->flag && !equals) {
        *arg->flag = true;
        return true;
    }
    bool lacks = !equals && *at + 1 >= argc;
    if (arg->flag || lacks) {
        fprintf(stderr, "belay %s: %s %s\n", argv[0], arg->name,
                lacks ? "needs a value" : "takes no value");
        return false;
    }
    *arg->value = equals ? equals + 1 : argv[++*at];
    return true;
}

bool args_parse(int *count, char **argv, const struct arg *args, size_t arg_count)
{
    int words = 1;
    bool only_words = false;
    for (int i = 1; i < *count; i++) {
        bool is_number = argv[i][0] == '-' && argv[i][1] >= '0' && argv[i][1] <= '9';
        bool is_option = !only_words && !is_number && argv[i][0] == '-' && argv[i][1] != '\0';
        if (!is_option) {
            argv[words++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            only_words = true;
        } else if (!take(argv, *count, &i, args, arg_count)) {
            return false;
        }
    }
    *count = words;
    return true;
}
