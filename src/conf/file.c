/* file.c: the configuration's file: bounded, and read before it is understood. */
#include "conf/conf.h"

#include "base/buf.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static enum conf_verdict unreadable(const char *file, FILE *errors, const char *why)
{
    fprintf(errors, "%s: cannot be read: %s\n", file, why);
    return CONF_UNREADABLE;
}

/* NULL, or why not. */
static const char *read_all(FILE *in, struct buf *text)
{
    struct stat about;
    if (fstat(fileno(in), &about) == 0 && S_ISDIR(about.st_mode)) return "it is a directory";
    for (;;) {
        size_t room;
        char *to = buf_reserve(text, 4096, &room);
        if (!to)
            return text->bytes_max == buf_length(text) ? "it is larger than 1 MiB"
                                                       : "no memory is left";
        size_t count = fread(to, 1, room, in);
        buf_wrote(text, count);
        if (count == 0) return ferror(in) ? strerror(errno) : NULL;
    }
}

enum conf_verdict conf_read(const char *file, FILE *errors, struct conf **conf)
{
    FILE *in = fopen(file, "re");
    if (!in) return unreadable(file, errors, strerror(errno));
    struct buf text;
    buf_init(&text, CONF_FILE_BYTES_MAX + 1);
    const char *why = read_all(in, &text);
    fclose(in);
    enum conf_verdict verdict =
        why ? unreadable(file, errors, why) : conf_parse(file, buf_slice(&text), errors, conf);
    buf_deinit(&text);
    return verdict;
}
