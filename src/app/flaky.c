/* flaky.c: `belay flaky`: an origin that misbehaves on script. */
#include "app/app.h"
#include "base/text.h"
#include "app/args.h"
#include "app/flaky_act.h"
#include "rt/rt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define OPERATIONS_MAX 65536

struct arguments {
    const char *listen, *calls, *seed_text;
    struct arg_values faults;
    uint64_t seed;
    bool help;
};

static void print_help(FILE *to)
{
    fputs("usage: belay flaky [OPTION...]\n"
          "\n"
          "An HTTP origin that misbehaves on script, to see what a client makes of it.\n"
          "\n"
          "  --listen ADDR         where to listen; port 0 takes a free one [127.0.0.1:9000]\n"
          "  --fail-first N        the first N calls of each operation fail\n"
          "  --status S            ... with this status [503]\n"
          "  --retry-after VALUE   ... and this Retry-After\n"
          "  --delay D             every answer comes after this time, such as 20ms\n"
          "  --fault WHAT:PERCENT  so many requests fare so: WHAT is a fault, a status, `all` "
          "(each fault) or\n"
          "                        settings; may be given again: --fault reset:1 --fault 503:2.5\n"
          "  --seed N              starts the dice of --fault [1]\n"
          "  --quiet               no line a request\n"
          "  --calls FILE          one JSON line a call to this file, with its X-Request-Id and "
          "what it is played\n"
          "\n"
          "A request may bring a script of its own: settings joined by & in the query of a "
          "scripted path, or for any\n"
          "other path in the header X-Flaky.\n"
          "\n"
          "  fail=N                only the first N calls of the key fail; without it every one "
          "does\n"
          "  status=S              200 to 599\n"
          "  retry-after=VALUE     any text, a wrong one too\n"
          "  fault=WHAT            silence, reset, close, drip, close-mid-body, reset-mid-body, "
          "truncate-chunked,\n"
          "                        close-on-reuse, close-after, garbage\n"
          "  delay=D  bytes=N      the time before the answer; the length of its body\n"
          "  every=D               between two bytes of a drip [100ms]\n"
          "  key=NAME              whose calls are counted [the request's X-Operation-Id, else its "
          "path]\n"
          "\n"
          "  /flaky  /status/S  /delay/D  /bytes/N  /echo  and /FAULT such as /silence or /drip\n"
          "\n"
          "  curl 'http://127.0.0.1:9000/flaky?fail=2&status=503&retry-after=1&key=abc'\n"
          "  curl 'http://127.0.0.1:9000/drip?bytes=10&every=100ms'\n"
          "  curl -H 'X-Flaky: fail=1&fault=reset' http://127.0.0.1:9000/orders/42\n"
          "\n"
          "What it was sent: GET /_flaky/counts for the totals, ?operation=ID for one operation or "
          "key, as JSON;\n"
          "POST /_flaky/reset begins anew.\n",
          to);
}

/* ---- the command line ---- */

static bool bad(const char *option, const char *problem)
{
    fprintf(stderr, "belay flaky: %s: %s\n", option, problem);
    return false;
}

/* "2.5" or "2.5%" as parts in a million. */
static bool parse_percent(struct belay_slice text, uint32_t *per_million)
{
    uint64_t whole, parts = 0;
    if (text.length > 0 && text.data[text.length - 1] == '%') text.length--;
    const char *point = text.length > 0 ? memchr(text.data, '.', text.length) : NULL;
    size_t whole_length = point ? (size_t)(point - text.data) : text.length;
    if (!text_read_number(belay_slice(text.data, whole_length), 100, &whole)) return false;
    size_t digits = point ? text.length - whole_length - 1 : 0;
    if (digits > 4) return false;
    if (point && !text_read_number(belay_slice(point + 1, digits), 9999, &parts)) return false;
    for (size_t i = digits; i < 4; i++) parts *= 10;
    *per_million = (uint32_t)(whole * 10000 + parts);
    return *per_million <= 1000000;
}

