/* problem.c: collects and prints what is wrong with a configuration (problem.h). */
#include "conf/problem.h"

#include <stdarg.h>
#include <stdlib.h>

void problems_add(struct problems *problems, struct position at, const char *format, ...)
{
    if (problems_full(problems)) return;
    struct problem *problem = &problems->items[problems->count++];
    problem->at = at;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem->rule, sizeof problem->rule, format, arguments);
    va_end(arguments);
}

static int compare(const void *left, const void *right)
{
    const struct problem *a = left, *b = right;
    if (a->at.line != b->at.line) return a->at.line < b->at.line ? -1 : 1;
    if (a->at.column != b->at.column) return a->at.column < b->at.column ? -1 : 1;
    return strcmp(a->rule, b->rule);
}

void problems_print(struct problems *problems, const char *file, FILE *out)
{
    qsort(problems->items, problems->count, sizeof problems->items[0], compare);
    for (size_t i = 0; i < problems->count; i++) {
        const struct problem *p = &problems->items[i];
        fprintf(out, "%s:%d:%d: %s\n", file, p->at.line, p->at.column, p->rule);
    }
}

struct shown show(struct belay_slice text)
{
    struct shown shown;
    const size_t room = sizeof shown.text - 1, ellipsis = 3;
    size_t length = text.length;
    if (length > room) length = room - ellipsis;
    /* Never half a character: a UTF-8 sequence goes whole or not at all. */
    while (length > 0 && length < text.length && ((unsigned char)text.data[length] & 0xc0) == 0x80)
        length--;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text.data[i];
        shown.text[i] = text.data[i];
        if (c < 0x20 || c == 0x7f) shown.text[i] = '?';
    }
    if (length < text.length) {
        memcpy(shown.text + length, "...", ellipsis);
        length += ellipsis;
    }
    shown.text[length] = '\0';
    return shown;
}
