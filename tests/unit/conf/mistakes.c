/* mistakes.c: every wrong key, type and value is told at its place, with what is right. */
#include "mistake.h"

static const struct mistake SHAPE_MISTAKES[] = {
    {"an empty file", "",
     "1:1: nothing is in this file; a configuration has targets and listeners"},
    {"a file of comments", "# nothing\n",
     "1:1: nothing is in this file; a configuration has targets and listeners"},
    {"two documents", "workers: 1\n---\nworkers: 2\n", "2:1: a configuration is one YAML document"},
    {"a tab", "events:\n\tfile: a\n",
     "2:1: not YAML: found character that cannot start any token while scanning for the next "
     "token; YAML is indented with blanks, not with tabs"},
    {"a mapping that is not closed", "events: { file: a\n",
     "2:1: not YAML: did not find expected ',' or '}' while parsing a flow mapping"},
    {"a path with braces inside braces", ROUTES("{ path: /orders/{id}, target: t }"),
     "5:57: not YAML: did not find expected ',' or '}' while parsing a flow mapping; inside { } "
     "or [ ] a path with braces stands in quotes, such as \"/orders/{id}\""},
    {"an IPv6 address to listen on without quotes", "listeners:\n  - listen: [::1]:8080\n",
     "2:14: not YAML: did not find expected node content while parsing a flow node; an IPv6 "
     "address stands in quotes, such as \"[::1]:8080\""},
    {"a longer one", "listeners:\n  - listen: [2001:db8::1]:8080\n    target: t\n",
     "2:26: not YAML: did not find expected key while parsing a block mapping; an IPv6 address "
     "stands in quotes, such as \"[::1]:8080\""},
    {"one to call", "targets:\n  t:\n    addresses: [[::1]:9000]\n",
     "3:18: not YAML: did not find expected node content while parsing a flow node; an IPv6 "
     "address stands in quotes, such as \"[::1]:8080\""},
    {"an alias of nothing", "targets: *nope\n", "1:10: not YAML: found undefined alias"},
    {"an anchor twice", "a: &x 1\nb: &x 2\n", "2:4: not YAML: this anchor was given before"},
    {"an alias of what it is in", "targets: &t { a: *t }\n" LISTENERS,
     "1:15: target a: needs an address, such as addresses: [127.0.0.1:9000]\n"
     "1:15: unknown key \"a\" in target a; the keys are addresses, network, policy\n"
     "3:39: target: there is no target \"t\"; did you mean \"a\"?"},
};

