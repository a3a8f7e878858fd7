/* source.c: plain, gzip and zstd bytes of one file or pipe (source.h). */
#include "inspect/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define STORED_BYTES (256 * 1024)
#define MAGIC_BYTES 4

enum form { FORM_UNKNOWN, FORM_PLAIN, FORM_GZIP, FORM_ZSTD };

struct source {
    int fd;
    enum form form;
    bool within; /* a member or frame has begun and not ended */
    bool cut, done;
    uint64_t position, unread;
    z_stream gzip;
    ZSTD_DStream *zstd;
    size_t at, end; /* of what is stored and not used yet */
    unsigned char stored[STORED_BYTES];
};

struct source *source_open(const char *path)
{
    struct source *source = calloc(1, sizeof *source);
    if (!source) return NULL;
    bool standard = strcmp(path, "-") == 0;
    source->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                          : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (source->fd >= 0) return source;
    int error = errno;
    free(source);
    errno = error;
    return NULL;
}

static void release(struct source *source)
{
    if (source->form == FORM_GZIP) (void)inflateEnd(&source->gzip);
    (void)ZSTD_freeDStream(source->zstd);
    source->zstd = NULL;
}

void source_close(struct source *source)
{
    if (!source) return;
    release(source);
    (void)close(source->fd);
    free(source);
}

int source_fd(const struct source *source)
{
    return source->fd;
}

bool source_is_plain(const struct source *source)
{
    return source->form == FORM_PLAIN || source->form == FORM_UNKNOWN;
}

uint64_t source_position(const struct source *source)
{
    return source->position;
}

bool source_is_cut(const struct source *source)
{
    return source->cut;
}

uint64_t source_unread(const struct source *source)
{
    return source->unread;
}

void source_rewind(struct source *source)
{
    if (lseek(source->fd, 0, SEEK_SET) != 0) return;
    release(source);
    source->form = FORM_UNKNOWN;
    source->within = source->cut = source->done = false;
    source->position = 0;
    source->at = source->end = 0;
}

static ssize_t read_some(struct source *source, void *into, size_t room)
{
    ssize_t bytes;
    do bytes = read(source->fd, into, room);
    while (bytes < 0 && errno == EINTR);
    if (bytes > 0) source->position += (uint64_t)bytes;
    return bytes;
}

/* More of the file behind what is stored; 0 at its end. */
static ssize_t store_more(struct source *source)
{
    if (source->at == source->end) source->at = source->end = 0;
    ssize_t bytes = read_some(source, source->stored + source->end, STORED_BYTES - source->end);
    if (bytes > 0) source->end += (size_t)bytes;
    return bytes;
}

static bool is_zstd(const unsigned char *magic)
{
    static const unsigned char FRAME[] = {0x28, 0xb5, 0x2f, 0xfd};
    static const unsigned char SKIPPABLE[] = {0x2a, 0x4d, 0x18};
    return memcmp(magic, FRAME, sizeof FRAME) == 0 ||
           ((magic[0] & 0xf0) == 0x50 && memcmp(magic + 1, SKIPPABLE, sizeof SKIPPABLE) == 0);
}

static bool is_gzip(const unsigned char *magic)
{
    return magic[0] == 0x1f && magic[1] == 0x8b && magic[2] == 8;
}

/* Reads as far as it takes to know the form. -1: cannot be read, or no memory. */
static int find_form(struct source *source)
{
    while (source->end < MAGIC_BYTES) {
        ssize_t bytes = store_more(source);
        if (bytes < 0) return -1;
        if (bytes == 0) break;
    }
    bool enough = source->end >= MAGIC_BYTES;
    if (enough && is_gzip(source->stored)) {
        if (inflateInit2(&source->gzip, 15 + 16) != Z_OK) {
            errno = ENOMEM;
            return -1;
        }
        source->form = FORM_GZIP;
    } else if (enough && is_zstd(source->stored)) {
        source->zstd = ZSTD_createDStream();
        if (!source->zstd) {
            errno = ENOMEM;
            return -1;
        }
        source->form = FORM_ZSTD;
    } else if (source->end > 0) {
        source->form = FORM_PLAIN;
    }
    return 0;
}

