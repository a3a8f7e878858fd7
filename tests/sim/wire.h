/* wire.h: HTTP/1.1 as the scripted origin and caller read it: small, apart from src/http1, so that
 * it can judge it.
 *
 * A body's bytes follow from its seed: each side proves that it got what the other sent
 * (X-Body-Seed, X-Body-Length).
 */
#ifndef TESTS_SIM_WIRE_H
#define TESTS_SIM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_HEAD_BYTES_MAX 4096

enum wire_framing { WIRE_NO_BODY, WIRE_LENGTH, WIRE_CHUNKED, WIRE_UNTIL_CLOSE };
enum wire_step { WIRE_MORE, WIRE_HEAD, WIRE_DONE, WIRE_BAD };

struct wire {
    bool answer, to_head; /* what is read; to_head: the answer is to a HEAD request */
    char head[WIRE_HEAD_BYTES_MAX];
    size_t head_length;
    bool has_head;
    int status;
    enum wire_framing framing;
    uint64_t left;
    uint64_t body_bytes;
    uint64_t seed, body_length;
    bool has_seed, body_right, keep_alive;
    int chunk_state;
    char line[32];
    size_t line_length;
};

void wire_init(struct wire *wire, bool answer, bool to_head);
/* Reads on; *used of the bytes belong to the message. HEAD: the head is there, feed the rest. DONE:
 * it is whole. */
enum wire_step wire_feed(struct wire *wire, const char *bytes, size_t count, size_t *used);
/* The peer ended: was that the proper end of the message? */
bool wire_ends_with_close(const struct wire *wire);
/* The field's value, or "" in `out`. */
bool wire_field(const struct wire *wire, const char *name, char *out, size_t room);
/* The body was declared with a seed, and every byte and the length were right. */
bool wire_body_is_right(const struct wire *wire);
void wire_fill(char *out, uint64_t seed, uint64_t offset, size_t count);

#endif
