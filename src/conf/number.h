/* number.h: values that are a number inside: durations, sizes, shares, rates, counts, words. */
#ifndef CONF_NUMBER_H
#define CONF_NUMBER_H

#include "conf/option.h"
#include "conf/value.h"

/* The option's number from one word, in its range. False: *error says the rule, *number is as
 * before. */
bool number_parse(const struct option *option, struct belay_slice word, int64_t *number,
                  struct value_error *error) __attribute__((warn_unused_result));
/* "none, off or 1ms to 24h": what may be written. */
void number_range(const struct option *option, char *text, size_t bytes);
/* Writes `error->rule`: the option's name, a colon, and the text. */
void value_fault(struct value_error *error, const struct option *option, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A word that is not in the list: says the nearest one, or all. */
void value_unknown(struct value_error *error, const struct option *option, struct belay_slice word,
                   const char *also);
/* Index in option->words, or -1. */
int value_word_index(const struct option *option, struct belay_slice word);

#endif
