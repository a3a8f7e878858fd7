/* args.c: takes options off a command line (args.h). */
#include "app/args.h"
#include "base/text.h"

#include "base/check.h"
#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

struct parse {
    const char *command;
    const struct arg *args;
    size_t arg_count;
    bool given[ARGS_MAX]; /* by the first row of an option */
};

static const struct arg *find(const struct parse *parse, struct belay_slice name)
{
    for (size_t i = 0; i < parse->arg_count; i++) {
        if (belay_slice_equal(belay_slice_z(parse->args[i].name), name)) return &parse->args[i];
    }
    return NULL;
}

static bool unknown(const struct parse *parse, struct belay_slice name)
{
    const char *names[ARGS_MAX], *command = parse->command;
    for (size_t i = 0; i < parse->arg_count; i++) names[i] = parse->args[i].name;
    const char *meant = nearest_name(name, names, parse->arg_count);
    fprintf(stderr, "belay %s: unknown option %.*s", command, (int)name.length, name.data);
    if (meant) fprintf(stderr, "; did you mean %s?", meant);
    fprintf(stderr, "\nbelay %s: `belay %s --help` lists the options\n", command, command);
    return false;
}

static bool bad(const struct parse *parse, const struct arg *arg, const char *problem)
{
    fprintf(stderr, "belay %s: %s %s\n", parse->command, arg->name, problem);
    return false;
}

/* False when it has its value already. */
static bool give(struct parse *parse, const struct arg *arg, const char *value)
{
    size_t first = 0;
    if (arg->values) {
        if (arg->values->count == ARG_VALUES_MAX) return false;
        arg->values->names[arg->values->count] = arg->name;
        arg->values->items[arg->values->count++] = value;
        return true;
    }
    while (parse->args[first].value != arg->value) first++;
    if (parse->given[first]) return false;
    parse->given[first] = true;
    *arg->value = value;
    return true;
}

/* *at is moved to a value that is an argument of its own. */
static bool take(struct parse *parse, char **argv, int argc, int *at)
{
    const char *text = argv[*at], *equals = strncmp(text, "--", 2) == 0 ? strchr(text, '=') : NULL;
    struct belay_slice name = belay_slice(text, equals ? (size_t)(equals - text) : strlen(text));
    const struct arg *arg = find(parse, name);
    if (!arg) return unknown(parse, name);
    if (arg->flag && !equals) {
        *arg->flag = true;
        return true;
    }
    if (arg->flag) return bad(parse, arg, "takes no value");
    if (!equals && *at + 1 >= argc) return bad(parse, arg, "needs a value");
    if (give(parse, arg, equals ? equals + 1 : argv[++*at])) return true;
    return bad(parse, arg, arg->values ? "is given too often" : "is given twice");
}

bool args_parse(int *count, char **argv, const struct arg *args, size_t arg_count)
{
    struct parse parse = {.command = argv[0], .args = args, .arg_count = arg_count};
    int words = 1;
    CHECK(arg_count <= ARGS_MAX);
    bool only_words = false;
    for (int i = 1; i < *count; i++) {
        bool is_number = argv[i][0] == '-' && char_is_digit(argv[i][1]);
        bool is_option = !only_words && !is_number && argv[i][0] == '-' && argv[i][1] != '\0';
        if (!is_option) {
            argv[words++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            only_words = true;
        } else if (!take(&parse, argv, *count, &i)) {
            return false;
        }
    }
    *count = words;
    return true;
}
