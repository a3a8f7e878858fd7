/* problem.h: what is wrong with a configuration, collected so that one reading tells it all. */
#ifndef CONF_PROBLEM_H
#define CONF_PROBLEM_H

#include <belay/slice.h>
#include <stdio.h>

#define PROBLEMS_MAX 20
#define RULE_BYTES_MAX 400

/* Both count from 1. */
struct position {
    int line, column;
};

struct problem {
    struct position at;
    char rule[RULE_BYTES_MAX];
};

struct problems {
    size_t count;
    struct problem items[PROBLEMS_MAX];
};

/* The twenty-first and later are dropped. */
void problems_add(struct problems *problems, struct position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static inline bool problems_full(const struct problems *problems)
{
    return problems->count == PROBLEMS_MAX;
}
/* In the order of the file, `file:line:column: rule`. */
void problems_print(struct problems *problems, const char *file, FILE *out);

/* A piece of somebody's text made fit for a message: bounded, without control characters. */
struct shown {
    char text[48];
};
struct shown show(struct belay_slice text);

#endif
