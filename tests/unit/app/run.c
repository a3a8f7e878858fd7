/* run.c: a subcommand as a child process, with its output in memory (run.h). */
#include "run.h"

#include "../test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAX 32

static FILE *file_of(const char *text)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    if (text) assert_true(fputs(text, file) >= 0);
    rewind(file);
    return file;
}

static void read_back(FILE *file, char *out, size_t capacity)
{
    rewind(file);
    out[fread(out, 1, capacity - 1, file)] = '\0';
    (void)fclose(file);
}

/* In the child: never returns. */
static void become(int (*command)(int, char **), const char *const *argv)
{
    char *owned[ARGUMENTS_MAX + 1] = {0},
                                *arguments[ARGUMENTS_MAX + 1]; /* the command may change its own */
    int count = 0;
    for (; argv[count]; count++) owned[count] = strdup(argv[count]);
    memcpy(arguments, owned, sizeof owned);
    int code = command(count, arguments);
    for (int i = 0; i < count; i++) free(owned[i]);
    exit(code);
}

static int wait_for(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const struct run *run(int (*command)(int, char **), const char *input, const char *const *argv)
{
    static struct run result;
    FILE *in = file_of(input), *out = file_of(NULL), *err = file_of(NULL);
    (void)fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)dup2(fileno(in), STDIN_FILENO);
        (void)dup2(fileno(out), STDOUT_FILENO);
        (void)dup2(fileno(err), STDERR_FILENO);
        become(command, argv);
    }
    result.code = wait_for(pid);
    (void)fclose(in);
    read_back(out, result.out, sizeof result.out);
    read_back(err, result.err, sizeof result.err);
    return &result;
}

void run_start(struct running *running, int (*command)(int, char **), const char *const *argv)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    (void)fflush(NULL);
    running->pid = fork();
    assert_true(running->pid >= 0);
    if (running->pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        become(command, argv);
    }
    (void)close(ends[1]);
    running->said = fdopen(ends[0], "r");
    assert_non_null(running->said);
}

const char *run_until(struct running *running, const char *text)
{
    char before[sizeof running->line] = "";
    while (fgets(running->line, sizeof running->line, running->said)) {
        const char *found = strstr(running->line, text);
        if (found) return found + strlen(text);
        memcpy(before, running->line, sizeof before);
    }
    fail_msg("never said '%s'; last said: %s", text, before);
    return NULL;
}

int run_end(struct running *running, int signal_number)
{
    if (signal_number) assert_int_equal(kill(running->pid, signal_number), 0);
    int code = wait_for(running->pid);
    (void)fclose(running->said);
    return code;
}
