/* run.h: runs a subcommand in a process of its own and catches what it says. */
#ifndef TESTS_APP_RUN_H
#define TESTS_APP_RUN_H

#include <stdio.h>
#include <sys/types.h>

struct run {
    int code; /* -1: ended by a signal */
    char out[1 << 16], err[1 << 14];
};

/* argv[0] is the subcommand's name, NULL ends it. `input` (may be NULL) is its standard input. */
const struct run *run(int (*command)(int argc, char **argv), const char *input,
                      const char *const *argv);

/* One that stays. */
struct running {
    pid_t pid;
    FILE *said; /* both outputs */
    char line[1024];
};
void run_start(struct running *running, int (*command)(int argc, char **argv),
               const char *const *argv);
/* Reads on until it says a line with `text`; returns what follows it. */
const char *run_until(struct running *running, const char *text);
/* Sends the signal, if it is not 0, and waits for the end: its exit code, or -1. */
int run_end(struct running *running, int signal_number);

#endif
