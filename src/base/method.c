/* method.c: the request methods that rules speak of (belay/method.h). */
#include <belay/method.h>

static const char *const names[BELAY_METHOD_COUNT] = {
    [BELAY_METHOD_GET] = "GET",         [BELAY_METHOD_HEAD] = "HEAD",
    [BELAY_METHOD_POST] = "POST",       [BELAY_METHOD_PUT] = "PUT",
    [BELAY_METHOD_DELETE] = "DELETE",   [BELAY_METHOD_CONNECT] = "CONNECT",
    [BELAY_METHOD_OPTIONS] = "OPTIONS", [BELAY_METHOD_TRACE] = "TRACE",
    [BELAY_METHOD_PATCH] = "PATCH",
};

bool belay_method_is_safe(enum belay_method method)
{
    return method == BELAY_METHOD_GET || method == BELAY_METHOD_HEAD ||
           method == BELAY_METHOD_OPTIONS || method == BELAY_METHOD_TRACE;
}

static enum belay_method confirm(struct belay_slice text, enum belay_method method)
{
    return memcmp(text.data, names[method], text.length) == 0 ? method : BELAY_METHOD_OTHER;
}

/* Length and first letter leave one candidate. */
enum belay_method belay_method_parse(struct belay_slice text)
{
    switch (text.length) {
    case 3: return confirm(text, text.data[0] == 'G' ? BELAY_METHOD_GET : BELAY_METHOD_PUT);
    case 4: return confirm(text, text.data[0] == 'P' ? BELAY_METHOD_POST : BELAY_METHOD_HEAD);
    case 5: return confirm(text, text.data[0] == 'P' ? BELAY_METHOD_PATCH : BELAY_METHOD_TRACE);
    case 6: return confirm(text, BELAY_METHOD_DELETE);
    case 7: return confirm(text, text.data[0] == 'O' ? BELAY_METHOD_OPTIONS : BELAY_METHOD_CONNECT);
    default: return BELAY_METHOD_OTHER;
    }
}

const char *belay_method_name(enum belay_method method)
{
    return (unsigned)method < BELAY_METHOD_COUNT ? names[method] : NULL;
}
