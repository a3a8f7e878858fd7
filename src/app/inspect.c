/* inspect.c: `belay inspect`: what events say, and what is wrong with them. */
#include "app/inspect.h"

#include "app/app.h"
#include "app/args.h"
#include "base/check.h"
#include "base/nearest.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES_MAX ((size_t)1024 * 1024)
#define OPERATIONS_MAX 1000000
#define BUDGET_PERCENT 10
#define BUDGET_BURST 10

static void print_usage(FILE *out)
{
    fputs(
        "usage: belay inspect [OPTION...] [FILE...|-]\n"
        "\n"
        "Reads events, one a line, alone or inside other logs, plain or packed (gzip, zstd), and\n"
        "says what became of the operations and what is wrong, with what to do about it.\n"
        "\n"
        "  --json              one JSON object instead of text\n"
        "  --html FILE         one page with charts; `-` is standard output\n"
        "  --operation ID      draw this operation, attempt by attempt\n"
        "  --target NAME       only what is of this target\n"
        "  --route NAME        only what is of this route\n"
        "  --decision WORD     only operations in which this was decided\n"
        "  --since WHEN        only operations that began at this time or later\n"
        "  --until WHEN        only operations that began before it; WHEN is a time such as\n"
        "                      2026-01-06T12:00:00Z, or a span before now: 90s, 15m, 2h, 1d\n"
        "  --follow            go on as the last FILE grows, until Ctrl-C\n"
        "  --check             say instead what the events lack against the contract\n"
        "  --budget PERCENT    retries over first attempts that are in order [10%]\n"
        "  --max-operations N  how many are kept in memory at once [1000000]\n"
        "\n"
        "exit status: 0 nothing wrong, 1 anomalies (--check: not right), 2 usage, or input that "
        "cannot be read\n",
        out);
}

int inspect_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fputs("belay inspect: ", stderr);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    return APP_USAGE;
}

/* ---- options ---- */

struct options {
    const char *html, *operation, *target, *route, *decision, *since, *until, *budget, *operations;
    bool json, follow, check, help;
};

