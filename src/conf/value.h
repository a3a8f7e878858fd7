/* value.h: one option's value between its text and its place in the snapshot. */
#ifndef CONF_VALUE_H
#define CONF_VALUE_H

#include "conf/option.h"
#include "conf/problem.h"
#include "conf/snapshot.h"

struct value_error {
    bool no_memory;            /* not the text's fault */
    char rule[RULE_BYTES_MAX]; /* begins with the option's name */
};

/* `base` is the struct of the option's scope. The default; CHECKs that the table's own text is
 * right. False only without memory. */
bool value_default(const struct option *option, void *base, struct snapshot *snapshot)
    __attribute__((warn_unused_result));
/* One word; for a list type it is added, and the zero word is none of its words. False: *error says
 * the rule, and the value is as before. */
bool value_set(const struct option *option, void *base, struct belay_slice word,
               struct snapshot *snapshot, struct value_error *error)
    __attribute__((warn_unused_result));
/* A list is empty from here on; false without memory. */
bool value_clear(const struct option *option, void *base, struct snapshot *snapshot)
    __attribute__((warn_unused_result));
/* What a person should have written: "a duration such as 250ms". */
const char *value_kind(const struct option *option);

/* The number inside; only for the types that have one. */
int64_t value_number(const struct option *option, const void *base);
bool value_has_number(const struct option *option);
void value_store(const struct option *option, void *base, int64_t number);
/* The shortest text of a number that reads back to it exactly. */
#define VALUE_TEXT_BYTES_MAX 48
void value_text(const struct option *option, int64_t number, char text[VALUE_TEXT_BYTES_MAX]);
/* The value as YAML on one line. */
void value_print(const struct option *option, const void *base, FILE *out);
/* Any text as a YAML scalar. */
void value_print_text(struct belay_slice text, FILE *out);

#endif
