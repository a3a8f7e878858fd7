/* write_text.c: a report for a terminal: the verdict, each target, the anomalies, what was not
 * read. */
#include "inspect/draw.h"

#include "base/check.h"
#include "inspect/say.h"

#include <inttypes.h>

#define TARGETS_SHOWN 12  /* in full */
#define TARGETS_LISTED 40 /* in the table */
#define EXAMPLES_SHOWN 5
#define LABEL_COLUMNS 20
#define BAR_COLUMNS 30
#define ID_COLUMNS 36

static void heading(const struct draw *draw, const char *text)
{
    draw_colour(draw, DRAW_STRONG);
    (void)fputs(text, draw->to);
    draw_colour(draw, DRAW_PLAIN);
}

/* ---- the verdict ---- */

static void write_read(const struct draw *draw, const struct inspect_report *report)
{
    char lines[SAY_BYTES], bytes[SAY_BYTES], records[SAY_BYTES], operations[SAY_BYTES];
    (void)fprintf(draw->to, "Read %s lines (%s): %s records of %s operation%s",
                  say_count(lines, report->lines), say_bytes(bytes, report->bytes),
                  say_count(records, report->records),
                  say_count(operations, say_operations(report)),
                  say_operations(report) == 1 ? "" : "s");
    if (report->first.ns == 0) {
        (void)fputs(".\n\n", draw->to);
        return;
    }
    int64_t first = report->first.ns / BELAY_NS_PER_MS, last = report->last.ns / BELAY_NS_PER_MS;
    char from[SAY_BYTES], until[SAY_BYTES], span[SAY_BYTES];
    (void)fprintf(draw->to, ",\nfrom %s to %s (%s).\n\n", say_time(from, first),
                  say_time(until, last), say_ms(span, last - first));
}

static void write_verdict(const struct draw *draw, const struct inspect_report *report)
{
    enum inspect_anomaly_kind kinds[INSPECT_ANOMALY_COUNT];
    size_t count = say_kinds(report, kinds);
    if (report->records == 0) {
        (void)fputs("No event was found.\n", draw->to);
        return;
    }
    if (count == 0) {
        draw_colour(draw, DRAW_GOOD);
        (void)fputs("Nothing wrong was found.", draw->to);
        draw_colour(draw, DRAW_PLAIN);
        (void)fputc('\n', draw->to);
        return;
    }
    draw_colour(draw, DRAW_BAD);
    (void)fprintf(draw->to, "%zu %s, explained below:", count,
                  count == 1 ? "kind of anomaly" : "kinds of anomalies");
    draw_colour(draw, DRAW_PLAIN);
    (void)fputc('\n', draw->to);
    for (size_t i = 0; i < count; i++) {
        char text[SAY_BYTES];
        (void)fprintf(draw->to, "  %10s  %s\n", say_count(text, report->anomalies[kinds[i]].count),
                      inspect_advice(kinds[i])->name);
    }
}

/* ---- a target ---- */

/* One row of a distribution. */
static void row(const struct draw *draw, const char *label, uint64_t part, uint64_t most,
                uint64_t of)
{
    char count[SAY_BYTES], share[SAY_BYTES];
    (void)fprintf(draw->to, "    %-*s", LABEL_COLUMNS, label);
    draw_bar(draw, (double)part, (double)most, BAR_COLUMNS);
    (void)fprintf(draw->to, " %11s %9s\n", say_count(count, part), say_share(share, part, of));
}

static uint64_t most_of(const uint64_t *counts, size_t count)
{
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++) {
        if (counts[i] > most) most = counts[i];
    }
    return most;
}

static void write_attempts(const struct draw *draw, const struct inspect_target *target)
{
    uint64_t most = most_of(target->attempts_of, INSPECT_ATTEMPT_SLOTS + 1);
    if (most == 0) return;
    (void)fputs("  operations by attempts made\n", draw->to);
    for (size_t i = 0; i <= INSPECT_ATTEMPT_SLOTS; i++) {
        if (target->attempts_of[i] == 0) continue;
        char label[SAY_BYTES];
        (void)snprintf(label, sizeof label, "%zu%s", i,
                       i == INSPECT_ATTEMPT_SLOTS ? " or more" : "");
        row(draw, label, target->attempts_of[i], most, target->operations);
    }
}

static void write_decisions(const struct draw *draw, const struct inspect_target *target)
{
    uint64_t most = most_of(target->decisions, BELAY_DECISION_COUNT);
    if (most + target->decision_unknown == 0) return;
    (void)fputs("  attempts by decision\n", draw->to);
    for (unsigned i = 0; i < BELAY_DECISION_COUNT; i++) {
        if (target->decisions[i] == 0) continue;
        row(draw, belay_decision_name((enum belay_decision)i), target->decisions[i], most,
            target->attempts);
    }
    if (target->decision_unknown > 0)
        row(draw, "none, or unknown", target->decision_unknown, most, target->attempts);
}

