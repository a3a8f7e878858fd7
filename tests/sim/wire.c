/* wire.c: reads a message byte for byte, the simplest way that is right (wire.h). */
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CHUNK_LINE, CHUNK_DATA, CHUNK_AFTER, CHUNK_TRAILER };

void wire_init(struct wire *wire, bool answer, bool to_head)
{
    wire->answer = answer;
    wire->to_head = to_head;
    wire->head_length = wire->line_length = 0;
    wire->has_head = wire->has_seed = false;
    wire->status = 0;
    wire->framing = WIRE_NO_BODY;
    wire->left = wire->body_bytes = wire->seed = wire->body_length = 0;
    wire->body_right = wire->keep_alive = true;
    wire->chunk_state = CHUNK_LINE;
}

static char body_byte(uint64_t seed, uint64_t offset)
{
    return (char)('a' + (seed * 7 + offset * 31 + offset / 251) % 26);
}

void wire_fill(char *out, uint64_t seed, uint64_t offset, size_t count)
{
    for (size_t i = 0; i < count; i++) out[i] = body_byte(seed, offset + i);
}

bool wire_field(const struct wire *wire, const char *name, char *out, size_t room)
{
    size_t length = strlen(name);
    out[0] = '\0';
    for (const char *line = wire->head; line && *line;
         line = strstr(line, "\r\n") ? strstr(line, "\r\n") + 2 : NULL) {
        if (strncasecmp(line, name, length) != 0 || line[length] != ':') continue;
        const char *value = line + length + 1;
        while (*value == ' ') value++;
        snprintf(out, room, "%.*s", (int)strcspn(value, "\r"), value);
        return true;
    }
    return false;
}

static bool read_head(struct wire *wire)
{
    char value[64];
    wire->head[wire->head_length] = '\0';
    if (wire->answer) {
        if (sscanf(wire->head, "HTTP/1.%*1[01] %d ", &wire->status) != 1) return false;
    } else if (!strstr(wire->head, " HTTP/1.")) {
        return false;
    }
    wire->has_seed = wire_field(wire, "X-Body-Seed", value, sizeof(value));
    wire->seed = strtoull(value, NULL, 10);
    (void)wire_field(wire, "X-Body-Length", value, sizeof(value));
    wire->body_length = strtoull(value, NULL, 10);
    if (wire_field(wire, "Connection", value, sizeof(value)))
        wire->keep_alive = strcasecmp(value, "close") != 0;
    if (wire_field(wire, "Transfer-Encoding", value, sizeof(value))) {
        wire->framing = WIRE_CHUNKED;
    } else if (wire_field(wire, "Content-Length", value, sizeof(value))) {
        wire->framing = WIRE_LENGTH;
        wire->left = strtoull(value, NULL, 10);
    } else {
        wire->framing = wire->answer ? WIRE_UNTIL_CLOSE : WIRE_NO_BODY;
    }
    bool never = wire->to_head || wire->status == 204 || wire->status == 304;
    if (wire->answer && never) wire->framing = WIRE_NO_BODY;
    if (wire->framing == WIRE_LENGTH && wire->left == 0) wire->framing = WIRE_NO_BODY;
    wire->has_head = true;
    return true;
}

static enum wire_step feed_head(struct wire *wire, char byte)
{
    if (wire->head_length + 1 >= sizeof(wire->head)) return WIRE_BAD;
    wire->head[wire->head_length++] = byte;
    if (wire->head_length < 4 || memcmp(wire->head + wire->head_length - 4, "\r\n\r\n", 4) != 0)
        return WIRE_MORE;
    if (!read_head(wire)) return WIRE_BAD;
    if (wire->answer && wire->status >= 100 && wire->status < 200) {
        wire_init(wire, true, wire->to_head);
        return WIRE_MORE;
    }
    return WIRE_HEAD;
}

static void take_body_byte(struct wire *wire, char byte)
{
    if (wire->has_seed && byte != body_byte(wire->seed, wire->body_bytes)) wire->body_right = false;
    wire->body_bytes++;
}

static enum wire_step feed_chunk_line(struct wire *wire, char byte)
{
    if (wire->line_length + 1 >= sizeof(wire->line)) return WIRE_BAD;
    wire->line[wire->line_length++] = byte;
    if (byte != '\n') return WIRE_MORE;
    wire->line[wire->line_length] = '\0';
    wire->line_length = 0;
    bool empty = strcmp(wire->line, "\r\n") == 0;
    if (wire->chunk_state == CHUNK_TRAILER) return empty ? WIRE_DONE : WIRE_MORE;
    if (wire->chunk_state == CHUNK_AFTER) {
        wire->chunk_state = CHUNK_LINE;
        return empty ? WIRE_MORE : WIRE_BAD;
    }
    char *end;
    wire->left = strtoull(wire->line, &end, 16);
    if (end == wire->line || (*end != '\r' && *end != ';')) return WIRE_BAD;
    wire->chunk_state = wire->left > 0 ? CHUNK_DATA : CHUNK_TRAILER;
    return WIRE_MORE;
}

static enum wire_step feed_body(struct wire *wire, char byte)
{
    if (wire->framing == WIRE_CHUNKED && wire->chunk_state != CHUNK_DATA)
        return feed_chunk_line(wire, byte);
    take_body_byte(wire, byte);
    if (wire->framing == WIRE_UNTIL_CLOSE || --wire->left > 0) return WIRE_MORE;
    if (wire->framing == WIRE_LENGTH) return WIRE_DONE;
    wire->chunk_state = CHUNK_AFTER;
    return WIRE_MORE;
}

enum wire_step wire_feed(struct wire *wire, const char *bytes, size_t count, size_t *used)
{
    for (*used = 0; *used < count;) {
        bool in_head = !wire->has_head;
        char byte = bytes[(*used)++];
        enum wire_step step = in_head ? feed_head(wire, byte) : feed_body(wire, byte);
        if (step == WIRE_HEAD && wire->framing == WIRE_NO_BODY) return WIRE_DONE;
        if (step != WIRE_MORE) return step;
    }
    return WIRE_MORE;
}

bool wire_ends_with_close(const struct wire *wire)
{
    return wire->has_head && wire->framing == WIRE_UNTIL_CLOSE;
}

bool wire_body_is_right(const struct wire *wire)
{
    bool bodiless = wire->answer && (wire->to_head || wire->status == 204 || wire->status == 304);
    return wire->has_seed && wire->body_right &&
           (bodiless || wire->body_bytes == wire->body_length);
}
