/* input.c: reads a stream of JSON objects and says precisely what is wrong with one (input.h). */
#include "app/input.h"

#include "app/locate.h"
#include "base/nearest.h"

#include <inttypes.h>
#include <stdarg.h>

void input_init(struct input *input, FILE *file, const char *name, FILE *errors)
{
    *input = (struct input){.file = file, .errors = errors, .name = name, .line = 1, .column = 1};
    buf_init(&input->text, INPUT_OBJECT_BYTES_MAX);
}

void input_deinit(struct input *input)
{
    json_decref(input->object);
    buf_deinit(&input->text);
}

static void print_position(const struct input *input, size_t line, size_t column)
{
    fprintf(input->errors, "%s:%zu:%zu: ", input->name, line, column);
}

static void advance(struct input *input, char c)
{
    input->column++;
    if (c != '\n') return;
    input->line++;
    input->column = 1;
}

/* One byte a call, so that nothing behind the object's end is taken from the stream. */
static size_t feed(void *out, size_t size, void *owner)
{
    struct input *input = owner;
    int c = size ? fgetc(input->file) : EOF;
    if (c == EOF) return 0;
    char byte = (char)c;
    if (!buf_add(&input->text, &byte, 1)) {
        input->too_large = buf_length(&input->text) == INPUT_OBJECT_BYTES_MAX;
        input->no_memory = !input->too_large;
        return 0;
    }
    advance(input, byte);
    *(char *)out = byte;
    return 1;
}

static int skip_blank(struct input *input)
{
    int c;
    while ((c = fgetc(input->file)) == ' ' || c == '\t' || c == '\r' || c == '\n')
        advance(input, (char)c);
    if (c != EOF) (void)ungetc(c, input->file);
    return c;
}

static enum input_step fail_syntax(const struct input *input, const json_error_t *error)
{
    size_t line = error->line > 0 ? (size_t)error->line : 1,
           column = error->column > 0 ? (size_t)error->column : 1;
    if (line == 1) column += input->begin_column - 1;
    print_position(input, input->begin_line + line - 1, column);
    if (input->too_large) {
        fprintf(input->errors, "an object of more than %zu bytes\n", INPUT_OBJECT_BYTES_MAX);
    } else if (input->no_memory) {
        fputs("no memory is left\n", input->errors);
    } else {
        fprintf(input->errors, "no valid JSON: %s\n", error->text);
    }
    return INPUT_BAD;
}

/* UTF-8's, which editors of one system put in front of a file. */
static bool is_byte_order_mark(FILE *file)
{
    return fgetc(file) == 0xef && fgetc(file) == 0xbb && fgetc(file) == 0xbf;
}

static enum input_step fail_begin(const struct input *input)
{
    bool mark = is_byte_order_mark(input->file);
    print_position(input, input->line, input->column);
    fputs(mark ? "a byte order mark; JSON is UTF-8 without one\n" : "expected an object: '{'\n",
          input->errors);
    return INPUT_BAD;
}

enum input_step input_next(struct input *input)
{
    json_error_t error;
    json_decref(input->object);
    input->object = NULL;
    buf_clear(&input->text);
    int first = skip_blank(input);
    input->begin_line = input->line;
    input->begin_column = input->column;
    if (first == EOF && ferror(input->file)) {
        print_position(input, input->line, input->column);
        fputs("cannot be read\n", input->errors);
        return INPUT_BAD;
    }
    if (first == EOF) return INPUT_END;
    if (first != '{') return fail_begin(input);
    input->object =
        json_load_callback(feed, input, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &error);
    return input->object ? INPUT_OBJECT : fail_syntax(input, &error);
}

bool input_fail(const struct input *input, const char *path, const char *format, ...)
{
    struct belay_slice text = buf_slice(&input->text);
    size_t offset = *path ? locate(text, path) : 0;
    size_t line = input->begin_line, column = input->begin_column;
    for (size_t i = 0; i < offset; i++) {
        column = text.data[i] == '\n' ? 1 : column + 1;
        line += text.data[i] == '\n';
    }
    print_position(input, line, column);
    if (*path) fprintf(input->errors, "%s: ", path);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(input->errors, format, arguments);
    va_end(arguments);
    fputc('\n', input->errors);
    return false;
}

void input_path(char out[INPUT_PATH_BYTES_MAX], const char *path, const char *key)
{
    int length = snprintf(out, INPUT_PATH_BYTES_MAX, "%s%s%s", path, *path ? "." : "", key);
    if (length < 0) *out = '\0';
}

void input_element(char out[INPUT_PATH_BYTES_MAX], const char *path, size_t index)
{
    int length = snprintf(out, INPUT_PATH_BYTES_MAX, "%s[%zu]", path, index);
    if (length < 0) *out = '\0';
}

bool input_keys(const struct input *input, const json_t *object, const char *path,
                const char *const *keys, size_t count)
{
    for (void *at = json_object_iter((json_t *)object); at;
         at = json_object_iter_next((json_t *)object, at)) {
        const char *key = json_object_iter_key(at);
        bool known = false;
        for (size_t i = 0; i < count && !known; i++) known = strcmp(key, keys[i]) == 0;
        if (known) continue;
        char where[INPUT_PATH_BYTES_MAX];
        input_path(where, path, key);
        const char *meant = nearest_name(belay_slice_z(key), keys, count);
        if (!meant) return input_fail(input, where, "unknown key");
        return input_fail(input, where, "unknown key; did you mean '%s'?", meant);
    }
    return true;
}

/* The value, or NULL when it is absent or null. */
static const json_t *value_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

bool input_integer(const struct input *input, const json_t *object, const char *path,
                   const char *key, int64_t min, int64_t max, int64_t *out)
{
    const json_t *value = value_of(object, key);
    if (!value) return true;
    if (json_is_integer(value) && json_integer_value(value) >= min &&
        json_integer_value(value) <= max) {
        *out = json_integer_value(value);
        return true;
    }
    char where[INPUT_PATH_BYTES_MAX];
    input_path(where, path, key);
    return input_fail(input, where, "expected a whole number from %" PRId64 " to %" PRId64, min,
                      max);
}

bool input_text(const struct input *input, const json_t *object, const char *path, const char *key,
                const char **out)
{
    const json_t *value = value_of(object, key);
    if (!value) return true;
    if (json_is_string(value)) {
        *out = json_string_value(value);
        return true;
    }
    char where[INPUT_PATH_BYTES_MAX];
    input_path(where, path, key);
    return input_fail(input, where, "expected a string");
}

bool input_boolean(const struct input *input, const json_t *object, const char *path,
                   const char *key, bool *out)
{
    const json_t *value = value_of(object, key);
    if (!value) return true;
    if (json_is_boolean(value)) {
        *out = json_is_true(value);
        return true;
    }
    char where[INPUT_PATH_BYTES_MAX];
    input_path(where, path, key);
    return input_fail(input, where, "expected true or false");
}
