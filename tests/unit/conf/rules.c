/* rules.c: what cannot be together is told, where it was said. */
#include "mistake.h"

static const struct mistake ADDRESSES_MISTAKES[] = {
    {"an address without a port", TARGET("addresses: [127.0.0.1]"),
     "2:20: addresses: \"127.0.0.1\" is no address; write host:port, such as 127.0.0.1:8080 or "
     "[::1]:8080"},
    {"an address without a host", TARGET("addresses: [\":9000\"]"),
     "2:20: addresses: \":9000\" is no address; write host:port, such as 127.0.0.1:8080 or "
     "[::1]:8080"},
    {"a port that is no number", TARGET("addresses: [127.0.0.1:http]"),
     "2:20: addresses: \"127.0.0.1:http\" is no address; write host:port, such as 127.0.0.1:8080 "
     "or [::1]:8080"},
    {"a port above all", TARGET("addresses: [127.0.0.1:65536]"),
     "2:20: addresses: \"127.0.0.1:65536\" is no address; write host:port, such as 127.0.0.1:8080 "
     "or [::1]:8080"},
    {"port 0 cannot be called", TARGET("addresses: [127.0.0.1:0]"),
     "2:20: addresses: port 0 cannot be connected to"},
    {"an IPv4 address with a mistake", TARGET("addresses: [127.0.0.300:80]"),
     "2:20: addresses: \"127.0.0.300:80\" is no address; write host:port, such as 127.0.0.1:8080 "
     "or [::1]:8080"},
    {"an IPv6 address without brackets", TARGET("addresses: [\"::1:80\"]"),
     "2:20: addresses: \"::1:80\" is no address; write host:port, such as 127.0.0.1:8080 or "
     "[::1]:8080"},
    {"an IPv6 address with a mistake", TARGET("addresses: [\"[::g]:80\"]"),
     "2:20: addresses: \"[::g]:80\" is no address; write host:port, such as 127.0.0.1:8080 or "
     "[::1]:8080"},
    {"a URL is no address", TARGET("addresses: [\"http://127.0.0.1:80\"]"),
     "2:20: addresses: \"http://127.0.0.1:80\" is no address; write host:port, such as "
     "127.0.0.1:8080 or [::1]:8080"},
    {"a name with an empty part", TARGET("addresses: [a..b:80]"),
     "2:20: addresses: \"a..b:80\" is no address; write host:port, such as 127.0.0.1:8080 or "
     "[::1]:8080"},
    {"a name with a NUL", TARGET("addresses: [\"a\\0b:80\"]"),
     "2:20: addresses: \"a?b:80\" is no address; write host:port, such as 127.0.0.1:8080 or "
     "[::1]:8080"},
    {"a listener on a name", LISTENER("listen: localhost:8080, target: t"),
     "5:15: listen: \"localhost:8080\" is a name; an address to listen on is a literal one, such "
     "as 127.0.0.1:8080"},
    {"a target without addresses", TARGET("network: local"),
     "2:3: target t: needs an address, such as addresses: [127.0.0.1:9000]"},
    {"a target with an empty list", TARGET("addresses: []"),
     "2:19: target t: needs an address, such as addresses: [127.0.0.1:9000]"},
    {"two addresses", TARGET("addresses: [127.0.0.1:9000, 127.0.0.1:9001]"),
     "2:36: addresses: one address in this version; several come with a later one"},
    {"a port taken by another listener",
     TWO_LISTENERS("listen: 127.0.0.1:8080, target: t", "listen: 127.0.0.1:8080, target: u"),
     "6:15: listen: port 8080 is taken by the listener on line 5"},
    {"a port taken by a wildcard",
     TWO_LISTENERS("listen: 0.0.0.0:8080, target: t", "listen: 127.0.0.1:8080, target: u"),
     "6:15: listen: port 8080 is taken by the listener on line 5"},
    {"a port taken by the same IPv6 address",
     TWO_LISTENERS("listen: \"[::1]:8080\", target: t",
                   "listen: \"[0:0:0:0:0:0:0:1]:8080\", target: u"),
     "6:15: listen: port 8080 is taken by the listener on line 5"},
    {"a port taken by the admin listener", FILE_WITH("admin: { listen: 127.0.0.1:8080 }"),
     "5:15: listen: port 8080 is taken by the admin listener on line 1"},
    {"a listener that calls itself", LISTENER("listen: 127.0.0.1:9000, target: t"),
     "5:15: listen: this is the address of target \"t\", which is called from here"},
};

