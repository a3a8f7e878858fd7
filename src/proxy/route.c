/* route.c: finds a request's route, the first that matches (route.h). */
#include "proxy/route.h"

bool route_path_matches(struct belay_slice path, const char *template_path)
{
    size_t at = 0;
    const char *t = template_path;
    while (*t) {
        if (*t != '{') {
            if (at == path.length || path.data[at] != *t) return false;
            at++;
            t++;
            continue;
        }
        size_t from = at;
        while (at < path.length && path.data[at] != '/') at++;
        if (at == from) return false;
        while (*t && *t != '}') t++;
        if (*t) t++;
    }
    return at == path.length;
}

struct route_match route_find(const struct conf_listener *listener, struct belay_slice path,
                              enum belay_method method)
{
    struct route_match match = {0};
    for (size_t i = 0; i < listener->route_count; i++) {
        const struct conf_route *route = &listener->routes[i];
        if (route->path && !route_path_matches(path, route->path)) continue;
        if (route->methods == 0 || (route->methods & (1u << method))) {
            match.route = route;
            return match;
        }
        match.allowed |= route->methods;
    }
    return match;
}

size_t route_allow(uint32_t methods, char *out, size_t room)
{
    size_t used = 0;
    for (int m = 0; m < BELAY_METHOD_COUNT; m++) {
        const char *name = belay_method_name((enum belay_method)m);
        if (!(methods & (1u << m)) || !name) continue;
        size_t length = strlen(name), comma = used ? 2 : 0;
        if (used + comma + length > room) break;
        memcpy(out + used, ", ", comma);
        memcpy(out + used + comma, name, length);
        used += comma + length;
    }
    return used;
}
