/* addr.c: literal addresses: text to struct rt_addr and back. */
#include "rt/rt.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

bool rt_addr_parse(struct belay_slice literal, uint16_t port, struct rt_addr *out)
{
    char text[INET6_ADDRSTRLEN];
    if (literal.length >= 2 && literal.data[0] == '[' && literal.data[literal.length - 1] == ']') {
        literal = belay_slice(literal.data + 1, literal.length - 2);
        if (!memchr(literal.data, ':', literal.length)) return false;
    }
    if (literal.length == 0 || literal.length >= sizeof(text)) return false;
    if (memchr(literal.data, '\0', literal.length)) return false;
    memcpy(text, literal.data, literal.length);
    text[literal.length] = '\0';

    struct rt_addr addr = {.port = port};
    if (inet_pton(AF_INET, text, addr.ip) == 1) {
        addr.family = 4;
    } else if (inet_pton(AF_INET6, text, addr.ip) == 1) {
        addr.family = 6;
    } else {
        return false;
    }
    *out = addr;
    return true;
}

bool rt_addr_parse_with_port(struct belay_slice text, struct rt_addr *out)
{
    const char *colon = text.length ? memrchr(text.data, ':', text.length) : NULL;
    if (!colon) return false;
    struct belay_slice host = belay_slice(text.data, (size_t)(colon - text.data));
    struct belay_slice digits = belay_slice(colon + 1, text.length - host.length - 1);
    uint16_t port;
    if (!text_read_port(digits, &port)) return false;
    /* Without brackets nobody can tell where an IPv6 address ends and its port begins. */
    if (host.length == 0 || (host.data[0] != '[' && memchr(host.data, ':', host.length)))
        return false;
    return rt_addr_parse(host, port, out);
}

size_t rt_addr_format(const struct rt_addr *addr, char text[RT_ADDR_TEXT_MAX])
{
    char ip[INET6_ADDRSTRLEN] = "";
    bool six = addr->family == 6;
    (void)inet_ntop(six ? AF_INET6 : AF_INET, addr->ip, ip, sizeof(ip));
    int length =
        snprintf(text, RT_ADDR_TEXT_MAX, six ? "[%s]:%u" : "%s:%u", ip, (unsigned)addr->port);
    return (size_t)length;
}
