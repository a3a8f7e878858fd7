/* locate.c: walks valid JSON along a path, to say where an error is (locate.h). */
#include "app/locate.h"

#include <stdlib.h>

struct cursor {
    const char *at, *end;
};

static void skip_blank(struct cursor *c)
{
    while (c->at < c->end && memchr(" \t\r\n", *c->at, 4)) c->at++;
}

static void skip_string(struct cursor *c)
{
    for (c->at++; c->at < c->end && *c->at != '"'; c->at++) {
        if (*c->at == '\\') c->at++;
    }
    c->at++;
}

/* A value of any kind, without recursion: brackets are counted, strings passed over. */
static void skip_value(struct cursor *c)
{
    size_t depth = 0;
    do {
        skip_blank(c);
        if (c->at >= c->end) return;
        if (*c->at == '"') {
            skip_string(c);
        } else if (*c->at == '{' || *c->at == '[') {
            depth++;
            c->at++;
        } else if (*c->at == '}' || *c->at == ']') {
            if (depth > 0) depth--;
            c->at++;
        } else {
            c->at++;
            if (depth > 0) continue;
            while (c->at < c->end && !memchr(",]} \t\r\n", *c->at, 7)) c->at++;
        }
    } while (depth > 0);
}

/* At the value behind the key, with *key_at where the key begins. */
static bool enter_member(struct cursor *c, struct belay_slice key, const char **key_at)
{
    skip_blank(c);
    if (c->at >= c->end || *c->at != '{') return false;
    c->at++;
    for (skip_blank(c); c->at < c->end && *c->at == '"'; skip_blank(c)) {
        const char *from = c->at;
        skip_string(c);
        bool found = belay_slice_equal(belay_slice(from + 1, (size_t)(c->at - from) - 2), key);
        skip_blank(c);
        c->at++;
        if (found) {
            *key_at = from;
            return true;
        }
        skip_value(c);
        skip_blank(c);
        if (c->at < c->end && *c->at == ',') c->at++;
    }
    return false;
}

static bool enter_element(struct cursor *c, unsigned long index, const char **element_at)
{
    skip_blank(c);
    if (c->at >= c->end || *c->at != '[') return false;
    c->at++;
    for (; index > 0; index--) {
        skip_value(c);
        skip_blank(c);
        if (c->at >= c->end || *c->at != ',') return false;
        c->at++;
    }
    skip_blank(c);
    *element_at = c->at;
    return true;
}

size_t locate(struct belay_slice text, const char *path)
{
    struct cursor c = {text.data, text.data + text.length};
    const char *found = text.data;
    while (*path) {
        if (*path == '.') path++;
        if (*path == '[') {
            char *rest;
            unsigned long index = strtoul(path + 1, &rest, 10);
            if (!enter_element(&c, index, &found)) break;
            path = *rest ? rest + 1 : rest;
        } else {
            size_t length = strcspn(path, ".[");
            if (!enter_member(&c, belay_slice(path, length), &found)) break;
            path += length;
        }
    }
    return *path ? 0 : (size_t)(found - text.data);
}
