/* inspect_follow.c: reads a log that grows: redraws a terminal, or tells each anomaly once
 * (inspect.h). */
#include "app/inspect.h"

#include "inspect/hash.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define EACH_MS 500 /* between two looks, longer when a look takes long */
#define RECORDS_A_LOOK 256
#define TOLD_MAX 512

static volatile sig_atomic_t stop_seen;

static void on_signal(int number)
{
    (void)number;
    stop_seen = 1;
}

/* The first signal ends the reading, the second the process. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

struct follow {
    struct inspect_run *run;
    bool terminal;
    int64_t looked_ms, took_ms;
    unsigned skipped;
    uint64_t told[TOLD_MAX]; /* hashes of the examples that were told */
    size_t told_count;
    uint64_t counts[INSPECT_ANOMALY_COUNT]; /* that were told */
};

/* ---- a pipe ---- */

static bool is_new(struct follow *follow, unsigned kind, const struct inspect_anomaly *anomaly,
                   size_t example)
{
    const char *id = anomaly->operation_ids[example];
    uint64_t hash = hash_bytes(kind + 1, belay_slice_z(id ? id : ""));
    if (!id || !id[0]) hash = hash_word(hash, anomaly->lines[example]);
    for (size_t i = 0; i < follow->told_count; i++) {
        if (follow->told[i] == hash) return false;
    }
    if (follow->told_count < TOLD_MAX) follow->told[follow->told_count++] = hash;
    return true;
}

/* Each operation once; when no more are kept, how many there are. */
static void tell_anomaly(struct follow *follow, unsigned kind,
                         const struct inspect_anomaly *anomaly)
{
    struct inspect_anomaly one = {.count = anomaly->count, .examples = 1};
    bool told = false;
    for (size_t i = 0; i < anomaly->examples; i++) {
        if (!is_new(follow, kind, anomaly, i)) continue;
        one.operation_ids[0] = anomaly->operation_ids[i];
        one.lines[0] = anomaly->lines[i];
        one.detail[0] = anomaly->detail[i];
        inspect_write_news(stdout, (enum inspect_anomaly_kind)kind, &one, &follow->run->style);
        told = true;
    }
    bool full = anomaly->examples == INSPECT_EXAMPLES_MAX || anomaly->examples == 0;
    if (!told && full && anomaly->count > follow->counts[kind]) {
        one.examples = 0;
        inspect_write_news(stdout, (enum inspect_anomaly_kind)kind, &one, &follow->run->style);
    }
    if (anomaly->count > follow->counts[kind]) follow->counts[kind] = anomaly->count;
}

/* ---- a terminal ---- */

/* As many lines as the window has, over what stood there. */
static bool redraw(struct follow *follow, const struct inspect_report *report)
{
    char *text = NULL;
    size_t bytes;
    struct winsize size;
    size_t rows =
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : 24;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory) return false;
    inspect_write_text(memory, report, follow->run->timeline, &follow->run->style);
    if (fclose(memory) != 0) {
        free(text);
        return false;
    }
    (void)fputs("\033[H", stdout);
    const char *line = text;
    for (size_t row = 1; row < rows && *line; row++) {
        int length = (int)strcspn(line, "\n");
        printf("%.*s\033[K\n", length, line);
        line += length;
        line += *line == '\n';
    }
    (void)fputs("\033[J", stdout);
    free(text);
    return true;
}

/* ---- the loop ---- */

/* False: nobody reads, or there is no memory. */
static bool look(struct follow *follow)
{
    static struct inspect_report report; /* large */
    int64_t began_ms = inspect_clock_ms();
    if (!inspect_report_now(follow->run, &report)) return false;
    if (follow->run->timeline) inspect_timeline_arrange(follow->run->timeline);
    if (follow->terminal && !follow->run->json) {
        if (!redraw(follow, &report)) return false;
    } else if (!follow->run->json) {
        for (unsigned kind = 0; kind < INSPECT_ANOMALY_COUNT; kind++)
            tell_anomaly(follow, kind, &report.anomalies[kind]);
    }
    bool whole = fflush(stdout) == 0 && !ferror(stdout);
    follow->looked_ms = inspect_clock_ms();
    follow->took_ms = follow->looked_ms - began_ms;
    return whole;
}

/* Looking takes at most a tenth of the time. */
static bool is_due(const struct follow *follow)
{
    int64_t each_ms = follow->took_ms * 10 > EACH_MS ? follow->took_ms * 10 : EACH_MS;
    return inspect_clock_ms() - follow->looked_ms >= each_ms;
}

static bool after_record(struct follow *follow)
{
    if (++follow->skipped < RECORDS_A_LOOK) return true;
    follow->skipped = 0;
    return !is_due(follow) || look(follow);
}

bool inspect_follow(struct inspect_run *run)
{
    struct follow follow = {.run = run, .terminal = isatty(STDOUT_FILENO)};
    struct inspect_record record;
    bool reads_on = true, changed = true;
    catch_signals();
    if (follow.terminal && !run->json) (void)fputs("\033[2J", stdout);
    while (reads_on && !stop_seen) {
        switch (inspect_reader_next(run->reader, &record)) {
        case INSPECT_RECORD:
            inspect_take(run, &record);
            changed = true;
            reads_on = after_record(&follow);
            break;
        case INSPECT_PAUSE:
            /* At rest all is shown at once; then nothing until something comes. */
            if (changed) reads_on = look(&follow);
            changed = false;
            if (reads_on && !stop_seen) inspect_reader_wait(run->reader, EACH_MS);
            break;
        case INSPECT_END: reads_on = false; break;
        case INSPECT_FAILED:
            if (errno == EINTR && stop_seen) break;
            (void)inspect_fail("%s", inspect_reader_error(run->reader));
            return false;
        }
    }
    if (follow.terminal && !run->json) (void)fputs("\033[H\033[2J", stdout);
    return true;
}
