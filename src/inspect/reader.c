/* reader.c: cuts files into lines, has each looked at, and counts what came of it (reader.h). */
#include "inspect/reader.h"

#include "inspect/source.h"
#include "inspect/watch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define PIECE_BYTES (512 * 1024)
#define ERROR_BYTES 512

struct inspect_reader {
    const char *const *paths;
    size_t path_count, path_at;
    bool follow;
    size_t line_max, capacity;
    struct source *source;
    uint64_t files_bytes; /* stored bytes of the files that are done */
    uint64_t file_lines;  /* of the current file */
    bool ended;           /* all of it was taken; its last record may still be in use */
    bool replaced;        /* follow: another file has its name; what is left of it is read */
    bool skipping;        /* within a line that is too long */
    struct watch watch;
    size_t at, end, looked; /* text not used yet; up to `looked` it has no newline */
    struct inspect_reading counters;
    char error[ERROR_BYTES];
    char text[];
};

/* ---- life ---- */

/* All sizes, or 0 when one is not known. */
static uint64_t total_bytes(const char *const *paths, size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        bool standard = strcmp(paths[i], "-") == 0;
        if ((standard ? fstat(0, &status) : stat(paths[i], &status)) != 0) return 0;
        if (!S_ISREG(status.st_mode)) return 0;
        total += (uint64_t)status.st_size;
    }
    return total;
}

struct inspect_reader *inspect_reader_create(const char *const *paths, size_t count, bool follow,
                                             size_t line_max)
{
    size_t capacity = line_max + PIECE_BYTES;
    struct inspect_reader *reader = calloc(1, sizeof *reader + capacity);
    if (!reader) return NULL;
    reader->paths = paths;
    reader->path_count = count;
    reader->follow = follow;
    reader->line_max = line_max;
    reader->capacity = capacity;
    reader->counters.bytes_total = total_bytes(paths, count);
    watch_init(&reader->watch);
    return reader;
}

void inspect_reader_destroy(struct inspect_reader *reader)
{
    if (!reader) return;
    source_close(reader->source);
    watch_deinit(&reader->watch);
    free(reader);
}

const char *inspect_reader_error(const struct inspect_reader *reader)
{
    return reader->error;
}

const struct inspect_reading *inspect_reader_counters(const struct inspect_reader *reader)
{
    return &reader->counters;
}

static const char *path_now(const struct inspect_reader *reader)
{
    return reader->paths[reader->path_at];
}

static enum inspect_step failed(struct inspect_reader *reader)
{
    (void)snprintf(reader->error, sizeof reader->error, "%s: %s", path_now(reader),
                   strerror(errno));
    return INSPECT_FAILED;
}

/* ---- lines ---- */

enum place { WITHIN, LAST };

/* How many more are opened than closed: below 0 the line's beginning is missing, above its end. */
static long open_objects(const char *line, size_t length)
{
    long open = 0;
    for (size_t i = 0; i < length; i++) open += (line[i] == '{') - (line[i] == '}');
    return open;
}

/* What became of a line without a record. */
static void count_other(struct inspect_reader *reader, const char *line, size_t length, bool junk,
                        enum place place)
{
    struct inspect_reading *counters = &reader->counters;
    bool first = reader->file_lines == 1;
    if (first && open_objects(line, length) < 0) {
        counters->cut_lines++;
        if (reader->path_at == 0) counters->cut_start = true;
    } else if (place == LAST && (junk || open_objects(line, length) > 0)) {
        counters->cut_lines++;
    } else if (junk) {
        counters->junk_lines++;
    } else if (length > 0) {
        counters->other_lines++;
    }
}

static bool scan_line(struct inspect_reader *reader, char *line, size_t length, enum place place,
                      struct inspect_record *record)
{
    bool junk = false;
    reader->counters.lines++;
    reader->file_lines++;
    if (length > 0 && line[length - 1] == '\r') length--;
    if (length > reader->line_max) {
        reader->counters.long_lines++;
        return false;
    }
    if (inspect_scan(line, length, record, &junk)) {
        record->line = reader->counters.lines;
        reader->counters.junk_lines += junk;
        return true;
    }
    count_other(reader, line, length, junk, place);
    return false;
}

/* Takes a whole line, if there is one. A line that does not fit is dropped as it comes. */
static bool take_line(struct inspect_reader *reader, char **line, size_t *length)
{
    for (;;) {
        char *from = reader->text + reader->at;
        char *newline = memchr(reader->text + reader->looked, '\n', reader->end - reader->looked);
        if (!newline) {
            reader->looked = reader->end;
            if (!reader->skipping && reader->end - reader->at <= reader->line_max) return false;
            if (!reader->skipping) {
                reader->counters.lines++;
                reader->file_lines++;
                reader->counters.long_lines++;
            }
            reader->skipping = true;
            reader->at = reader->looked = reader->end;
            return false;
        }
        reader->at = reader->looked = (size_t)(newline - reader->text) + 1;
        if (!reader->skipping) {
            *line = from;
            *length = (size_t)(newline - from);
            return true;
        }
        reader->skipping = false;
    }
}

/* ---- files ---- */

static enum inspect_step open_file(struct inspect_reader *reader)
{
    if (reader->path_at == reader->path_count) return INSPECT_END;
    reader->source = source_open(path_now(reader));
    reader->file_lines = 0;
    return reader->source ? INSPECT_RECORD : failed(reader);
}