static void write_endings(const struct draw *draw, const struct inspect_target *target)
{
    const struct {
        const char *label;
        uint64_t count;
    } OTHERS[] = {{"stop", target->stopped},
                  {"check_state", target->state_checks},
                  {"open", say_open(target)}};
    uint64_t most = most_of(target->terminals, BELAY_TERMINAL_COUNT);
    if (target->answered > most) most = target->answered;
    if (most + target->stopped + target->state_checks == 0) return;
    for (size_t i = 0; i < COUNT(OTHERS); i++) {
        if (OTHERS[i].count > most) most = OTHERS[i].count;
    }
    (void)fputs("  operations by how they ended\n", draw->to);
    if (target->answered > 0)
        row(draw, "with an answer", target->answered, most, target->operations);
    for (unsigned i = BELAY_TERMINAL_NONE + 1; i < BELAY_TERMINAL_COUNT; i++) {
        if (target->terminals[i] == 0) continue;
        row(draw, belay_terminal_name((enum belay_terminal)i), target->terminals[i], most,
            target->operations);
    }
    for (size_t i = 0; i < COUNT(OTHERS); i++) {
        if (OTHERS[i].count > 0)
            row(draw, OTHERS[i].label, OTHERS[i].count, most, target->operations);
    }
}

/* ` 503 12` for what is not 0; `first` is set once something was written. */
static void pair(const struct draw *draw, const char *label, const char *name, uint64_t count,
                 bool *first)
{
    char text[SAY_BYTES];
    if (count == 0) return;
    if (*first) (void)fprintf(draw->to, "  %-*s", LABEL_COLUMNS + 2, label);
    (void)fprintf(draw->to, "%s%s %s", *first ? "" : "   ", name, say_count(text, count));
    *first = false;
}

static void write_outcomes(const struct draw *draw, const struct inspect_target *target)
{
    static const char *const CLASSES[] = {NULL, "1xx", "2xx", "3xx", "4xx", "5xx"};
    bool first = true;
    for (size_t i = 1; i < 6; i++) {
        uint64_t apart = i == 4 ? target->too_many_requests : 0, all = target->status_class[i];
        pair(draw, "answers", apart > 0 ? "other 4xx" : CLASSES[i], all > apart ? all - apart : 0,
             &first);
        pair(draw, "answers", "429", apart, &first);
    }
    if (!first) (void)fputc('\n', draw->to);
    first = true;
    pair(draw, "no answer", "timeout", target->errors[BELAY_ERROR_TIMEOUT], &first);
    for (unsigned i = BELAY_ERROR_NONE + 1; i < BELAY_ERROR_COUNT; i++) {
        if (i != BELAY_ERROR_TIMEOUT)
            pair(draw, "no answer", belay_error_class_name((enum belay_error_class)i),
                 target->errors[i], &first);
    }
    if (!first) (void)fputc('\n', draw->to);
    first = true;
    pair(draw, "of the operations", "effect unknown", target->effect_unknown, &first);
    pair(draw, "of the operations", "served a fallback", target->fallbacks, &first);
    if (!first) (void)fputc('\n', draw->to);
}

static void write_latency(const struct draw *draw, const struct inspect_target *target)
{
    static const double SHARES[] = {0.5, 0.9, 0.99};
    bool first = true;
    for (size_t i = 0; i < INSPECT_ATTEMPT_SLOTS; i++) {
        const struct inspect_latency *latency = &target->latency[i];
        if (latency->count == 0) continue;
        if (first)
            (void)fprintf(draw->to, "  %-22s%11s%11s%11s%11s%11s\n", "latency", "attempts", "p50",
                          "p90", "p99", "max");
        first = false;
        char text[SAY_BYTES];
        (void)snprintf(text, sizeof text, "attempt %zu%s", i + 1,
                       i + 1 == INSPECT_ATTEMPT_SLOTS ? " or more" : "");
        (void)fprintf(draw->to, "    %-20s", text);
        (void)fprintf(draw->to, "%11s", say_count(text, latency->count));
        for (size_t s = 0; s < COUNT(SHARES); s++)
            (void)fprintf(draw->to, "%11s", say_ms(text, inspect_quantile_ms(latency, SHARES[s])));
        (void)fprintf(draw->to, "%11s\n", say_ms(text, latency->max_ms));
    }
}