static const struct mistake ROUTES_MISTAKES[] = {
    {"a path without a slash", ROUTES("{ path: orders, target: t }"),
     "5:49: path: \"orders\" is no path template: a path begins with /, such as /orders/{id}"},
    {"a path with an empty segment", ROUTES("{ path: /a//b, target: t }"),
     "5:49: path: \"/a//b\" is no path template: a path has no empty segment but the last"},
    {"a path with a query", ROUTES("{ path: \"/a?b\", target: t }"),
     "5:49: path: \"/a?b\" is no path template: a template is the path alone, without a query or "
     "a fragment"},
    {"a path with a fragment", ROUTES("{ path: \"/a#b\", target: t }"),
     "5:49: path: \"/a#b\" is no path template: a template is the path alone, without a query or "
     "a fragment"},
    {"a path with a half escape", ROUTES("{ path: \"/a%2\", target: t }"),
     "5:49: path: \"/a%2\" is no path template: a % in a path is followed by two hexadecimal "
     "digits"},
    {"a path with a blank", ROUTES("{ path: \"/a b\", target: t }"),
     "5:49: path: \"/a b\" is no path template: a path has no blanks, control characters or bytes "
     "outside ASCII; escape them with %"},
    {"a path outside ASCII", ROUTES("{ path: \"/é\", target: t }"),
     "5:49: path: \"/é\" is no path template: a path has no blanks, control characters or bytes "
     "outside ASCII; escape them with %"},
    {"a path that climbs", ROUTES("{ path: \"/a/../b\", target: t }"),
     "5:49: path: \"/a/../b\" is no path template: a path has no . or .. segments"},
    {"a name that is not closed", ROUTES("{ path: \"/{id\", target: t }"),
     "5:49: path: \"/{id\" is no path template: a segment is either text or one name in braces, "
     "such as {id}"},
    {"a name that is not opened", ROUTES("{ path: \"/id}\", target: t }"),
     "5:49: path: \"/id}\" is no path template: a segment is either text or one name in braces, "
     "such as {id}"},
    {"a name without letters", ROUTES("{ path: \"/{}\", target: t }"),
     "5:49: path: \"/{}\" is no path template: a segment is either text or one name in braces, "
     "such as {id}"},
    {"a name beside text", ROUTES("{ path: \"/a-{id}\", target: t }"),
     "5:49: path: \"/a-{id}\" is no path template: a segment is either text or one name in "
     "braces, such as {id}"},
    {"a name with a mark", ROUTES("{ path: \"/{a-b}\", target: t }"),
     "5:49: path: \"/{a-b}\" is no path template: a name in braces has letters, digits and _ only"},
    {"a name twice", ROUTES("{ path: \"/{a}/{b}/{a}\", target: t }"),
     "5:49: path: \"/{a}/{b}/{a}\" is no path template: a path names every segment differently"},
    {"a path that is too long", ROUTES("{ path: \"/" A256 A256 A256 A256 "\", target: t }"),
     "5:49: path: \"/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\" is no path template: a path "
     "is at most 1024 bytes long"},
    {"a route that an identical one hides",
     ROUTES("{ path: /a, target: t }, { path: /a, target: u }"),
     "5:74: no request is left for this route: the one on line 5 takes them all"},
    {"a route that a wider one hides",
     ROUTES("{ path: \"/{x}/b\", target: t }, { path: /a/b, target: u }"),
     "5:80: no request is left for this route: the one on line 5 takes them all"},
    {"a route that one without a path hides", ROUTES("{ target: t }, { path: /a, target: u }"),
     "5:64: no request is left for this route: the one on line 5 takes them all"},
    {"a route whose methods an earlier one takes",
     ROUTES("{ path: /a, method: [GET, HEAD], target: t }, { path: /a, method: HEAD, target: u }"),
     "5:95: no request is left for this route: the one on line 5 takes them all"},
    {"a route to a target that is not there", ROUTES("{ path: /a, target: tt }"),
     "5:61: target: there is no target \"tt\"; did you mean \"t\"?"},
    {"a route to a target that nothing is near to", ROUTES("{ path: /a, target: payments }"),
     "5:61: target: there is no target \"payments\""},
    {"a listener with a target that is not there",
     LISTENER("listen: 127.0.0.1:8080, target: orders"),
     "5:39: target: there is no target \"orders\""},
    {"a route without a target", ROUTES("{ path: /a }"),
     "5:41: route: needs a target, since its listener has none"},
    {"a listener without a target and routes", LISTENER("listen: 127.0.0.1:8080"),
     "5:5: listener: needs a target or routes"},
    {"a listener with an empty list of routes", LISTENER("listen: 127.0.0.1:8080, routes: []"),
     "5:5: listener: needs a target or routes"},
    {"a listener without an address", LISTENER("target: t"),
     "5:5: listener: needs an address, such as listen: 127.0.0.1:8080"},
    {"a guard", LISTENER("listen: 127.0.0.1:8080, kind: guard, target: t"),
     "5:37: kind: guard is not in this version, only egress"},
    {"a kind that is none", LISTENER("listen: 127.0.0.1:8080, kind: ingress, target: t"),
     "5:37: kind: unknown word \"ingress\"; did you mean \"egress\"?"},
    {"a breaker in a route", ROUTES("{ path: /a, target: t, policy: { breaker: off } }"),
     "5:74: breaker: all routes to a target share it; set it in the target's policy"},
    {"a budget in a route", ROUTES("{ path: /a, target: t, policy: { budget: { burst: 3 } } }"),
     "5:74: budget: all routes to a target share it; set it in the target's policy"},
    {"a target's name with a blank",
     "targets:\n"
     "  \"a b\": { addresses: [127.0.0.1:9000] }\n"
     "listeners:\n"
     "  - { listen: 127.0.0.1:8080, target: \"a b\" }",
     "2:3: \"a b\" is no name for a target: letters, digits, - _ . and at most 64 of them, not "
     "\"none\""},
    {"a target named none",
     "targets:\n"
     "  none: { addresses: [127.0.0.1:9000] }\n"
     "listeners:\n"
     "  - { listen: 127.0.0.1:8080, target: none }",
     "2:3: \"none\" is no name for a target: letters, digits, - _ . and at most 64 of them, not "
     "\"none\"\n"
     "4:5: listener: needs a target or routes"},
    {"no targets", LISTENERS, "1:1: targets: needs 1 to 256 of them"},
    {"no listeners", "targets: { t: { addresses: [127.0.0.1:9000] } }",
     "1:1: listeners: needs 1 to 64 of them"},
    {"an empty mapping of targets", "targets: {}\n" LISTENERS,
     "1:10: targets: needs 1 to 256 of them"},
    {"an empty list of listeners", "targets: { t: { addresses: [127.0.0.1:9000] } }\nlisteners: []",
     "2:12: listeners: needs 1 to 64 of them"},
    {"a route of any path before others",
     ROUTES("{ path: any, target: t }, { path: /a, target: u }"),
     "5:75: no request is left for this route: the one on line 5 takes them all"},
    {"a listener's policy", LISTENER("listen: 127.0.0.1:8080, target: t, policy: {}"),
     "5:42: unknown key \"policy\" in listener; the keys are listen, kind, target, routes"},
};

