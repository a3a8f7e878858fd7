/* check.c: `belay check`: says whether a configuration is right, without starting anything. */
#include "app/app.h"
#include "app/args.h"
#include "conf/conf.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    const char *file;
    bool dump, help;
};

static void print_usage(FILE *out)
{
    fputs("usage: belay check -c FILE [--dump]\n"
          "\n"
          "Says what is wrong with a configuration, one mistake a line, or what it sets up.\n"
          "  -c FILE, --config FILE   the configuration\n"
          "  --dump                   print every option with its value, as a configuration of its "
          "own\n"
          "  --help                   print this, and every option with its default in [brackets]\n"
          "exit status: 0 right, 1 wrong, 2 usage, or a file that cannot be read\n",
          out);
}

static bool parse(int argc, char **argv, struct arguments *arguments)
{
    const struct arg args[] = {{"-c", &arguments->file, NULL},
                               {"--config", &arguments->file, NULL},
                               {"--dump", NULL, &arguments->dump},
                               {"--help", NULL, &arguments->help},
                               {"-h", NULL, &arguments->help}};
    if (!args_parse(&argc, argv, args, sizeof args / sizeof args[0])) return false;
    if (arguments->help || (arguments->file && argc == 1)) return true;
    print_usage(stderr);
    return false;
}

static void print_count(size_t count, const char *what)
{
    printf("%zu %s%s", count, what, count == 1 ? "" : "s");
}

static void print_summary(const char *file, const struct conf *conf)
{
    size_t routes = 0, catch_alls = 0;
    for (size_t i = 0; i < conf->listener_count; i++) {
        const struct conf_listener *listener = &conf->listeners[i];
        size_t count = listener->route_count;
        bool catches = count > 0 && !listener->routes[count - 1].path;
        routes += count - catches;
        catch_alls += catches;
    }
    printf("%s: right: ", file);
    print_count(conf->listener_count, "listener");
    if (routes > 0) {
        fputs(", ", stdout);
        print_count(routes, "route");
    }
    if (catch_alls > 0) {
        fputs(", ", stdout);
        print_count(catch_alls, "catch-all");
    }
    fputs(", ", stdout);
    print_count(conf->target_count, "target");
    bool to_stdout = conf->events_file && strcmp(conf->events_file, "-") == 0;
    printf("; events to %s", to_stdout           ? "the standard output"
                             : conf->events_file ? conf->events_file
                                                 : "nowhere");
    if (!conf->admin.host)
        puts("; no admin listener");
    else
        printf("; admin on %s port %u\n", conf->admin.host, (unsigned)conf->admin.port);
}

int app_check(int argc, char **argv)
{
    struct arguments arguments = {0};
    if (!parse(argc, argv, &arguments)) return APP_USAGE;
    if (arguments.help) {
        print_usage(stdout);
        putchar('\n');
        conf_help(stdout);
        return APP_DONE;
    }
    struct conf *conf = NULL;
    enum conf_verdict verdict = conf_read(arguments.file, stderr, &conf);
    if (verdict != CONF_GOOD) return verdict == CONF_WRONG ? APP_NEGATIVE : APP_USAGE;
    if (arguments.dump)
        conf_dump(conf, stdout);
    else
        print_summary(arguments.file, conf);
    conf_give(conf);
    return APP_DONE;
}