static ssize_t read_plain(struct source *source, char *text, size_t room)
{
    size_t left = source->end - source->at;
    if (left == 0) return read_some(source, text, room);
    if (left > room) left = room;
    memcpy(text, source->stored + source->at, left);
    source->at += left;
    return (ssize_t)left;
}

/* The rest is no compressed data: counted to the file's end. Padding with zeros is usual on tapes
 * and says nothing. */
static int leave_rest(struct source *source)
{
    ssize_t bytes;
    bool zeros = true;
    uint64_t rest = 0;
    do {
        for (; source->at < source->end; source->at++, rest++) {
            zeros &= source->stored[source->at] == 0;
        }
        bytes = store_more(source);
    } while (bytes > 0);
    source->done = true;
    if (!zeros) source->unread += rest;
    return bytes < 0 ? -1 : 0;
}

static bool next_is_member(const struct source *source)
{
    size_t left = source->end - source->at;
    const unsigned char *at = source->stored + source->at;
    return source->form == FORM_GZIP ? left >= 3 && is_gzip(at)
                                     : left >= MAGIC_BYTES && is_zstd(at);
}

/* Between two members there must be enough of the next to know it. -1: cannot be read; 0: there is
 * none. */
static int begin_member(struct source *source)
{
    while (source->end - source->at < MAGIC_BYTES) {
        memmove(source->stored, source->stored + source->at, source->end - source->at);
        source->end -= source->at;
        source->at = 0;
        ssize_t bytes = store_more(source);
        if (bytes < 0) return -1;
        if (bytes == 0) break;
    }
    if (!next_is_member(source)) return leave_rest(source);
    if (source->form == FORM_GZIP) (void)inflateReset(&source->gzip);
    source->within = true;
    return 1;
}

/* One step of the decompressor: text bytes, which may be none; sets `damaged`. */
static size_t inflate_step(struct source *source, char *text, size_t room, bool *damaged)
{
    z_stream *z = &source->gzip;
    z->next_in = source->stored + source->at;
    z->avail_in = (uInt)(source->end - source->at);
    z->next_out = (unsigned char *)text;
    z->avail_out = (uInt)room;
    int result = inflate(z, Z_NO_FLUSH);
    source->at = source->end - z->avail_in;
    if (result == Z_STREAM_END) source->within = false;
    *damaged = result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR;
    return room - z->avail_out;
}

static size_t zstd_step(struct source *source, char *text, size_t room, bool *damaged)
{
    ZSTD_inBuffer in = {source->stored, source->end, source->at};
    ZSTD_outBuffer out = {text, room, 0};
    size_t result = ZSTD_decompressStream(source->zstd, &out, &in);
    source->at = in.pos;
    *damaged = ZSTD_isError(result) != 0;
    if (result == 0) source->within = false;
    return out.pos;
}

static ssize_t read_compressed(struct source *source, char *text, size_t room)
{
    if (room > INT32_MAX) room = INT32_MAX;
    while (!source->done) {
        bool damaged = false;
        if (!source->within) {
            int begun = begin_member(source);
            if (begun <= 0) return begun;
        }
        size_t bytes = source->form == FORM_GZIP ? inflate_step(source, text, room, &damaged)
                                                 : zstd_step(source, text, room, &damaged);
        if (damaged) {
            source->cut = true;
            if (leave_rest(source) != 0) return -1;
        }
        if (bytes > 0) return (ssize_t)bytes;
        if (damaged || !source->within || source->at < source->end) continue;
        ssize_t more = store_more(source);
        if (more < 0) return -1;
        if (more == 0) source->cut = source->done = true;
    }
    return 0;
}

ssize_t source_read(struct source *source, char *text, size_t room)
{
    if (source->form == FORM_UNKNOWN && find_form(source) != 0) return -1;
    if (source_is_plain(source)) return read_plain(source, text, room);
    return read_compressed(source, text, room);
}