static bool add_chance(struct flaky *flaky, const struct flaky_script *script, uint32_t per_million)
{
    uint64_t sum = per_million;
    for (size_t i = 0; i < flaky->chance_count; i++) sum += flaky->chances[i].per_million;
    if (sum > 1000000) return bad("--fault", "together they are more than 100 %");
    if (flaky->chance_count == FLAKY_CHANCES_MAX) return bad("--fault", "given too often");
    flaky->chances[flaky->chance_count++] = (struct flaky_chance){*script, per_million};
    return true;
}

static bool add_every_fault(struct flaky *flaky, uint32_t per_million)
{
    for (int fault = FLAKY_NONE + 1; fault < FLAKY_FAULT_COUNT; fault++) {
        struct flaky_script script;
        flaky_script_init(&script);
        script.fault = (enum flaky_fault)fault;
        if (!add_chance(flaky, &script, per_million)) return false;
    }
    return true;
}

/* WHAT:PERCENT */
static bool parse_fault(struct flaky *flaky, const char *text)
{
    const char *colon = strrchr(text, ':');
    uint32_t per_million;
    if (!colon || !parse_percent(belay_slice_z(colon + 1), &per_million)) {
        return bad("--fault", "must be WHAT:PERCENT, such as reset:1");
    }
    struct flaky_script script;
    struct belay_slice what = belay_slice(text, (size_t)(colon - text));
    char problem[FLAKY_PROBLEM_MAX];
    flaky_script_init(&script);
    if (belay_slice_equal(what, belay_slice_z("all"))) return add_every_fault(flaky, per_million);
    if (!flaky_fault_parse(what, &script.fault)) {
        bool status = what.length == 3 && char_is_digit(what.data[0]);
        bool right = status ? flaky_script_set(&script, belay_slice_z("status"), what, problem)
                            : flaky_script_add(&script, what, problem);
        if (!right) return bad("--fault", problem);
    }
    return add_chance(flaky, &script, per_million);
}

/* An option that sets what a request may set too. */
static bool set_common(struct flaky *flaky, const char *option, const char *value)
{
    char problem[FLAKY_PROBLEM_MAX];
    if (!value) return true;
    const char *setting = strcmp(option, "--fail-first") == 0 ? "fail" : option + 2;
    return flaky_script_set(&flaky->common, belay_slice_z(setting), belay_slice_z(value),
                            problem) ||
           bad(option, problem);
}

static bool apply(struct flaky *flaky, struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->faults.count; i++) {
        if (!parse_fault(flaky, arguments->faults.items[i])) return false;
    }
    if (flaky->common.fail_first != FLAKY_ALWAYS && flaky->common.status == 0)
        flaky->common.status = 503;
    if (!arguments->seed_text) return true;
    return text_read_number(belay_slice_z(arguments->seed_text), UINT64_MAX, &arguments->seed) ||
           bad("--seed", "must be a number");
}

static bool parse(struct flaky *flaky, struct arguments *arguments, int argc, char **argv)
{
    const char *fail_first = NULL, *status = NULL, *retry_after = NULL, *delay = NULL;
    const struct arg args[] = {{"--listen", &arguments->listen},
                               {"--fail-first", &fail_first},
                               {"--status", &status},
                               {"--retry-after", &retry_after},
                               {"--delay", &delay},
                               {"--fault", .values = &arguments->faults},
                               {"--seed", &arguments->seed_text},
                               {"--quiet", .flag = &flaky->quiet},
                               {"--calls", &arguments->calls},
                               {"--help", .flag = &arguments->help},
                               {"-h", .flag = &arguments->help}};
    flaky_script_init(&flaky->common);
    if (!args_parse(&argc, argv, args, sizeof args / sizeof args[0])) return false;
    if (arguments->help) return true;
    if (argc != 1) return bad(argv[1], "is no option; see belay flaky --help");
    return set_common(flaky, "--fail-first", fail_first) && set_common(flaky, "--status", status) &&
           set_common(flaky, "--retry-after", retry_after) && set_common(flaky, "--delay", delay) &&
           apply(flaky, arguments);
}

