/* shape.c: reads YAML within limits, before anything in it is looked at (shape.h). */
#include "conf/shape.h"

#define DEPTH_MAX 16
#define NODES_MAX 100000
#define ANCHORS_MAX 256 /* the library searches them one by one */

static struct position position_of_byte(struct belay_slice text, size_t offset)
{
    struct position at = {1, 1};
    for (size_t i = 0; i < offset && i < text.length; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '\n') {
            at.line++;
            at.column = 1;
        } else if ((c & 0xc0) != 0x80) {
            at.column++;
        }
    }
    return at;
}

static struct position position_of_mark(yaml_mark_t mark)
{
    return (struct position){(int)mark.line + 1, (int)mark.column + 1};
}

/* The three mistakes that everybody makes once. Inside { } or [ ] the brace of /orders/{id} opens a
 * mapping; the bracket of [::1]:8080 opens a list, wherever it is. */
static const char *hint(struct belay_slice text, yaml_mark_t mark)
{
    size_t characters = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (((unsigned char)text.data[i] & 0xc0) == 0x80) continue;
        if (characters++ < mark.index) continue;
        if (text.data[i] == '\t') return "; YAML is indented with blanks, not with tabs";
        bool two_colons = i + 1 < text.length && text.data[i + 1] == ':';
        if (text.data[i] == ':' && (two_colons || (i > 0 && text.data[i - 1] == ']')))
            return "; an IPv6 address stands in quotes, such as \"[::1]:8080\"";
        bool in_path = text.data[i] == '{' && i > 0 && text.data[i - 1] == '/';
        return in_path ? "; inside { } or [ ] a path with braces stands in quotes, such as "
                         "\"/orders/{id}\""
                       : "";
    }
    return "";
}

static void tell(const yaml_parser_t *parser, struct belay_slice text, struct problems *problems,
                 bool *no_memory)
{
    if (parser->error == YAML_MEMORY_ERROR || !parser->problem) {
        *no_memory = true; /* the composer does not say so */
    } else if (parser->error == YAML_READER_ERROR) {
        problems_add(problems, position_of_byte(text, parser->problem_offset), "not UTF-8 text: %s",
                     parser->problem);
    } else if (parser->error == YAML_COMPOSER_ERROR && parser->context) {
        problems_add(problems, position_of_mark(parser->problem_mark),
                     "not YAML: this anchor was given before");
    } else {
        problems_add(problems, position_of_mark(parser->problem_mark), "not YAML: %s%s%s%s",
                     parser->problem, parser->context ? " " : "",
                     parser->context ? parser->context : "", hint(text, parser->problem_mark));
    }
}

static bool open_parser(yaml_parser_t *parser, struct belay_slice text)
{
    if (!yaml_parser_initialize(parser)) return false;
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(parser, (const unsigned char *)(text.data ? text.data : ""),
                                 text.length);
    return true;
}

struct shape {
    size_t nodes, anchors, depth, documents;
};

static bool has_anchor(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT: return event->data.scalar.anchor != NULL;
    case YAML_SEQUENCE_START_EVENT: return event->data.sequence_start.anchor != NULL;
    case YAML_MAPPING_START_EVENT: return event->data.mapping_start.anchor != NULL;
    default: return false;
    }
}

/* The limit that this event goes over; NULL: none. */
static const char *count(struct shape *shape, const yaml_event_t *event)
{
    bool opens =
        event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT;
    bool closes = event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT;
    bool is_leaf = event->type == YAML_SCALAR_EVENT || event->type == YAML_ALIAS_EVENT;
    if (opens) shape->depth++;
    if (closes) shape->depth--;
    if (opens || is_leaf) shape->nodes++;
    if (event->type == YAML_DOCUMENT_START_EVENT) shape->documents++;
    shape->anchors += has_anchor(event);
    if (shape->documents > 1) return "a configuration is one YAML document";
    if (shape->depth > DEPTH_MAX) return "nested more than 16 deep";
    if (shape->nodes > NODES_MAX) return "more than 100000 values";
    if (shape->anchors > ANCHORS_MAX) return "more than 256 anchors";
    return NULL;
}

static bool check(struct belay_slice text, struct problems *problems, bool *no_memory)
{
    yaml_parser_t parser;
    if (!open_parser(&parser, text)) {
        *no_memory = true;
        return false;
    }
    struct shape shape = {0};
    bool good = true, ended = false;
    while (good && !ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            tell(&parser, text, problems, no_memory);
            good = false;
            break;
        }
        const char *limit = count(&shape, &event);
        if (limit) {
            problems_add(problems, position_of_mark(event.start_mark), "%s", limit);
            good = false;
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    if (good && shape.documents == 0) {
        problems_add(problems, (struct position){1, 1},
                     "nothing is in this file; a configuration has targets and listeners");
        return false;
    }
    return good;
}

/* Some editors put a byte order mark in front of UTF-8. */
static struct belay_slice without_mark(struct belay_slice text)
{
    const struct belay_slice mark = belay_slice_z("\xef\xbb\xbf");
    bool has_mark = text.length >= mark.length && memcmp(text.data, mark.data, mark.length) == 0;
    return has_mark ? belay_slice(text.data + mark.length, text.length - mark.length) : text;
}

bool shape_load(yaml_document_t *document, struct belay_slice text, struct problems *problems,
                bool *no_memory)
{
    text = without_mark(text);
    if (!check(text, problems, no_memory)) return false;
    yaml_parser_t parser;
    if (!open_parser(&parser, text)) {
        *no_memory = true;
        return false;
    }
    bool good = yaml_parser_load(&parser, document);
    if (!good) tell(&parser, text, problems, no_memory);
    yaml_parser_delete(&parser);
    return good;
}
