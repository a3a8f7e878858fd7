/* method.h: the request methods that rules speak of (RFC 9110 9.3, RFC 5789). */
#ifndef BELAY_METHOD_H
#define BELAY_METHOD_H

#include <belay/export.h>
#include <belay/slice.h>

#ifdef __cplusplus
extern "C" {
#endif

enum belay_method {
    BELAY_METHOD_OTHER, /* a valid token that no rule knows: neither safe nor idempotent */
    BELAY_METHOD_GET,
    BELAY_METHOD_HEAD,
    BELAY_METHOD_POST,
    BELAY_METHOD_PUT,
    BELAY_METHOD_DELETE,
    BELAY_METHOD_CONNECT,
    BELAY_METHOD_OPTIONS,
    BELAY_METHOD_TRACE,
    BELAY_METHOD_PATCH,
    BELAY_METHOD_COUNT
};

/* GET, HEAD, OPTIONS, TRACE (RFC 9110 9.2.1). */
BELAY_API bool belay_method_is_safe(enum belay_method method);
/* Case-sensitive, as the RFC says; OTHER for everything unlisted. */
BELAY_API enum belay_method belay_method_parse(struct belay_slice text);
/* NULL for OTHER. */
BELAY_API const char *belay_method_name(enum belay_method method);

#ifdef __cplusplus
}
#endif
#endif
