/* run.h: runs a subcommand in a process of its own and catches what it says. */
#ifndef TESTS_APP_RUN_H
#define TESTS_APP_RUN_H

#include <sys/types.h>

struct run {
    int code; /* -1: ended by a signal */
    char out[1 << 16], err[1 << 14];
};

/* argv[0] is the subcommand's name, NULL ends it. `input` (may be NULL) is its standard input. */
const struct run *run(int (*command)(int argc, char **argv), const char *input,
                      const char *const *argv);

/* One that stays: its output goes to *err_fd, a pipe. */
pid_t run_start(int (*command)(int argc, char **argv), const char *const *argv, int *err_fd);
int run_wait(pid_t pid); /* its exit code, or -1 */

#endif
