/* source.h: the bytes of one file or pipe, taken out of gzip or zstd where they are in it.
 *
 * The kind is told by the first bytes, not by the name, so that a pipe may be compressed too.
 * Several members or frames follow each other as one text. Thread rule: one thread a source.
 */
#ifndef INSPECT_SOURCE_H
#define INSPECT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct source;

/* "-" is standard input. NULL with errno set. */
struct source *source_open(const char *path);
void source_close(struct source *source);
/* Text, at most `room` bytes; 0: no more just now; -1 with errno set: cannot be read. Reading may
 * go on after 0, when a plain file has grown. */
ssize_t source_read(struct source *source, char *text, size_t room);
/* Descriptor for poll and stat; stays the source's. */
int source_fd(const struct source *source);
bool source_is_plain(const struct source *source);
/* Bytes read from the file so far. */
uint64_t source_position(const struct source *source);
/* Begins anew at the file's start, in whatever form it has now: it was truncated. */
void source_rewind(struct source *source);
/* The compressed data ended within a member, or was damaged there. */
bool source_is_cut(const struct source *source);
/* Bytes that were left because they are no compressed data: behind damage, or at the end. */
uint64_t source_unread(const struct source *source);

#endif
