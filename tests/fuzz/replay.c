/* replay.c: any bytes as the input of `belay replay`: the same bytes give the same events, and each
 * event is a line of JSON that reads back to itself. */
#include "app/replay.h"

#include "base/check.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_MAX 4096 /* longer ones only repeat themselves */

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length);

struct said {
    char *text;
    size_t length;
    bool good;
};

static struct said replay(const unsigned char *bytes, size_t length)
{
    struct said said = {0};
    char *errors = NULL;
    size_t errors_length;
    FILE *in = fmemopen((void *)(uintptr_t)bytes, length, "r");
    FILE *out = open_memstream(&said.text, &said.length);
    FILE *complaints = open_memstream(&errors, &errors_length);
    CHECK(in && out && complaints);
    said.good = replay_run(in, "fuzz", out, complaints);
    (void)fclose(in);
    CHECK(fclose(out) == 0 && fclose(complaints) == 0);
    CHECK(said.good == (errors_length == 0));
    free(errors);
    return said;
}

/* The encoder's own bytes, and those of a JSON library that has read them, mean the same. */
static void check_line(const char *line, size_t length)
{
    json_t *event = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    CHECK(json_is_object(event));
    char *text = json_dumps(event, JSON_COMPACT);
    json_t *again = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    CHECK(json_equal(event, again));
    if (!json_object_get(event, "event")) {
        bool has_status = json_is_integer(json_object_get(event, "status"));
        bool has_error = json_is_string(json_object_get(event, "errorClass"));
        CHECK(has_status != has_error);
    }
    free(text);
    json_decref(again);
    json_decref(event);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length)
{
    if (length == 0 || length > LENGTH_MAX) return 0;
    struct said once = replay(bytes, length), twice = replay(bytes, length);
    CHECK(once.good == twice.good && once.length == twice.length);
    CHECK(memcmp(once.text, twice.text, once.length) == 0);
    for (const char *line = once.text, *end; line < once.text + once.length; line = end + 1) {
        end = memchr(line, '\n', (size_t)(once.text + once.length - line));
        CHECK(end);
        check_line(line, (size_t)(end - line));
    }
    free(once.text);
    free(twice.text);
    return 0;
}
