/* reader.c: files, pipes, gzip and zstd as lines; what is cut, too long or damaged is counted. */
#include "test.h"

#include "base/check.h"
#include "inspect/reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define LINE_MAX_BYTES (64 * 1024)
#define EVENT(id)                                                                                  \
    "{\"operationId\":\"" id "\",\"attempt\":1,\"decision\":\"return\",\"status\":200}"

static char folder[] = "/tmp/belay-reader-XXXXXX";
static char path_a[64], path_b[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    (void)snprintf(path_a, sizeof path_a, "%s/a", folder);
    (void)snprintf(path_b, sizeof path_b, "%s/b", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path_a);
    (void)unlink(path_b);
    return rmdir(folder);
}

static void write_file(const char *path, const void *data, size_t length, int flags)
{
    int fd = open(path, O_WRONLY | O_CREAT | flags, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, length), length);
    assert_int_equal(close(fd), 0);
}

static void put(const char *path, const char *text)
{
    write_file(path, text, strlen(text), O_TRUNC);
}

static void append(const char *path, const char *text)
{
    write_file(path, text, strlen(text), O_APPEND);
}

/* Ids of the records up to the next step that is none, joined by spaces. */
static enum inspect_step ids(struct inspect_reader *reader, char *out, size_t room)
{
    struct inspect_record record;
    enum inspect_step step;
    size_t used = 0;
    out[0] = '\0';
    while ((step = inspect_reader_next(reader, &record)) == INSPECT_RECORD) {
        used += (size_t)snprintf(out + used, room - used, "%s%.*s", used ? " " : "",
                                 (int)record.operation_id.length, record.operation_id.data);
        assert_true(used < room);
    }
    return step;
}

static struct inspect_reading read_all(const char *const *paths, size_t count, const char *expected)
{
    char seen[1024];
    struct inspect_reader *reader = inspect_reader_create(paths, count, false, LINE_MAX_BYTES);
    assert_non_null(reader);
    enum inspect_step step = ids(reader, seen, sizeof seen);
    if (step == INSPECT_FAILED) print_error("%s\n", inspect_reader_error(reader));
    assert_int_equal(step, INSPECT_END);
    assert_string_equal(seen, expected);
    struct inspect_reading counters = *inspect_reader_counters(reader);
    inspect_reader_destroy(reader);
    return counters;
}

static struct inspect_reading read_a(const char *expected)
{
    const char *const paths[] = {path_a};
    return read_all(paths, 1, expected);
}

static void plain_files(void **state)
{
    (void)state;
    put(path_a, EVENT("a") "\r\nhello\n\n" EVENT("b") "\n{\"operationId\":\"x\",\"attempt\":}\n");
    put(path_b, EVENT("c"));
    const char *const paths[] = {path_a, path_b};
    struct inspect_reading c = read_all(paths, 2, "a b c");
    assert_int_equal(c.lines, 6);
    assert_int_equal(c.other_lines, 1);
    assert_int_equal(c.junk_lines, 1);
    assert_int_equal(c.cut_lines, 0);
    assert_false(c.cut_start);
    assert_true(c.bytes > 0);
    assert_int_equal(c.bytes, c.bytes_total);
    assert_int_equal(c.bytes, c.text_bytes);
}

static void line_numbers(void **state)
{
    (void)state;
    put(path_a, "x\n\n" EVENT("a") "\n");
    const char *const paths[] = {path_a};
    struct inspect_record record;
    struct inspect_reader *reader = inspect_reader_create(paths, 1, false, LINE_MAX_BYTES);
    assert_non_null(reader);
    assert_int_equal(inspect_reader_next(reader, &record), INSPECT_RECORD);
    assert_int_equal(record.line, 3);
    assert_int_equal(inspect_reader_next(reader, &record), INSPECT_END);
    assert_int_equal(inspect_reader_next(reader, &record), INSPECT_END);
    inspect_reader_destroy(reader);
}

static void empty_and_missing(void **state)
{
    (void)state;
    put(path_a, "");
    struct inspect_reading c = read_a("");
    assert_int_equal(c.lines, 0);
    const char *const paths[] = {path_a, "/nonexistent/x", folder};
    struct inspect_record record;
    struct inspect_reader *reader = inspect_reader_create(paths, 2, false, LINE_MAX_BYTES);
    assert_non_null(reader);
    assert_int_equal(inspect_reader_next(reader, &record), INSPECT_FAILED);
    assert_non_null(strstr(inspect_reader_error(reader), "/nonexistent/x: No such file"));
    assert_int_equal(inspect_reader_counters(reader)->bytes_total, 0);
    inspect_reader_destroy(reader);
    reader = inspect_reader_create(paths + 2, 1, false, LINE_MAX_BYTES);
    assert_non_null(reader);
    assert_int_equal(inspect_reader_next(reader, &record), INSPECT_FAILED);
    assert_non_null(strstr(inspect_reader_error(reader), "directory"));
    inspect_reader_destroy(reader);
}

