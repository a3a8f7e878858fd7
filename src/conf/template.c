/* template.c: checks and compares path templates (template.h). */
#include "conf/template.h"
#include "base/text.h"

#define PATH_BYTES_MAX 1024

/* Takes the segment after a '/' off the front of `rest`; false at the end. */
static bool next_segment(struct belay_slice *rest, struct belay_slice *segment)
{
    if (rest->length == 0) return false;
    const char *start = rest->data + 1;
    size_t left = rest->length - 1;
    const char *end = memchr(start, '/', left);
    *segment = belay_slice(start, end ? (size_t)(end - start) : left);
    *rest = belay_slice(start + segment->length, left - segment->length);
    return true;
}

static bool is_name(struct belay_slice segment)
{
    return segment.length > 0 && segment.data[0] == '{';
}

static const char *name_fault(struct belay_slice segment)
{
    if (segment.length < 3 || segment.data[segment.length - 1] != '}') {
        return "a segment is either text or one name in braces, such as {id}";
    }
    for (size_t i = 1; i + 1 < segment.length; i++) {
        char c = segment.data[i];
        if (!char_is_letter_or_digit(c) && c != '_')
            return "a name in braces has letters, digits and _ only";
    }
    return NULL;
}

/* RFC 3986 3.3: what a path segment may hold. */
static const char *text_fault(struct belay_slice segment)
{
    if (belay_slice_equal(segment, belay_slice_z(".")) ||
        belay_slice_equal(segment, belay_slice_z(".."))) {
        return "a path has no . or .. segments";
    }
    for (size_t i = 0; i < segment.length; i++) {
        char c = segment.data[i];
        if (c == '{' || c == '}')
            return "a segment is either text or one name in braces, such as {id}";
        if (c == '?' || c == '#')
            return "a template is the path alone, without a query or a fragment";
        if (c == '%') {
            bool escaped = segment.length - i > 2 && char_hex(segment.data[i + 1]) >= 0 &&
                           char_hex(segment.data[i + 2]) >= 0;
            if (!escaped) return "a % in a path is followed by two hexadecimal digits";
            continue;
        }
        if (!char_is_letter_or_digit(c) && (c == '\0' || !strchr("-._~!$&'()*+,;=:@", c))) {
            return "a path has no blanks, control characters or bytes outside ASCII; escape them "
                   "with %";
        }
    }
    return NULL;
}

static bool repeats_name(struct belay_slice path, struct belay_slice until)
{
    struct belay_slice rest = path, segment;
    while (next_segment(&rest, &segment) && segment.data < until.data) {
        if (belay_slice_equal(segment, until)) return true;
    }
    return false;
}

const char *template_fault(struct belay_slice path)
{
    if (path.length == 0 || path.data[0] != '/')
        return "a path begins with /, such as /orders/{id}";
    if (path.length > PATH_BYTES_MAX) return "a path is at most 1024 bytes long";
    struct belay_slice rest = path, segment;
    while (next_segment(&rest, &segment)) {
        if (segment.length == 0 && rest.length > 0)
            return "a path has no empty segment but the last";
        const char *fault = is_name(segment) ? name_fault(segment) : text_fault(segment);
        if (fault) return fault;
        if (is_name(segment) && repeats_name(path, segment))
            return "a path names every segment differently";
    }
    return NULL;
}

bool template_covers(struct belay_slice earlier, struct belay_slice later)
{
    struct belay_slice a, b;
    while (earlier.length > 0 && later.length > 0) {
        (void)next_segment(&earlier, &a);
        (void)next_segment(&later, &b);
        bool covers = is_name(a) ? b.length > 0 : belay_slice_equal(a, b);
        if (!covers) return false;
    }
    return earlier.length == later.length;
}