static const struct mistake RELATIONS_MISTAKES[] = {
    {"a reserve that leaves nothing", POLICY("reserve: 2s, deadline: 2s"),
     "1:32: reserve 2s leaves nothing of deadline 2s (line 1)"},
    {"a deadline that the default reserve uses up", POLICY("deadline: 5ms"),
     "1:33: deadline 5ms is all kept back by reserve 5ms (the default)"},
    {"an attempt longer than its operation", POLICY("attempt_timeout: 3s, deadline: 2s"),
     "1:40: attempt_timeout 3s is longer than deadline 2s (line 1)"},
    {"an attempt longer than the default of the operation", POLICY("attempt_timeout: 11s"),
     "1:40: attempt_timeout 11s is longer than deadline 10s (the default)"},
    {"connecting longer than the operation", POLICY("deadline: 1s, connect_timeout: 1001ms"),
     "1:54: connect_timeout 1001ms is longer than deadline 1s (line 1)"},
    {"a TLS handshake longer than the operation", POLICY("deadline: 1s, tls_timeout: 2s"),
     "1:50: tls_timeout 2s is longer than deadline 1s (line 1)"},
    {"a first wait longer than the longest", POLICY("backoff: { base: 6s }"),
     "1:40: backoff.base 6s is longer than backoff.max 5s (the default)"},
    {"a longest wait shorter than the first", POLICY("backoff: { max: 100ms }"),
     "1:39: backoff.max 100ms is shorter than backoff.base 200ms (the default)"},
    {"a breaker open for longer than the longest", POLICY("breaker: { open_for: 2m }"),
     "1:44: breaker.open_for 2m is longer than breaker.open_max 1m (the default)"},
    {"a quota without a rate", POLICY("quota: { burst: 3 }"),
     "1:23: quota: needs a rate, such as 50/s"},
    {"a quota switched on without a rate", POLICY("quota: on"),
     "1:30: quota: needs a rate, such as 50/s"},
    {"a route's deadline below its target's attempt",
     "targets:\n"
     "  t: { addresses: [127.0.0.1:9000], policy: { attempt_timeout: 3s } }\n"
     "listeners:\n"
     "  - { listen: 127.0.0.1:8080, routes: [ { path: /a, target: t, policy: { deadline: 2s } } ] "
     "}",
     "4:84: deadline 2s is shorter than attempt_timeout 3s (line 2)"},
    {"a target's attempt above the deadline of the defaults",
     "defaults: { policy: { deadline: 2s } }\n"
     "targets:\n"
     "  t: { addresses: [127.0.0.1:9000], policy: { attempt_timeout: 3s } }\n" LISTENERS,
     "3:64: attempt_timeout 3s is longer than deadline 2s (line 1)"},
    {"what the defaults have wrong is told once",
     "defaults: { policy: { deadline: 2s, attempt_timeout: 3s } }\n"
     "targets:\n"
     "  t: { addresses: [127.0.0.1:9000] }\n" LISTENERS,
     "1:54: attempt_timeout 3s is longer than deadline 2s (line 1)"},
};

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

int main(void)
{
    struct CMUnitTest
        tests[COUNT(ADDRESSES_MISTAKES) + COUNT(ROUTES_MISTAKES) + COUNT(RELATIONS_MISTAKES)];
    size_t count = 0;
    count += mistake_tests(ADDRESSES_MISTAKES, COUNT(ADDRESSES_MISTAKES), tests + count);
    count += mistake_tests(ROUTES_MISTAKES, COUNT(ROUTES_MISTAKES), tests + count);
    count += mistake_tests(RELATIONS_MISTAKES, COUNT(RELATIONS_MISTAKES), tests + count);
    return _cmocka_run_group_tests("conf/rules", tests, count, NULL, NULL);
}
