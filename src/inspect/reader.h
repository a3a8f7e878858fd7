/* reader.h: lines of a log from files, pipes, gzip and zstd, and the record that stands in a line.
 *
 * A record is found wherever a line carries one: the line itself, text before the `{`, a field of a
 * wrapping object (as an object, or as a string that holds JSON). Lines longer than `line_max` are
 * skipped and counted. Thread rule: one thread a reader.
 */
#ifndef INSPECT_READER_H
#define INSPECT_READER_H

#include "inspect/record.h"

struct inspect_reader;

enum inspect_step {
    INSPECT_RECORD, /* *record is filled */
    INSPECT_PAUSE,  /* follow: nothing more just now; inspect_reader_wait, then ask again */
    INSPECT_END,
    INSPECT_FAILED, /* cannot be read on: inspect_reader_error says what and where */
};

struct inspect_reading {         /* counters so far */
    uint64_t bytes, bytes_total; /* as stored in the files; total 0: not known (a pipe) */
    uint64_t text_bytes;         /* the same after decompression */
    uint64_t lines, other_lines, junk_lines, cut_lines, long_lines, unread_bytes;
    uint64_t damaged_files; /* packed, and not all of it could be unpacked */
    bool cut_start;         /* the first line of the first file is no line's beginning */
};

/* Reads the files one after the other; "-" is standard input. With `follow` the last one is waited
 * for as it grows, is truncated, or is replaced (rotation); a packed file is refused there.
 * `paths` is borrowed until the reader is destroyed. NULL: no memory. */
struct inspect_reader *inspect_reader_create(const char *const *paths, size_t count, bool follow,
                                             size_t line_max);
void inspect_reader_destroy(struct inspect_reader *reader);
enum inspect_step inspect_reader_next(struct inspect_reader *reader, struct inspect_record *record);
void inspect_reader_wait(struct inspect_reader *reader, int timeout_ms);
const char *inspect_reader_error(const struct inspect_reader *reader);
const struct inspect_reading *inspect_reader_counters(const struct inspect_reader *reader);

/* One line in memory: the scanner that the reader uses. Escaped texts are unescaped in place, so
 * that the line's bytes are not what they were. False: no record in it. `junk` is set when
 * something that began like one of ours could not be read, or the line is binary. Fills all of the
 * record but `line`. */
bool inspect_scan(char *line, size_t length, struct inspect_record *record, bool *junk);

#endif