static bool open_calls(struct flaky *flaky, const char *name)
{
    if (!name) return true;
    flaky->calls = fopen(name, "w");
    if (!flaky->calls) return bad(name, strerror(errno));
    (void)setvbuf(flaky->calls, NULL, _IOLBF, 0);
    return true;
}

/* ---- life ---- */

/* A thread of its own waits for the signal, since only rt_post may enter the loop from outside. */
struct stopper {
    struct rt_post post;
    struct rt *rt;
    sigset_t signals;
    pthread_t thread;
};

static void stop_loop(struct rt_post *post)
{
    rt_stop(((struct stopper *)post)->rt);
}

static void *wait_for_signal(void *argument)
{
    struct stopper *stopper = argument;
    int signal_number;
    (void)sigwait(&stopper->signals, &signal_number);
    rt_post(stopper->rt, &stopper->post);
    return NULL;
}

static bool stopper_start(struct stopper *stopper, struct rt *rt)
{
    stopper->rt = rt;
    stopper->post.run = stop_loop;
    (void)sigemptyset(&stopper->signals);
    (void)sigaddset(&stopper->signals, SIGINT);
    (void)sigaddset(&stopper->signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &stopper->signals, NULL);
    return pthread_create(&stopper->thread, NULL, wait_for_signal, stopper) == 0;
}

static bool start_listening(struct flaky *flaky, const char *listen)
{
    struct rt_addr addr;
    const char *error = NULL;
    if (!rt_addr_parse_with_port(belay_slice_z(listen), &addr)) {
        return bad(listen, "must be an address and a port, such as 127.0.0.1:9000");
    }
    if (!server_listen(flaky->server, &addr, &error)) return bad(listen, error);
    char text[RT_ADDR_TEXT_MAX];
    server_addr(flaky->server, &addr);
    (void)rt_addr_format(&addr, text);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    printf("belay flaky: listening on http://%s\n", text);
    return true;
}

/* Plays until a signal. */
static int run(struct flaky *flaky, const char *listen)
{
    struct stopper stopper;
    if (!start_listening(flaky, listen)) return APP_USAGE;
    if (!stopper_start(&stopper, flaky->rt)) {
        (void)bad("start", "no thread can be made");
        return APP_USAGE;
    }
    rt_run(flaky->rt);
    (void)pthread_join(stopper.thread, NULL);
    flaky_forget_acts(flaky);
    return APP_DONE;
}

int app_flaky(int argc, char **argv)
{
    static const struct server_limits limits = {
        .head_for = {10 * BELAY_NS_PER_S},
        .idle_for = {60 * BELAY_NS_PER_S},
        .silence_for = {30 * BELAY_NS_PER_S},
        .connections_max = 10000,
        .backlog_bytes_max = (size_t)256 * 1024,
    };
    struct arguments arguments = {.listen = "127.0.0.1:9000", .seed = 1};
    struct flaky flaky = {0};
    if (!parse(&flaky, &arguments, argc, argv)) return APP_USAGE;
    if (arguments.help) {
        print_help(stdout);
        return APP_DONE;
    }
    if (!open_calls(&flaky, arguments.calls)) return APP_USAGE;
    struct server_limits all = limits;
    all.http1 = http1_limits_default();
    list_init(&flaky.acts);
    flaky.rt = rt_create(arguments.seed);
    flaky.counts = flaky_counts_create(OPERATIONS_MAX);
    flaky.server = flaky.rt ? server_create(flaky.rt, &all, &flaky_handler, &flaky) : NULL;
    int code = APP_USAGE;
    if (flaky.server && flaky.counts) code = run(&flaky, arguments.listen);
    if (flaky.server) server_destroy(flaky.server);
    if (flaky.counts) flaky_counts_destroy(flaky.counts);
    if (flaky.rt) rt_destroy(flaky.rt);
    if (flaky.calls && fclose(flaky.calls) != 0) code = APP_USAGE;
    return code;
}
