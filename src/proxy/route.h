/* route.h: which route of a listener a request takes: path templates and methods. Pure. */
#ifndef PROXY_ROUTE_H
#define PROXY_ROUTE_H

#include "conf/conf.h"
#include "http1/http1.h"

/* A template's literal segments match byte for byte; a {name} segment matches one segment that is
 * not empty. `path` is as it came, without the query. */
bool route_path_matches(struct belay_slice path, const char *template_path);

struct route_match {
    const struct conf_route *route; /* NULL: none */
    uint32_t allowed; /* then: methods (bits) that another path-matching route would have taken */
};
/* The first route whose path and method match. */
struct route_match route_find(const struct conf_listener *listener, struct belay_slice path,
                              enum belay_method method);
/* "GET, HEAD" from the bits; returns the length, never more than the room. */
size_t route_allow(uint32_t methods, char *out, size_t room);

#endif
