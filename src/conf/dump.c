/* dump.c: a snapshot as YAML that loads to the same snapshot, and the table of options for people.
 */
#include "conf/conf.h"

#include "conf/number.h"
#include "conf/option.h"
#include "conf/value.h"

struct dump {
    FILE *out;
    bool dash; /* the next line is the first of a list's item */
};

static void indent(struct dump *dump, int depth)
{
    if (dump->dash)
        fprintf(dump->out, "%*s- ", depth * 2 - 2, "");
    else
        fprintf(dump->out, "%*s", depth * 2, "");
    dump->dash = false;
}

/* Writes the `key:` lines of the groups that `name` enters, coming from `before`; returns how deep
 * its own key is. */
static int open_groups(struct dump *dump, const char *name, const char *before, int depth)
{
    const char *key = name, *dot;
    while ((dot = strchr(key, '.'))) {
        size_t upto = (size_t)(dot - name) + 1;
        bool is_open = before && strncmp(before, name, upto) == 0;
        if (!is_open) {
            indent(dump, depth);
            fprintf(dump->out, "%.*s:\n", (int)(dot - key), key);
        }
        depth++;
        key = dot + 1;
    }
    return depth;
}

static const char *last_key(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* Every option of a scope but those that are more than one line; the callers print them. */
static void print_scope(struct dump *dump, enum option_scope scope, const void *base, int depth,
                        bool of_route)
{
    const struct option *off = NULL;
    const char *before = NULL;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &OPTIONS[i];
        if (option->scope != scope || option->type == TYPE_SECTION || option->type == TYPE_TARGET)
            continue;
        if (of_route && option->target_only) continue;
        if (off && option_in_group(option, belay_slice_z(off->name))) continue;
        if (option->type == TYPE_SWITCH) {
            bool is_off = !option->member && value_number(option, base) == 0;
            if (!is_off) continue;
            off = option;
        }
        indent(dump, open_groups(dump, option->name, before, depth));
        fprintf(dump->out, "%s: ", last_key(option->name));
        value_print(option, base, dump->out);
        fputc('\n', dump->out);
        before = option->name;
    }
}

static void print_policy(struct dump *dump, const struct belay_policy *policy, int depth,
                         bool of_route)
{
    indent(dump, depth);
    fputs("policy:\n", dump->out);
    print_scope(dump, SCOPE_POLICY, policy, depth + 1, of_route);
}

static void print_target(struct dump *dump, const struct conf_target *target)
{
    indent(dump, 1);
    value_print_text(belay_slice_z(target->name), dump->out);
    fputs(":\n", dump->out);
    print_scope(dump, SCOPE_TARGET, target, 2, false);
    print_policy(dump, &target->policy, 2, false);
}

static void print_route(struct dump *dump, const struct conf *conf, const struct conf_route *route)
{
    dump->dash = true;
    print_scope(dump, SCOPE_ROUTE, route, 4, false);
    indent(dump, 4);
    fputs("target: ", dump->out);
    value_print_text(belay_slice_z(conf->targets[route->target].name), dump->out);
    fputc('\n', dump->out);
    print_policy(dump, &route->policy, 4, true);
}

/* A listener's own target is its last route. */
static void print_listener(struct dump *dump, const struct conf *conf,
                           const struct conf_listener *listener)
{
    dump->dash = true;
    print_scope(dump, SCOPE_LISTENER, listener, 2, false);
    indent(dump, 2);
    fputs("target: none\n", dump->out);
    indent(dump, 2);
    fputs("routes:\n", dump->out);
    for (size_t i = 0; i < listener->route_count; i++)
        print_route(dump, conf, &listener->routes[i]);
}

void conf_dump(const struct conf *conf, FILE *out)
{
    struct dump dump = {.out = out};
    print_scope(&dump, SCOPE_ROOT, conf, 0, false);
    fputs("targets:\n", out);
    for (size_t i = 0; i < conf->target_count; i++) print_target(&dump, &conf->targets[i]);
    fputs("listeners:\n", out);
    for (size_t i = 0; i < conf->listener_count; i++)
        print_listener(&dump, conf, &conf->listeners[i]);
}

/* ---- for people ---- */

static const char *const TITLES[SCOPE_COUNT] = {
    [SCOPE_ROOT] = "The file",
    [SCOPE_POLICY] = "A policy (in `defaults`, in a target, in a route)",
    [SCOPE_TARGET] = "A target (in `targets`, under its name)",
    [SCOPE_LISTENER] = "A listener (in the list `listeners`)",
    [SCOPE_ROUTE] = "A route (in the list `routes` of a listener)",
};

/* The order in which a file is read by a person. */
static const enum option_scope READING_ORDER[] = {SCOPE_ROOT, SCOPE_TARGET, SCOPE_LISTENER,
                                                  SCOPE_ROUTE, SCOPE_POLICY};

static void print_wrapped(const char *text, FILE *out)
{
    const int margin = 6, width = 78;
    int column = 0; /* nothing yet */
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column == 0 || column + 1 + length > width) {
            fprintf(out, "%s%*s", column ? "\n" : "", margin, "");
            column = margin;
        } else {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", length, text);
        column += length;
        text += length + (text[length] == ' ');
    }
    fputc('\n', out);
}

static void print_option(const struct option *option, FILE *out)
{
    fprintf(out, "  %s", option->name);
    const char *shown = option->initial ? option->initial : option->member ? "on" : option->zero;
    if (option_is_list(option) && option->initial)
        fprintf(out, " [%s]", option->initial);
    else if (shown)
        fprintf(out, " [%s]", shown);
    if (option->internet) fprintf(out, " [%s over the internet]", option->internet);
    fputc('\n', out);
    print_wrapped(option->help, out);
}

void conf_help(FILE *out)
{
    for (size_t s = 0; s < SCOPE_COUNT; s++) {
        fprintf(out, "%s%s:\n", s ? "\n" : "", TITLES[READING_ORDER[s]]);
        for (size_t i = 0; i < OPTION_COUNT; i++) {
            if (OPTIONS[i].scope == READING_ORDER[s]) print_option(&OPTIONS[i], out);
        }
    }
}