/* Cut at each byte of the first and of the last line: counted once, and nothing else is lost. */
static void cut_files(void **state)
{
    (void)state;
    static const char LINE[] = EVENT("a") "\n";
    char text[512];
    for (size_t cut = 1; cut < sizeof LINE - 2; cut++) {
        (void)snprintf(text, sizeof text, "%s%s", LINE + cut, EVENT("b") "\n");
        put(path_a, text);
        struct inspect_reading c = read_a("b");
        assert_true(c.cut_start);
        assert_int_equal(c.cut_lines, 1);
        assert_int_equal(c.junk_lines + c.other_lines, 0);
        (void)snprintf(text, sizeof text, "%s%.*s", EVENT("b") "\n", (int)cut, LINE);
        put(path_a, text);
        c = read_a("b");
        assert_false(c.cut_start);
        assert_int_equal(c.cut_lines, 1);
        assert_int_equal(c.junk_lines + c.other_lines, 0);
    }
}

/* A line of every length around the limit, and one that is much longer than all buffers. */
static void long_lines(void **state)
{
    (void)state;
    size_t longest = 3 * 1024 * 1024;
    char *text = malloc(longest + 1024);
    assert_non_null(text);
    size_t lengths[] = {LINE_MAX_BYTES - 1, LINE_MAX_BYTES, LINE_MAX_BYTES + 1, longest};
    for (size_t i = 0; i < 4; i++) {
        memset(text, ' ', lengths[i]);
        memcpy(text, EVENT("a"), sizeof EVENT("a") - 1);
        size_t length = lengths[i];
        length += (size_t)snprintf(text + length, 1024, "\n%s\n", EVENT("b"));
        write_file(path_a, text, length, O_TRUNC);
        struct inspect_reading c = read_a(i < 2 ? "a b" : "b");
        assert_int_equal(c.long_lines, i < 2 ? 0 : 1);
        assert_int_equal(c.lines, 2);
        write_file(path_a, text, lengths[i], O_TRUNC); /* without the newline */
        c = read_a(i < 2 ? "a" : "");
        assert_int_equal(c.long_lines, i < 2 ? 0 : 1);
        assert_int_equal(c.lines, 1);
    }
    free(text);
}

/* ---- compressed ---- */

static size_t gzip(const char *text, char *out, size_t room)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)text, .avail_in = (uInt)strlen(text)};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t length = room - z.avail_out;
    assert_int_equal(deflateEnd(&z), Z_OK);
    return length;
}

static size_t zstd(const char *text, char *out, size_t room)
{
    size_t length = ZSTD_compress(out, room, text, strlen(text), 3);
    assert_false(ZSTD_isError(length));
    return length;
}

static size_t (*const COMPRESS[])(const char *, char *, size_t) = {gzip, zstd};

static void compressed_members(void **state)
{
    (void)state;
    for (size_t form = 0; form < 2; form++) {
        char data[1024];
        size_t length = COMPRESS[form](EVENT("a") "\n{\"operationId\":\"b\",", data, sizeof data);
        length += COMPRESS[form]("", data + length, sizeof data - length);
        length +=
            COMPRESS[form]("\"attempt\":1}\n" EVENT("c"), data + length, sizeof data - length);
        write_file(path_a, data, length, O_TRUNC);
        struct inspect_reading c = read_a("a b c");
        assert_int_equal(c.bytes, length);
        assert_true(c.text_bytes > 100);
        assert_int_equal(c.unread_bytes + c.cut_lines, 0);
        memset(data + length, 0, 9);
        write_file(path_a, data, length + 9, O_TRUNC);
        assert_int_equal(read_a("a b c").unread_bytes, 0);
        memcpy(data + length, "garbage", 7);
        write_file(path_a, data, length + 7, O_TRUNC);
        assert_int_equal(read_a("a b c").unread_bytes, 7);
    }
}

/* Cut at every byte, and each byte changed: what can be read is, and nothing crashes. */
static void damaged_members(void **state)
{
    (void)state;
    for (size_t form = 0; form < 2; form++) {
        char data[1024], changed[1024], seen[256];
        size_t length = COMPRESS[form](EVENT("a") "\n" EVENT("b") "\n", data, sizeof data);
        const char *const paths[] = {path_a};
        for (size_t at = 0; at < 2 * length; at++) {
            memcpy(changed, data, length);
            if (at >= length) changed[at - length] ^= 0x55;
            write_file(path_a, changed, at < length ? at : length, O_TRUNC);
            struct inspect_reader *reader = inspect_reader_create(paths, 1, false, LINE_MAX_BYTES);
            assert_non_null(reader);
            assert_int_equal(ids(reader, seen, sizeof seen), INSPECT_END);
            const struct inspect_reading *c = inspect_reader_counters(reader);
            bool told = c->cut_lines + c->unread_bytes + c->junk_lines + c->other_lines > 0;
            if (at < length && at > 4) assert_true(told);
            inspect_reader_destroy(reader);
        }
    }
}