/* The next file, or the one that has taken this one's name. */
static void close_file(struct inspect_reader *reader)
{
    struct inspect_reading *counters = &reader->counters;
    reader->files_bytes += source_position(reader->source);
    counters->unread_bytes += source_unread(reader->source);
    counters->damaged_files += source_is_cut(reader->source) || source_unread(reader->source) > 0;
    source_close(reader->source);
    reader->source = NULL;
    if (!reader->replaced) reader->path_at++;
    reader->skipping = reader->replaced = reader->ended = false;
    reader->at = reader->end = reader->looked = 0;
}

static bool follows(const struct inspect_reader *reader)
{
    return reader->follow && reader->path_at + 1 == reader->path_count;
}

static bool is_standard_input(const struct inspect_reader *reader)
{
    return strcmp(path_now(reader), "-") == 0;
}

/* Follow: has the file been truncated or replaced? True: there may be more to read at once. */
static bool look_at_file(struct inspect_reader *reader)
{
    struct stat own, named;
    if (is_standard_input(reader) || fstat(source_fd(reader->source), &own) != 0) return false;
    if (S_ISREG(own.st_mode) && (uint64_t)own.st_size < source_position(reader->source)) {
        if (reader->end > reader->at) reader->counters.cut_lines++;
        reader->at = reader->end = reader->looked = 0;
        reader->skipping = false;
        source_rewind(reader->source);
        return own.st_size > 0;
    }
    if (stat(path_now(reader), &named) != 0) return false;
    reader->replaced = own.st_dev != named.st_dev || own.st_ino != named.st_ino;
    return reader->replaced;
}

/* A pipe that is followed is only read when that does not block. */
static bool would_block(const struct inspect_reader *reader)
{
    struct pollfd poll_fd = {.fd = source_fd(reader->source), .events = POLLIN};
    return follows(reader) && poll(&poll_fd, 1, 0) == 0;
}

/* Programs pack a log when they are done with it; it does not grow any more. */
static enum inspect_step packed(struct inspect_reader *reader)
{
    (void)snprintf(reader->error, sizeof reader->error,
                   "%s: is packed, and cannot be followed; without --follow it is read to its end",
                   path_now(reader));
    return INSPECT_FAILED;
}

/* More text behind what there is. INSPECT_RECORD: there is some; INSPECT_END: the file has ended.
 */
static enum inspect_step fill(struct inspect_reader *reader)
{
    if (reader->at > 0) {
        memmove(reader->text, reader->text + reader->at, reader->end - reader->at);
        reader->end -= reader->at;
        reader->looked -= reader->at;
        reader->at = 0;
    }
    for (;;) {
        if (would_block(reader)) return INSPECT_PAUSE;
        ssize_t bytes =
            source_read(reader->source, reader->text + reader->end, reader->capacity - reader->end);
        reader->counters.bytes = reader->files_bytes + source_position(reader->source);
        if (bytes < 0) return failed(reader);
        if (follows(reader) && !is_standard_input(reader) && !source_is_plain(reader->source))
            return packed(reader);
        if (bytes > 0) {
            reader->end += (size_t)bytes;
            reader->counters.text_bytes += (uint64_t)bytes;
            return INSPECT_RECORD;
        }
        if (!follows(reader) || reader->replaced) return INSPECT_END;
        if (!look_at_file(reader)) return is_standard_input(reader) ? INSPECT_END : INSPECT_PAUSE;
    }
}

/* What stands behind the last newline is the file's last line. Compressed data that is cut is told
 * of even if the cut happens to be between two lines. */
static bool finish_file(struct inspect_reader *reader, struct inspect_record *record)
{
    char *line = reader->text + reader->at;
    size_t length = reader->end - reader->at;
    uint64_t *cut_lines = &reader->counters.cut_lines, cut_before = *cut_lines;
    bool found = false;
    reader->ended = true;
    reader->at = reader->end;
    if (length > 0 && !reader->skipping) found = scan_line(reader, line, length, LAST, record);
    if (source_is_cut(reader->source) && *cut_lines == cut_before) (*cut_lines)++;
    return found;
}

enum inspect_step inspect_reader_next(struct inspect_reader *reader, struct inspect_record *record)
{
    for (;;) {
        char *line;
        size_t length;
        if (reader->ended) close_file(reader);
        enum inspect_step step = reader->source ? INSPECT_RECORD : open_file(reader);
        if (step != INSPECT_RECORD) return step;
        while (take_line(reader, &line, &length)) {
            if (scan_line(reader, line, length, WITHIN, record)) return INSPECT_RECORD;
        }
        step = fill(reader);
        if (step == INSPECT_PAUSE || step == INSPECT_FAILED) return step;
        if (step == INSPECT_END && finish_file(reader, record)) return INSPECT_RECORD;
    }
}

void inspect_reader_wait(struct inspect_reader *reader, int timeout_ms)
{
    if (!reader->source || !is_standard_input(reader)) {
        watch_wait(&reader->watch, path_now(reader), timeout_ms);
        return;
    }
    struct pollfd poll_fd = {.fd = source_fd(reader->source), .events = POLLIN};
    (void)poll(&poll_fd, 1, timeout_ms);
}