static const struct mistake KEYS_MISTAKES[] = {
    {"an unknown key is told with the nearest name", POLICY("dedline: 2s"),
     "1:23: unknown key \"dedline\" in policy; did you mean \"deadline\"?"},
    {"an unknown key of a group is told with the nearest name", POLICY("backoff: { bas: 2s }"),
     "1:34: unknown key \"bas\" in backoff; did you mean \"base\"?"},
    {"an unknown key that nothing is near to is told with all names",
     POLICY("backoff: { zzzzzz: 2s }"),
     "1:34: unknown key \"zzzzzz\" in backoff; the keys are kind, base, max"},
    {"an unknown key of the file", FILE_WITH("worker: 3"),
     "1:1: unknown key \"worker\" in the configuration; did you mean \"workers\"?"},
    {"an unknown key of a target", TARGET("addresses: [127.0.0.1:9000], netwrk: local"),
     "2:37: unknown key \"netwrk\" in target t; did you mean \"network\"?"},
    {"an unknown key of a listener", LISTENER("listen: 127.0.0.1:8080, target: t, route: []"),
     "5:42: unknown key \"route\" in listener; did you mean \"routes\"?"},
    {"an unknown key of a route", ROUTES("{ path: /a, target: t, methods: GET }"),
     "5:64: unknown key \"methods\" in route; did you mean \"method\"?"},
    {"a dotted name is no key", POLICY("backoff.base: 2s"),
     "1:23: unknown key \"backoff.base\" in policy; the keys are deadline, reserve, "
     "connect_timeout, tls_timeout, silence_timeout, attempt_timeout, attempts, "
     "retry_unsafe_refusals, retry_when_owned, backoff, retry_on, budget, breaker, bulkhead, "
     "quota, hold, replay_buffer, held_answer, keep_alive"},
    {"a key with a NUL is no key", POLICY("\"deadline\\0\": 2s"),
     "1:23: unknown key \"deadline?\" in policy; did you mean \"deadline\"?"},
    {"a very long key is cut in the message", POLICY(A64 ": 2s"),
     "1:23: unknown key \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\" in policy; the keys "
     "are deadline, reserve, connect_timeout, tls_timeout, silence_timeout, attempt_timeout, "
     "attempts, retry_unsafe_refusals, retry_when_owned, backoff, retry_on, budget, breaker, "
     "bulkhead, quota, hold, replay_buffer, held_answer, keep_alive"},
    {"a key in capitals is told with the right one", POLICY("Deadline: 2s"),
     "1:23: unknown key \"Deadline\" in policy; did you mean \"deadline\"?"},
    {"a key twice", POLICY("deadline: 2s, attempts: 3, deadline: 2s"),
     "1:50: \"deadline\" is given twice; the first is on line 1"},
    {"a group twice", POLICY("backoff: { base: 1s }, backoff: { max: 2s }"),
     "1:46: \"backoff\" is given twice; the first is on line 1"},
    {"a key that is a list", POLICY("[a, b]: 2s"), "1:23: a key is one word, not a list"},
    {"a key that is a mapping", POLICY("{a: b}: 2s"), "1:23: a key is one word, not a mapping"},
    {"several mistakes are told in the order of the file",
     FILE_WITH("workers: many\nevents: { bufer: 1MiB, file: [] }\ndrain: 1s"),
     "1:10: workers: expected a whole number such as 3, not \"many\"\n"
     "2:11: unknown key \"bufer\" in events; did you mean \"buffer\"?\n"
     "2:30: events.file: expected the name of a file, not a list\n"
     "3:8: drain: expected a mapping, not one word"},
    {"a target twice",
     "targets:\n"
     "  t: { addresses: [127.0.0.1:9000] }\n"
     "  t: { addresses: [127.0.0.1:9001] }\n" LISTENERS,
     "3:3: \"t\" is given twice; the first is on line 2"},
    {"an option of a policy beside it", TARGET("addresses: [127.0.0.1:9000], deadline: 2s"),
     "2:37: unknown key \"deadline\" in target t; it belongs in its policy"},
    {"a group of a policy beside it", ROUTES("{ path: /a, target: t, backoff: { base: 1s } }"),
     "5:64: unknown key \"backoff\" in route; it belongs in its policy"},
    {"an option of a policy in the file", FILE_WITH("attempts: 2"),
     "1:1: unknown key \"attempts\" in the configuration; it belongs in defaults.policy"},
};

static const struct mistake TYPES_MISTAKES[] = {
    {"a list where a duration is due", POLICY("deadline: [2s]"),
     "1:33: deadline: expected a duration such as 250ms, not a list"},
    {"a mapping where a duration is due", POLICY("deadline: { s: 2 }"),
     "1:33: deadline: expected a duration such as 250ms, not a mapping"},
    {"no value", POLICY("deadline: "),
     "1:34: deadline: has no value; expected a duration such as 250ms"},
    {"no value, written out", POLICY("deadline: ~"),
     "1:33: deadline: has no value; expected a duration such as 250ms"},
    {"an empty text", POLICY("deadline: \"\""),
     "1:33: deadline: has no value; expected a duration such as 250ms"},
    {"a word where a group is due", POLICY("backoff: 2s"),
     "1:32: backoff: expected a mapping, not one word"},
    {"a list where a group is due", POLICY("budget: [10%, 10]"),
     "1:31: budget: expected a mapping, not a list"},
    {"a list where a group or off is due", POLICY("breaker: [off]"),
     "1:32: breaker: expected a mapping or `off`, not a list"},
    {"a group that has no off", POLICY("backoff: off"),
     "1:32: backoff: expected a mapping, not one word"},
    {"a word that is neither a group nor off", POLICY("breaker: no"),
     "1:32: breaker: expected a mapping or `off`, not \"no\""},
    {"a short form that knows only off", POLICY("hold: on"),
     "1:29: hold: expected a mapping or `off`, not one word"},
    {"a short form that is no list", POLICY("keep_alive: [off]"),
     "1:35: keep_alive: expected a mapping or `off`, not a list"},
    {"a mapping where a list is due", POLICY("retry_on: { 503: yes }"),
     "1:33: retry_on: expected a list of error classes and statuses such as [timeout, 503], not a "
     "mapping"},
    {"a list in a list", POLICY("retry_on: [[503]]"),
     "1:34: retry_on: expected a list of error classes and statuses such as [timeout, 503], not a "
     "list"},
    {"no value in a list", POLICY("retry_on: [503, ~]"),
     "1:39: retry_on: has no value; expected a list of error classes and statuses such as "
     "[timeout, 503]"},
    {"a word where the file's mapping is due", "hello",
     "1:1: the configuration: expected a mapping, not one word"},
    {"a list where the file's mapping is due", "- a\n- b",
     "1:1: the configuration: expected a mapping, not a list"},
    {"a list where targets are due", "targets: [t]\n" LISTENERS,
     "1:10: targets: expected a mapping of names to targets, not a list"},
    {"a word where a target is due", "targets: { t: 127.0.0.1:9000 }\n" LISTENERS,
     "1:15: target t: expected a mapping, not one word"},
    {"a mapping where listeners are due",
     "targets: { t: { addresses: [127.0.0.1:9000] } }\n"
     "listeners: { listen: 127.0.0.1:8080, target: t }",
     "2:12: listeners: expected a list of listeners, not a mapping"},
    {"a word where a listener is due",
     "targets: { t: { addresses: [127.0.0.1:9000] } }\nlisteners: [ 127.0.0.1:8080 ]",
     "2:14: listener: expected a mapping, not one word"},
    {"a mapping where routes are due",
     LISTENER("listen: 127.0.0.1:8080, routes: { path: /a, target: t }"),
     "5:39: routes: expected a list of routes, not a mapping"},
    {"a word where a route is due", LISTENER("listen: 127.0.0.1:8080, routes: [ /a ]"),
     "5:41: route: expected a mapping, not one word"},
    {"a word where a policy is due", TARGET("addresses: [127.0.0.1:9000], policy: fast"),
     "2:45: policy: expected a mapping, not one word"},
    {"a list where the name of a target is due", LISTENER("listen: 127.0.0.1:8080, target: [t]"),
     "5:39: target: expected the name of a target, not a list"},
    {"a word where defaults are due", FILE_WITH("defaults: none"),
     "1:11: defaults: expected a mapping, not one word"},
};