/* When it went wrong: the decisions other than return, one character a span of time. */
static void write_when(const struct draw *draw, const struct inspect_series *series)
{
    enum { COLUMNS = 54 };
    double values[COLUMNS] = {0}, most = 0;
    if (series->width_ms <= 0 || series->count < 2) return;
    size_t columns = series->count < COLUMNS ? series->count : COLUMNS;
    for (size_t i = 0; i < series->count; i++) {
        double *value = &values[i * columns / series->count];
        for (unsigned d = 0; d < BELAY_DECISION_COUNT; d++) {
            if (d != BELAY_DECISION_RETURN) *value += (double)series->decisions[i][d];
        }
        if (*value > most) most = *value;
    }
    if (most <= 0) return;
    int64_t span = (int64_t)series->count * series->width_ms;
    char from[SAY_BYTES], until[SAY_BYTES];
    (void)fprintf(draw->to, "  %-*s", LABEL_COLUMNS + 2, "not returned (UTC)");
    draw_columns(draw, values, columns, most);
    (void)say_clock(from, series->start_ms, span);
    (void)say_clock(until, series->start_ms + span, span);
    int gap = (int)columns - (int)strlen(from);
    if (gap < (int)strlen(until) + 1) gap = (int)strlen(until) + 1;
    (void)fprintf(draw->to, "\n  %-*s%s%*s\n", LABEL_COLUMNS + 2, "", from, gap, until);
}

static void write_target(const struct draw *draw, const struct inspect_target *target)
{
    char a[SAY_BYTES], b[SAY_BYTES], c[SAY_BYTES], d[SAY_BYTES];
    heading(draw, "\ntarget ");
    draw_colour(draw, DRAW_STRONG);
    draw_foreign(draw, say_target(target), 60, false);
    draw_colour(draw, DRAW_PLAIN);
    (void)fprintf(draw->to, "\n  operations %s   attempts %s   retries %s   amplification %s\n",
                  say_count(a, target->operations), say_count(b, target->attempts),
                  say_count(c, target->retries),
                  say_ratio(d, target->attempts, target->operations));
    write_endings(draw, target);
    write_attempts(draw, target);
    write_decisions(draw, target);
    write_outcomes(draw, target);
    write_latency(draw, target);
    write_when(draw, &target->series);
    if (target->concurrency_peak > 0)
        (void)fprintf(draw->to, "  %-*s%s on average, %s at most\n", LABEL_COLUMNS + 2,
                      "seen at once", say_decimal(a, target->concurrency_mean),
                      say_decimal(b, target->concurrency_peak));
}

static void write_overview(const struct draw *draw, const struct inspect_report *report)
{
    size_t shown = report->target_count < TARGETS_LISTED ? report->target_count : TARGETS_LISTED;
    char text[SAY_BYTES];
    (void)fprintf(draw->to, "\n%-24s%11s%11s%10s%8s%8s%8s\n", "targets", "operations", "attempts",
                  "retries", "amplif.", "timeout", "429");
    for (size_t i = 0; i < shown; i++) {
        const struct inspect_target *target = &report->targets[i];
        (void)fputs("  ", draw->to);
        draw_foreign(draw, say_target(target), 22, true);
        (void)fprintf(draw->to, "%11s", say_count(text, target->operations));
        (void)fprintf(draw->to, "%11s", say_count(text, target->attempts));
        (void)fprintf(draw->to, "%10s", say_count(text, target->retries));
        (void)fprintf(draw->to, "%8s", say_ratio(text, target->attempts, target->operations));
        (void)fprintf(draw->to, "%8s", say_count(text, target->errors[BELAY_ERROR_TIMEOUT]));
        (void)fprintf(draw->to, "%8s\n", say_count(text, target->too_many_requests));
    }
    if (report->target_count > shown)
        (void)fprintf(draw->to, "  ... and %zu more (--json lists all)\n",
                      report->target_count - shown);
}

static void write_targets(const struct draw *draw, const struct inspect_report *report)
{
    size_t shown = report->target_count < TARGETS_SHOWN ? report->target_count : TARGETS_SHOWN;
    if (report->target_count > 1) write_overview(draw, report);
    for (size_t i = 0; i < shown; i++) write_target(draw, &report->targets[i]);
    if (report->target_count > shown)
        (void)fprintf(draw->to,
                      "\n%zu more targets are not shown in full; --target NAME shows one.\n",
                      report->target_count - shown);
}

/* ---- anomalies ---- */