/* Compressed bytes that come through a pipe one by one. */
static void from_a_pipe(void **state)
{
    (void)state;
    for (size_t form = 0; form < 3; form++) {
        char data[1024];
        size_t length;
        int ends[2], saved = dup(0);
        if (form < 2) {
            length = COMPRESS[form](EVENT("a") "\n" EVENT("b"), data, sizeof data);
        } else {
            length = (size_t)snprintf(data, sizeof data, "%s", EVENT("a") "\n" EVENT("b"));
        }
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], data, length), length);
        assert_int_equal(close(ends[1]), 0);
        assert_int_equal(dup2(ends[0], 0), 0);
        assert_int_equal(close(ends[0]), 0);
        const char *const paths[] = {"-"};
        struct inspect_reading c = read_all(paths, 1, "a b");
        assert_int_equal(c.bytes_total, 0);
        assert_int_equal(dup2(saved, 0), 0);
        assert_int_equal(close(saved), 0);
    }
}

/* ---- follow ---- */

static void expect_pause(struct inspect_reader *reader, const char *expected)
{
    char seen[256];
    assert_int_equal(ids(reader, seen, sizeof seen), INSPECT_PAUSE);
    assert_string_equal(seen, expected);
}

static void follow_a_file(void **state)
{
    (void)state;
    const char *const paths[] = {path_b, path_a};
    put(path_b, EVENT("z") "\n");
    put(path_a, EVENT("a") "\n{\"operationId\":\"b\",");
    struct inspect_reader *reader = inspect_reader_create(paths, 2, true, LINE_MAX_BYTES);
    assert_non_null(reader);
    expect_pause(reader, "z a");
    expect_pause(reader, "");
    append(path_a, "\"attempt\":1}\n");
    expect_pause(reader, "b");
    put(path_a, EVENT("c") "\n"); /* truncated; now shorter than what was read */
    expect_pause(reader, "c");
    append(path_a, EVENT("d") "\n" EVENT("e")); /* the last line has no newline yet */
    assert_int_equal(unlink(path_b), 0);
    assert_int_equal(rename(path_a, path_b), 0);
    expect_pause(reader, "d"); /* no file has the name now */
    put(path_a, EVENT("f") "\n");
    expect_pause(reader, "e f");
    inspect_reader_wait(reader, 10000); /* begins to watch, returns at once */
    append(path_a, EVENT("g") "\n");
    inspect_reader_wait(reader, 10000); /* ... and early, since something has changed */
    expect_pause(reader, "g");
    assert_int_equal(inspect_reader_counters(reader)->cut_lines, 0);
    inspect_reader_destroy(reader);
}

static void expect_refusal(struct inspect_reader *reader)
{
    struct inspect_record record;
    assert_int_equal(inspect_reader_next(reader, &record), INSPECT_FAILED);
    assert_non_null(strstr(inspect_reader_error(reader), "packed"));
}

static void follow_a_packed_file(void **state)
{
    (void)state;
    const char *const paths[] = {path_a};
    char packed[512];
    for (size_t i = 0; i < COUNT(COMPRESS); i++) {
        size_t bytes = COMPRESS[i](EVENT("a") "\n", packed, sizeof packed);
        write_file(path_a, packed, bytes, O_TRUNC);
        struct inspect_reader *reader = inspect_reader_create(paths, 1, true, LINE_MAX_BYTES);
        assert_non_null(reader);
        expect_refusal(reader);
        inspect_reader_destroy(reader);
        /* It became one in place. */
        put(path_a, EVENT("a-much-longer-name-than-a-packed-file-has-bytes-in-it") "\n" EVENT(
                        "b") "\n" EVENT("c") "\n");
        reader = inspect_reader_create(paths, 1, true, LINE_MAX_BYTES);
        assert_non_null(reader);
        expect_pause(reader, "a-much-longer-name-than-a-packed-file-has-bytes-in-it b c");
        write_file(path_a, packed, bytes, O_TRUNC);
        expect_refusal(reader);
        inspect_reader_destroy(reader);
    }
}

static void follow_a_pipe(void **state)
{
    (void)state;
    int ends[2], saved = dup(0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], 0), 0);
    assert_int_equal(close(ends[0]), 0);
    const char *const paths[] = {"-"};
    char seen[64];
    struct inspect_reader *reader = inspect_reader_create(paths, 1, true, LINE_MAX_BYTES);
    assert_non_null(reader);
    expect_pause(reader, "");
    assert_int_equal(write(ends[1], EVENT("a") "\n", sizeof EVENT("a")), sizeof EVENT("a"));
    inspect_reader_wait(reader, 10000);
    expect_pause(reader, "a");
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(ids(reader, seen, sizeof seen), INSPECT_END);
    inspect_reader_destroy(reader);
    assert_int_equal(dup2(saved, 0), 0);
    assert_int_equal(close(saved), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_files),          cmocka_unit_test(line_numbers),
        cmocka_unit_test(empty_and_missing),    cmocka_unit_test(cut_files),
        cmocka_unit_test(long_lines),           cmocka_unit_test(compressed_members),
        cmocka_unit_test(damaged_members),      cmocka_unit_test(from_a_pipe),
        cmocka_unit_test(follow_a_file),        cmocka_unit_test(follow_a_pipe),
        cmocka_unit_test(follow_a_packed_file),
    };
    return cmocka_run_group_tests_name("reader", tests, make_folder, remove_folder);
}