static const struct mistake VALUES_MISTAKES[] = {
    {"a duration without a unit", POLICY("deadline: 5"),
     "1:33: deadline: \"5\" has no unit; use ns, us, ms, s, m or h, as in 250ms"},
    {"a zero without a unit", POLICY("reserve: 0"),
     "1:32: reserve: \"0\" has no unit; use ns, us, ms, s, m or h, as in 250ms"},
    {"a duration with an unknown unit", POLICY("deadline: 5sec"),
     "1:33: deadline: \"5sec\" has the unknown unit \"sec\"; use ns, us, ms, s, m or h, as in "
     "250ms"},
    {"a duration with a unit of sizes", POLICY("deadline: 5KiB"),
     "1:33: deadline: \"5KiB\" has the unknown unit \"KiB\"; use ns, us, ms, s, m or h, as in "
     "250ms"},
    {"a duration with a blank before its unit", POLICY("deadline: 5 s"),
     "1:33: deadline: \"5 s\" has the unknown unit \" s\"; use ns, us, ms, s, m or h, as in 250ms"},
    {"a duration in two parts", POLICY("deadline: 1m30s"),
     "1:33: deadline: \"1m30s\" has the unknown unit \"m30s\"; use ns, us, ms, s, m or h, as in "
     "250ms"},
    {"a duration with a sign", POLICY("deadline: -5s"),
     "1:33: deadline: expected a duration such as 250ms, not \"-5s\""},
    {"a duration that is a word", POLICY("deadline: soon"),
     "1:33: deadline: expected a duration such as 250ms, not \"soon\""},
    {"none where none is not allowed", POLICY("deadline: none"),
     "1:33: deadline: expected a duration such as 250ms, not \"none\""},
    {"a word near to none", POLICY("attempt_timeout: never"),
     "1:40: attempt_timeout: expected a duration such as 250ms or none, not \"never\""},
    {"a duration below its range", POLICY("deadline: 999us"),
     "1:33: deadline: 999us is out of range; allowed is 1ms to 24h"},
    {"a duration above its range", POLICY("deadline: 25h"),
     "1:33: deadline: 25h is out of range; allowed is 1ms to 24h"},
    {"a duration of too many digits", POLICY("deadline: 99999999999999999999s"),
     "1:33: deadline: 99999999999999999999s is out of range; allowed is 1ms to 24h"},
    {"a duration finer than a nanosecond", POLICY("deadline: 1.5ns"),
     "1:33: deadline: \"1.5ns\" has more digits behind the point than can be kept"},
    {"a duration with a point and no digit", POLICY("deadline: 1.s"),
     "1:33: deadline: \"1.s\" has the unknown unit \".s\"; use ns, us, ms, s, m or h, as in 250ms"},
    {"a size without a unit", POLICY("replay_buffer: 1024"),
     "1:38: replay_buffer: \"1024\" has no unit; use B, KiB, MiB or GiB, as in 64KiB"},
    {"a size with a decimal unit", POLICY("replay_buffer: 64KB"),
     "1:38: replay_buffer: \"64KB\" has the unknown unit \"KB\"; use B, KiB, MiB or GiB, as in "
     "64KiB"},
    {"a size above its range", POLICY("replay_buffer: 2GiB"),
     "1:38: replay_buffer: 2GiB is out of range; allowed is 0B to 1GiB"},
    {"a size of half a byte", POLICY("replay_buffer: 0.5B"),
     "1:38: replay_buffer: \"0.5B\" has more digits behind the point than can be kept"},
    {"a share without its sign", POLICY("budget: { ratio: 0.1 }"),
     "1:40: budget.ratio: \"0.1\" has no unit; use %, as in 10%"},
    {"a share above all", POLICY("budget: { ratio: 101% }"),
     "1:40: budget.ratio: 101% is out of range; allowed is 0% to 100%"},
    {"a share of nothing where that is nonsense", POLICY("breaker: { failure_rate: 0% }"),
     "1:48: breaker.failure_rate: 0% is out of range; allowed is 0.0001% to 100%"},
    {"a share finer than a millionth", POLICY("budget: { ratio: 0.00001% }"),
     "1:40: budget.ratio: \"0.00001%\" has more digits behind the point than can be kept"},
    {"a count that is none", POLICY("attempts: 0"),
     "1:33: attempts: 0 is out of range; allowed is 1 to 100"},
    {"a count above its range", POLICY("attempts: 101"),
     "1:33: attempts: 101 is out of range; allowed is 1 to 100"},
    {"a count that is not whole", POLICY("attempts: 2.5"),
     "1:33: attempts: expected a whole number such as 3, not \"2.5\""},
    {"a count with a unit", POLICY("attempts: 3x"),
     "1:33: attempts: expected a whole number such as 3, not \"3x\""},
    {"a count that is negative", POLICY("attempts: -1"),
     "1:33: attempts: expected a whole number such as 3, not \"-1\""},
    {"a count that is a word, where 0 has one too", POLICY("breaker: { consecutive: none }"),
     "1:47: breaker.consecutive: expected a whole number such as 3 or off, not \"none\""},
    {"a boolean in other words", POLICY("retry_when_owned: yes"),
     "1:41: retry_when_owned: expected true or false, not \"yes\""},
    {"a word near to a listed one", POLICY("backoff: { kind: aditive }"),
     "1:40: backoff.kind: unknown word \"aditive\"; did you mean \"additive\"?"},
    {"a word near to none", POLICY("backoff: { kind: exponential }"),
     "1:40: backoff.kind: unknown word \"exponential\"; the words are additive, full, equal, "
     "decorrelated, none, constant"},
    {"a network that is none", TARGET("addresses: [127.0.0.1:9000], network: lan"),
     "2:46: network: unknown word \"lan\"; the words are local, internet"},
    {"a rate without its time", POLICY("quota: { rate: 50 }"),
     "1:38: quota.rate: expected a rate such as 50/s, 50/m or 50/h, not \"50\""},
    {"a rate a day", POLICY("quota: { rate: 50/d }"),
     "1:38: quota.rate: expected a rate such as 50/s, 50/m or 50/h, not \"50/d\""},
    {"a rate of none", POLICY("quota: { rate: 0/s }"),
     "1:38: quota.rate: 0/s is out of range; allowed is 1/h to 1000000/s"},
    {"a rate above its range", POLICY("quota: { rate: 1000001/s }"),
     "1:38: quota.rate: 1000001/s is out of range; allowed is 1/h to 1000000/s"},
    {"a rate that is not whole", POLICY("quota: { rate: 0.5/s }"),
     "1:38: quota.rate: expected a rate such as 50/s, 50/m or 50/h, not \"0.5/s\""},
    {"a rate of too many digits", POLICY("quota: { rate: 99999999999999999999/s }"),
     "1:38: quota.rate: 99999999999999999999/s is out of range; allowed is 1/h to 1000000/s"},
    {"a burst of none", POLICY("quota: { rate: 5/s, burst: 0 }"),
     "1:50: quota.burst: 0 is out of range; allowed is 1 to 1000000"},
    {"an error class near to a listed one", POLICY("retry_on: [timeuot]"),
     "1:34: retry_on: unknown word \"timeuot\"; did you mean \"timeout\"?"},
    {"an error class near to none", POLICY("retry_on: [everything]"),
     "1:34: retry_on: unknown word \"everything\"; the words are dns, refused, timeout, reset, "
     "closed, protocol, too_large and statuses from 100 to 599"},
    {"an error class that is never repeated", POLICY("retry_on: [tls]"),
     "1:34: retry_on: \"tls\" is never repeated"},
    {"another error class that is never repeated", POLICY("retry_on: [cancelled]"),
     "1:34: retry_on: \"cancelled\" is never repeated"},
    {"a status below all", POLICY("retry_on: [99]"),
     "1:34: retry_on: \"99\" is no status; they go from 100 to 599"},
    {"a status above all", POLICY("retry_on: [600]"),
     "1:34: retry_on: \"600\" is no status; they go from 100 to 599"},
    {"a class of statuses", POLICY("retry_on: [5xx]"),
     "1:34: retry_on: \"5xx\" is no status; they go from 100 to 599"},
    {"a status twice", POLICY("retry_on: [503, timeout, 503]"),
     "1:48: retry_on: \"503\" is listed twice"},
    {"an error class twice", POLICY("retry_on: [dns, dns]"),
     "1:39: retry_on: \"dns\" is listed twice"},
    {"a method in small letters", ROUTES("{ path: /a, target: t, method: [get] }"),
     "5:73: method: unknown word \"get\"; did you mean \"GET\"?"},
    {"a method that no rule knows", ROUTES("{ path: /a, target: t, idempotent: [PURGE] }"),
     "5:77: idempotent: unknown word \"PURGE\"; the words are GET, HEAD, POST, PUT, DELETE, "
     "CONNECT, OPTIONS, TRACE, PATCH"},
    {"a method twice", ROUTES("{ path: /a, target: t, method: [GET, GET] }"),
     "5:78: method: \"GET\" is listed twice"},
    {"any is no member of a list", ROUTES("{ path: /a, target: t, method: [GET, any] }"),
     "5:78: method: unknown word \"any\"; the words are GET, HEAD, POST, PUT, DELETE, CONNECT, "
     "OPTIONS, TRACE, PATCH"},
    {"a header field with a blank", FILE_WITH("headers: { deadline_out: \"X Y\" }"),
     "1:26: headers.deadline_out: \"X Y\" is no name of a header field: letters, digits and - are "
     "usual, at most 64"},
    {"a header field with a colon", FILE_WITH("headers: { deadline_in: [\"X-Y:\"] }"),
     "1:26: headers.deadline_in: \"X-Y:\" is no name of a header field: letters, digits and - are "
     "usual, at most 64"},
    {"a header field that frames messages", FILE_WITH("headers: { deadline_out: content-length }"),
     "1:26: headers.deadline_out: \"content-length\" has a meaning of its own in HTTP"},
    {"a header field twice in other letters", FILE_WITH("headers: { retry_marks: [X-A, x-a] }"),
     "1:31: headers.retry_marks: \"x-a\" is listed twice"},
    {"too many header fields",
     FILE_WITH("headers: { retry_marks: [x-0, x-1, x-2, x-3, x-4, x-5, x-6, x-7, x-8, "
               "x-9, x-10, x-11, x-12, x-13, x-14, x-15] }"),
     "1:106: headers.retry_marks: at most 15 header fields"},
    {"a file name with a control character", FILE_WITH("events: { file: \"a\\nb\" }"),
     "1:17: events.file: a file name is at most 4096 bytes and has no control characters"},
    {"a mistake in a list leaves its other words alone", POLICY("retry_on: [nope1, 503, 700]"),
     "1:34: retry_on: unknown word \"nope1\"; the words are dns, refused, timeout, reset, closed, "
     "protocol, too_large and statuses from 100 to 599\n"
     "1:46: retry_on: \"700\" is no status; they go from 100 to 599"},
};

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

int main(void)
{
    struct CMUnitTest tests[COUNT(SHAPE_MISTAKES) + COUNT(KEYS_MISTAKES) + COUNT(TYPES_MISTAKES) +
                            COUNT(VALUES_MISTAKES)];
    size_t count = 0;
    count += mistake_tests(SHAPE_MISTAKES, COUNT(SHAPE_MISTAKES), tests + count);
    count += mistake_tests(KEYS_MISTAKES, COUNT(KEYS_MISTAKES), tests + count);
    count += mistake_tests(TYPES_MISTAKES, COUNT(TYPES_MISTAKES), tests + count);
    count += mistake_tests(VALUES_MISTAKES, COUNT(VALUES_MISTAKES), tests + count);
    return _cmocka_run_group_tests("conf/mistakes", tests, count, NULL, NULL);
}