static void write_example(const struct draw *draw, const struct inspect_anomaly *anomaly, size_t i)
{
    const char *id = anomaly->operation_ids[i], *detail = anomaly->detail[i];
    bool has_id = id && id[0], has_line = anomaly->lines[i] > 0, has_detail = detail && detail[0];
    size_t room = draw->style->columns > 40 ? draw->style->columns - 9 : 71;
    (void)fputs("      ", draw->to);
    if (has_id) draw_foreign(draw, id, ID_COLUMNS, has_line);
    if (has_line) (void)fprintf(draw->to, "%sline %" PRIu64, has_id ? " " : "", anomaly->lines[i]);
    if (has_detail) (void)fputs(has_id || has_line ? "\n        " : "", draw->to);
    if (has_detail) draw_foreign(draw, detail, room, false);
    (void)fputc('\n', draw->to);
}

static void write_anomaly(const struct draw *draw, size_t number, enum inspect_anomaly_kind kind,
                          const struct inspect_anomaly *anomaly)
{
    const struct inspect_advice *advice = inspect_advice(kind);
    char count[SAY_BYTES];
    (void)fprintf(draw->to, "\n%2zu. ", number);
    draw_colour(draw, DRAW_BAD);
    (void)fputs(advice->name, draw->to);
    draw_colour(draw, DRAW_PLAIN);
    (void)fprintf(draw->to, ", %s %s\n", say_count(count, anomaly->count),
                  anomaly->count == 1 ? "time" : "times");
    draw_sentence(draw, "    symptom", 13, advice->symptom);
    draw_sentence(draw, "    cause", 13, advice->cause);
    draw_sentence(draw, "    check", 13, advice->check);
    draw_sentence(draw, "    action", 13, advice->action);
    if (anomaly->examples == 0) return;
    (void)fputs("    shown by\n", draw->to);
    size_t shown = anomaly->examples < EXAMPLES_SHOWN ? anomaly->examples : EXAMPLES_SHOWN;
    for (size_t i = 0; i < shown; i++) write_example(draw, anomaly, i);
    if (anomaly->count > shown)
        (void)fprintf(draw->to, "      and %s more%s\n", say_count(count, anomaly->count - shown),
                      anomaly->examples > shown ? " (--json lists up to 20)" : "");
}

static void write_anomalies(const struct draw *draw, const struct inspect_report *report)
{
    enum inspect_anomaly_kind kinds[INSPECT_ANOMALY_COUNT];
    size_t count = say_kinds(report, kinds);
    bool has_id = false;
    if (count == 0) return;
    heading(draw, "\nanomalies, the gravest first\n");
    for (size_t i = 0; i < count; i++) {
        const struct inspect_anomaly *anomaly = &report->anomalies[kinds[i]];
        write_anomaly(draw, i + 1, kinds[i], anomaly);
        for (size_t e = 0; e < anomaly->examples; e++)
            has_id |= anomaly->operation_ids[e] && anomaly->operation_ids[e][0];
    }
    if (has_id) (void)fputs("\n--operation ID draws one operation.\n", draw->to);
}

static void write_unread(const struct draw *draw, const struct inspect_report *report)
{
    struct say_unread rows[SAY_UNREAD_MAX];
    size_t count = say_unread(report, rows);
    if (count == 0) return;
    heading(draw, "\nnot read, or with a reservation\n");
    for (size_t i = 0; i < count; i++) {
        char text[SAY_BYTES];
        (void)fprintf(draw->to, "  %10s  %s\n", say_count(text, rows[i].count), rows[i].text);
    }
}

void inspect_write_text(FILE *to, const struct inspect_report *report,
                        const struct inspect_timeline *timeline, const struct inspect_style *style)
{
    const struct draw draw = {to, style};
    if (timeline) {
        draw_timeline(&draw, timeline);
        write_anomalies(&draw, report);
        return;
    }
    write_read(&draw, report);
    write_verdict(&draw, report);
    write_targets(&draw, report);
    write_anomalies(&draw, report);
    write_unread(&draw, report);
}

void inspect_write_news(FILE *to, enum inspect_anomaly_kind kind,
                        const struct inspect_anomaly *anomaly, const struct inspect_style *style)
{
    const struct draw draw = {to, style};
    const struct inspect_advice *advice = inspect_advice(kind);
    char count[SAY_BYTES];
    draw_colour(&draw, DRAW_BAD);
    (void)fputs(advice->name, to);
    draw_colour(&draw, DRAW_PLAIN);
    (void)fprintf(to, " (%s): %s", say_count(count, anomaly->count), advice->symptom);
    size_t last = anomaly->examples;
    if (last > 0 && anomaly->operation_ids[last - 1] && anomaly->operation_ids[last - 1][0]) {
        (void)fputs("; operation ", to);
        draw_foreign(&draw, anomaly->operation_ids[last - 1], 128, false);
    }
    (void)fputc('\n', to);
}
