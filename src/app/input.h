/* input.h: a stream of JSON objects, read one at a time, whose errors say file, line, column and
 * path.
 *
 * Objects may follow each other on lines of their own, span lines, or stand next to each other.
 */
#ifndef APP_INPUT_H
#define APP_INPUT_H

#include "base/buf.h"

#include <jansson.h>
#include <stdio.h>

struct input {
    FILE *file, *errors;
    const char *name;                /* what errors call it */
    size_t line, column;             /* of the next byte, from 1 */
    size_t begin_line, begin_column; /* of the object */
    struct buf text;                 /* the object's bytes */
    json_t *object;
    bool too_large, no_memory;
};

enum input_step { INPUT_OBJECT, INPUT_END, INPUT_BAD };

#define INPUT_OBJECT_BYTES_MAX ((size_t)16 * 1024 * 1024)

void input_init(struct input *input, FILE *file, const char *name, FILE *errors);
void input_deinit(struct input *input);
/* The next object, which stays until the next call. BAD: an error was written. */
enum input_step input_next(struct input *input);

/* Writes `name:line:column: path: text`; the position is that of `path` ("observations[1].status")
 * in the object, or the object's own for "". Returns false. */
bool input_fail(const struct input *input, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A path one step longer, cut when it does not fit: "a" and "b" give "a.b", "a" and 1 give "a[1]".
 */
#define INPUT_PATH_BYTES_MAX 256
void input_path(char out[INPUT_PATH_BYTES_MAX], const char *path, const char *key);
void input_element(char out[INPUT_PATH_BYTES_MAX], const char *path, size_t index);

/* Each is false, with an error written, when the value is there and not what it must be; null
 * counts as absent, and leaves *out untouched. `path` is that of `object`. */
bool input_keys(const struct input *input, const json_t *object, const char *path,
                const char *const *keys, size_t count);
bool input_integer(const struct input *input, const json_t *object, const char *path,
                   const char *key, int64_t min, int64_t max, int64_t *out);
bool input_text(const struct input *input, const json_t *object, const char *path, const char *key,
                const char **out);
bool input_boolean(const struct input *input, const json_t *object, const char *path,
                   const char *key, bool *out);

#endif