static int read_decision(const char *word, struct inspect_selection *selection)
{
    const char *names[BELAY_DECISION_COUNT];
    for (unsigned i = 0; i < BELAY_DECISION_COUNT; i++) {
        names[i] = belay_decision_name((enum belay_decision)i);
        if (strcmp(names[i], word) != 0) continue;
        selection->has_decision = true;
        selection->decision = (enum belay_decision)i;
        return APP_DONE;
    }
    const char *meant = nearest_name(belay_slice_z(word), names, COUNT(names));
    return inspect_fail("--decision: there is no decision '%s'%s%s%s", word,
                        meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

static int read_when(const char *name, const char *text, bool *has, struct belay_wall *out)
{
    struct timespec time;
    if (!text) return APP_DONE;
    (void)clock_gettime(CLOCK_REALTIME, &time);
    struct belay_wall now = belay_wall_of(time.tv_sec, time.tv_nsec);
    *has = true;
    if (inspect_when_parse(text, now, out)) return APP_DONE;
    return inspect_fail("%s is a time such as 2026-01-06T12:00:00Z or a span such as 15m, not '%s'",
                        name, text);
}

/* A whole number from min to max, and then `end` or nothing. */
static bool read_number(const char *text, uint64_t min, uint64_t max, struct belay_slice end,
                        uint64_t *out)
{
    struct belay_slice digits = belay_slice_z(text);
    if (digits.length > end.length &&
        memcmp(text + digits.length - end.length, end.data, end.length) == 0)
        digits.length -= end.length;
    return text_read_number(digits, max, out) && *out >= min;
}

static int read_limits(const struct options *options, struct inspect_limits *limits)
{
    uint64_t percent = BUDGET_PERCENT, operations = OPERATIONS_MAX;
    if (options->budget && !read_number(options->budget, 0, 1000, TEXT("%"), &percent))
        return inspect_fail("--budget is a share such as 10%%, not '%s'", options->budget);
    if (options->operations &&
        !read_number(options->operations, 2, 1000000000, TEXT(""), &operations))
        return inspect_fail("--max-operations is a number from 2 to 1000000000, not '%s'",
                            options->operations);
    limits->budget_percent = (unsigned)percent;
    limits->budget_burst = BUDGET_BURST;
    limits->open_max = (size_t)operations;
    return APP_DONE;
}

static int read_options(const struct options *options, struct inspect_run *run)
{
    struct inspect_selection *selection = &run->selection;
    run->json = options->json;
    run->follow = options->follow;
    run->check = options->check;
    run->html = options->html;
    selection->operation_id = options->operation;
    selection->target = options->target;
    selection->route = options->route;
    int bad = read_limits(options, &run->limits);
    if (!bad && options->decision) bad = read_decision(options->decision, selection);
    if (!bad) bad = read_when("--since", options->since, &selection->has_since, &selection->since);
    if (!bad) bad = read_when("--until", options->until, &selection->has_until, &selection->until);
    return bad;
}

/* What is left of the command line. */
static int read_paths(int argc, char **argv, struct inspect_run *run)
{
    static const char *const STANDARD_INPUT[] = {"-"};
    run->paths = argc > 1 ? (const char *const *)(argv + 1) : STANDARD_INPUT;
    run->path_count = argc > 1 ? (size_t)(argc - 1) : 1;
    if (argc == 1 && isatty(STDIN_FILENO))
        return inspect_fail("what is to be read? Name a file of events, as `events: file` in the "
                            "configuration says, or pipe them in");
    for (size_t i = 0; run->selection.has_decision && i < run->path_count; i++) {
        if (run->follow || strcmp(run->paths[i], "-") == 0)
            return inspect_fail(
                "--decision reads the log twice, so it takes files, and no --follow");
    }
    if (run->html && run->json && strcmp(run->html, "-") == 0)
        return inspect_fail("--json and --html - cannot both be on standard output");
    if (run->check && (run->html || run->follow || run->selection.operation_id))
        return inspect_fail("--check goes with none of --html, --follow and --operation");
    return APP_DONE;
}

/* ---- reading ---- */

void inspect_take(struct inspect_run *run, const struct inspect_record *record)
{
    if (!inspect_select_takes(run->select, record)) return;
    if (run->timeline) (void)inspect_timeline_add(run->timeline, record);
    if (run->contract)
        inspect_contract_add(run->contract, record);
    else
        (void)inspect_collect(run->collector, record); /* a loss is counted in the report */
}

static bool open_reader(struct inspect_run *run)
{
    run->reader = inspect_reader_create(run->paths, run->path_count, run->follow, LINE_BYTES_MAX);
    if (!run->reader) (void)inspect_fail("out of memory");
    return run->reader != NULL;
}

/* Reads to the end. False: it was told why. */
static bool read_all(struct inspect_run *run,
                     bool (*take)(struct inspect_run *, const struct inspect_record *))
{
    struct inspect_progress progress;
    struct inspect_record record;
    enum inspect_step step;
    bool taken = true;
    inspect_progress_begin(&progress);
    while (taken && (step = inspect_reader_next(run->reader, &record)) == INSPECT_RECORD) {
        taken = take(run, &record);
        inspect_progress_step(&progress, inspect_reader_counters(run->reader));
    }
    inspect_progress_end(&progress);
    if (!taken) return false;
    if (step == INSPECT_FAILED) (void)inspect_fail("%s", inspect_reader_error(run->reader));
    return step != INSPECT_FAILED;
}

static bool take_whole(struct inspect_run *run, const struct inspect_record *record)
{
    inspect_take(run, record);
    return true;
}

static bool note_decision(struct inspect_run *run, const struct inspect_record *record)
{
    if (inspect_select_note(run->select, record)) return true;
    (void)inspect_fail("more operations have this decision than --max-operations allows (%zu)",
                       run->limits.open_max);
    return false;
}

static bool read_log(struct inspect_run *run)
{
    if (run->selection.has_decision) {
        if (!open_reader(run)) return false;
        bool noted = read_all(run, note_decision);
        inspect_reader_destroy(run->reader);
        run->reader = NULL;
        if (!noted) return false;
    }
    if (!open_reader(run)) return false;
    return run->follow ? inspect_follow(run) : read_all(run, take_whole);
}

/* ---- the command ---- */

static bool is_narrowed(const struct inspect_selection *selection)
{
    return selection->operation_id || selection->target || selection->route ||
           selection->has_since || selection->has_until || selection->has_decision;
}

/* What makes an answer of its own before there is one to the question. */
static int judge(const struct inspect_run *run, const struct inspect_report *report)
{
    if (run->timeline && inspect_timeline_empty(run->timeline)) {
        (void)inspect_fail("no record of operation '%s' in %" PRIu64 " lines",
                           run->timeline->shown_id, report->lines);
        return APP_NEGATIVE;
    }
    if (report->records == 0 && report->lines > 0 && !is_narrowed(&run->selection))
        return inspect_fail("none of %" PRIu64 " lines holds an event: is it the right file?",
                            report->lines);
    return inspect_has_anomalies(report) ? APP_NEGATIVE : APP_DONE;
}

static int show_check(struct inspect_run *run)
{
    const struct inspect_contract_result *result =
        inspect_contract_result(run->contract, inspect_reader_counters(run->reader));
    if (run->json)
        inspect_contract_write_json(result, stdout);
    else
        inspect_contract_write_text(result, stdout);
    if (!inspect_output_is_whole()) return APP_USAGE;
    return result->ok ? APP_DONE : APP_NEGATIVE;
}

/* What was shown is then not all, and its verdict is none. */
static bool is_damaged(const struct inspect_run *run)
{
    uint64_t files = inspect_reader_counters(run->reader)->damaged_files;
    if (files > 0) {
        (void)inspect_fail("%" PRIu64 " packed %s cut or damaged, and not read to the end", files,
                           files == 1 ? "file is" : "files are");
    }
    return files > 0;
}

static int show(struct inspect_run *run)
{
    static struct inspect_report report; /* large */
    bool whole = read_log(run) && !is_damaged(run);
    if (!run->reader || (!whole && inspect_reader_counters(run->reader)->lines == 0))
        return APP_USAGE;
    if (run->contract) {
        int verdict = show_check(run);
        return whole ? verdict : APP_USAGE;
    }
    if (!inspect_report_now(run, &report)) return APP_USAGE;
    if (run->timeline) inspect_timeline_arrange(run->timeline);
    bool missing = run->timeline && inspect_timeline_empty(run->timeline);
    if ((!missing || run->json) && !inspect_show(run, &report)) return APP_USAGE;
    int verdict = judge(run, &report);
    return whole ? verdict : APP_USAGE;
}

static int inspect(struct inspect_run *run)
{
    run->style = inspect_style_of_output();
    run->collector = inspect_collector_create(&run->limits);
    run->select = inspect_select_create(&run->selection, run->limits.open_max);
    if (run->selection.operation_id) run->timeline = malloc(sizeof *run->timeline);
    if (run->check) run->contract = inspect_contract_create();
    bool ready = run->collector && run->select && !run->contract == !run->check &&
                 !run->timeline == !run->selection.operation_id;
    if (run->timeline) inspect_timeline_init(run->timeline, run->selection.operation_id);
    int code = ready ? show(run) : inspect_fail("out of memory");
    inspect_reader_destroy(run->reader);
    inspect_select_destroy(run->select);
    inspect_collector_destroy(run->collector);
    inspect_contract_destroy(run->contract);
    free(run->timeline);
    return code;
}

int app_inspect(int argc, char **argv)
{
    struct options options = {0};
    struct inspect_run run = {0};
    const struct arg args[] = {
        {"--json", NULL, &options.json},
        {"--html", &options.html, NULL},
        {"--operation", &options.operation, NULL},
        {"--target", &options.target, NULL},
        {"--route", &options.route, NULL},
        {"--decision", &options.decision, NULL},
        {"--since", &options.since, NULL},
        {"--until", &options.until, NULL},
        {"--follow", NULL, &options.follow},
        {"-f", NULL, &options.follow},
        {"--check", NULL, &options.check},
        {"--budget", &options.budget, NULL},
        {"--max-operations", &options.operations, NULL},
        {"--help", NULL, &options.help},
        {"-h", NULL, &options.help},
    };
    if (!args_parse(&argc, argv, args, COUNT(args))) return APP_USAGE;
    if (options.help) {
        print_usage(stdout);
        return APP_DONE;
    }
    int bad = read_options(&options, &run);
    if (!bad) bad = read_paths(argc, argv, &run);
    if (bad) return bad;
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error to tell */
    return inspect(&run);
}
