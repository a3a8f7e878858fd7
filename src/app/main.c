/* main.c: picks the subcommand. */
#include "app/app.h"
#include "base/nearest.h"

#include <belay/version.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
};

static int run_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts("belay " BELAY_VERSION);
    return APP_DONE;
}

/* In the order of the help text; ended by a row without a name. */
static const struct command COMMANDS[] = {
    {"serve", "carry requests to their targets", app_serve},
    {"call", "make one call from the shell", app_call},
    {"replay", "run recorded observations through the engine", app_replay},
    {"inspect", "say what events tell, and what is wrong with them", app_inspect},
    {"explain", "say what belay makes of a field or an outcome", app_explain},
    {"check", "say whether a configuration is right", app_check},
    {"flaky", "an origin that misbehaves on script", app_flaky},
    {"version", "print the version", run_version},
    {NULL, NULL, NULL},
};
#define COMMAND_COUNT (sizeof COMMANDS / sizeof COMMANDS[0])

static void print_help(FILE *to)
{
    fputs(
        "usage: belay COMMAND [ARGUMENT...]\n"
        "       belay --version\n"
        "\n"
        "Calls between programs that survive a faulty network, and the evidence of what happened.\n"
        "\n"
        "commands:\n",
        to);
    for (const struct command *c = COMMANDS; c->name; c++)
        fprintf(to, "  %-10s%s\n", c->name, c->summary);
    fputs("\n`belay COMMAND --help` tells the arguments of one.\n", to);
}

static const struct command *find(const char *name)
{
    for (const struct command *c = COMMANDS; c->name; c++) {
        if (strcmp(name, c->name) == 0) return c;
    }
    return NULL;
}

static int unknown(const char *name)
{
    const char *names[COMMAND_COUNT];
    size_t count = 0;
    for (const struct command *c = COMMANDS; c->name; c++) names[count++] = c->name;
    const char *meant = nearest_name(belay_slice_z(name), names, count);
    fprintf(stderr, "belay: unknown command '%s'", name);
    if (meant) fprintf(stderr, "; did you mean '%s'?", meant);
    fputs("\nbelay: `belay --help` lists the commands\n", stderr);
    return APP_USAGE;
}

/* A standard stream that came closed would be the next file that is opened, and what is said would
 * go there. In its place comes one that can only be used the wrong way round: reading, or writing,
 * fails as it did. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    }
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    if (argc < 2) {
        print_help(stderr);
        return APP_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        if (argc == 2) {
            print_help(stdout);
            return APP_DONE;
        }
        const struct command *about = find(argv[2]);
        char *arguments[] = {argv[2], (char[]){"--help"}, NULL};
        return about ? about->run(2, arguments) : unknown(argv[2]);
    }
    if (strcmp(name, "--version") == 0) return run_version(argc, argv);
    const struct command *command = find(name);
    if (!command) return unknown(name);
    return command->run(argc - 1, argv + 1);
}
