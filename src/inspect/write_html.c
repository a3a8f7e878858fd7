/* write_html.c: a report as one page that needs nothing else: no script, no other file, no network.
 */
#include "inspect/say.h"

#include "base/check.h"
#include "inspect/sheet.h"
#include "inspect/svg.h"
#include "inspect/write.h"

#include <inttypes.h>
#include <stdint.h>

#define TARGETS_SHOWN 30 /* with charts; the table has more */
#define TARGETS_LISTED 500
#define BARS_MAX 24

struct page {
    FILE *to;
    struct svg svg;
};

static void put(const struct page *page, const char *html)
{
    (void)fputs(html, page->to);
}

static void escape(const struct page *page, const char *text)
{
    svg_escape(page->to, text, SIZE_MAX);
}

static void tile(const struct page *page, const char *name, const char *value)
{
    (void)fprintf(page->to, "<div><dt>%s</dt><dd>%s</dd></div>\n", name, value);
}

static void number_cell(const struct page *page, const char *text)
{
    put(page, "<td class=\"n\">");
    escape(page, text);
    put(page, "</td>");
}

static void begin_figure(const struct page *page, const char *caption, const char *note)
{
    (void)fprintf(page->to, "<figure><figcaption>%s", caption);
    if (note) (void)fprintf(page->to, "<small>%s</small>", note);
    put(page, "</figcaption>\n");
}

/* The same as a table, folded up beside its chart. */
static void begin_table(const struct page *page, const char *const *heads, size_t count)
{
    put(page, "<details><summary>As a table</summary><div class=\"scroll\" "
              "tabindex=\"0\"><table><thead><tr>");
    for (size_t i = 0; i < count; i++)
        (void)fprintf(page->to, "<th%s scope=\"col\">%s</th>", i > 0 ? " class=\"n\"" : "",
                      heads[i]);
    put(page, "</tr></thead><tbody>\n");
}

static void end_table(const struct page *page)
{
    put(page, "</tbody></table></div></details>\n");
}

/* ---- the head of the page and the verdict ---- */

static void write_head(const struct page *page, const struct inspect_report *report,
                       const char *source)
{
    char a[SAY_BYTES], b[SAY_BYTES], c[SAY_BYTES], d[SAY_BYTES];
    put(page, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
              "style-src 'unsafe-inline'; img-src data:\">\n"
              "<link rel=\"icon\" href=\"data:,\">\n<title>belay inspect: ");
    escape(page, source);
    put(page, "</title>\n<style>\n");
    put(page, inspect_sheet);
    put(page, "</style>\n</head>\n<body>\n<header>\n<h1>What the events say</h1>\n<p "
              "class=\"faint\"><code>");
    escape(page, source);
    (void)fprintf(page->to, "</code>: %s lines (%s), %s records of %s operation%s",
                  say_count(a, report->lines), say_bytes(b, report->bytes),
                  say_count(c, report->records), say_count(d, say_operations(report)),
                  say_operations(report) == 1 ? "" : "s");
    if (report->first.ns != 0) {
        int64_t first = report->first.ns / BELAY_NS_PER_MS,
                last = report->last.ns / BELAY_NS_PER_MS;
        (void)fprintf(page->to, ", from %s to %s (%s)", say_time(a, first), say_time(b, last),
                      say_ms(c, last - first));
    }
    put(page, ".</p>\n</header>\n<main>\n");
}

static void write_verdict(const struct page *page, const struct inspect_report *report)
{
    enum inspect_anomaly_kind kinds[INSPECT_ANOMALY_COUNT];
    size_t count = say_kinds(report, kinds);
    char text[SAY_BYTES];
    if (count == 0) {
        (void)fprintf(page->to, "<section class=\"card verdict\"><p>%s</p></section>\n",
                      report->records > 0 ? "Nothing wrong was found." : "No event was found.");
        return;
    }
    (void)fprintf(page->to, "<section class=\"card verdict bad\"><p>%zu %s found.</p><ul>\n", count,
                  count == 1 ? "kind of anomaly was" : "kinds of anomalies were");
    for (size_t i = 0; i < count; i++) {
        const char *name = inspect_advice(kinds[i])->name;
        (void)fprintf(page->to, "<li><a href=\"#%s\">%s \u00b7 %s</a></li>\n", name, name,
                      say_count(text, report->anomalies[kinds[i]].count));
    }
    put(page, "</ul></section>\n");
}

/* ---- a target's charts ---- */

struct bars {
    struct svg_bar bars[BARS_MAX];
    char labels[BARS_MAX][SAY_BYTES], values[BARS_MAX][2 * SAY_BYTES],
        classes[BARS_MAX][SVG_CLASS_BYTES];
    uint64_t counts[BARS_MAX];
    size_t count;
};

static void add_bar(struct bars *bars, const char *label, const char *class_name, uint64_t part,
                    uint64_t of)
{
    char count[SAY_BYTES], share[SAY_BYTES];
    if (part == 0 || bars->count == BARS_MAX) return;
    size_t i = bars->count++;
    (void)snprintf(bars->labels[i], sizeof bars->labels[i], "%s", label);
    (void)snprintf(bars->values[i], sizeof bars->values[i], "%s (%s)", say_count(count, part),
                   say_share(share, part, of));
    (void)snprintf(bars->classes[i], sizeof bars->classes[i], "%s", class_name);
    bars->counts[i] = part;
    bars->bars[i] =
        (struct svg_bar){bars->labels[i], bars->values[i], bars->classes[i], (double)part};
}

static void write_bars(struct page *page, const char *caption, const char *note,
                       const char *const heads[2], const struct bars *bars)
{
    char text[SAY_BYTES];
    if (bars->count == 0) return;
    begin_figure(page, caption, note);
    svg_bars(&page->svg, caption, bars->bars, bars->count, 0);
    begin_table(page, heads, 2);
    for (size_t i = 0; i < bars->count; i++) {
        (void)fprintf(page->to, "<tr><td>%s</td>", bars->labels[i]);
        number_cell(page, say_count(text, bars->counts[i]));
        put(page, "</tr>\n");
    }
    end_table(page);
    put(page, "</figure>\n");
}

static void write_attempts(struct page *page, const struct inspect_target *target)
{
    static const char *const HEADS[] = {"Attempts", "Operations"};
    struct bars bars = {.count = 0};
    for (size_t i = 0; i <= INSPECT_ATTEMPT_SLOTS; i++) {
        char label[SAY_BYTES];
        (void)snprintf(label, sizeof label, "%zu%s attempt%s", i,
                       i == INSPECT_ATTEMPT_SLOTS ? "+" : "", i == 1 ? "" : "s");
        add_bar(&bars, label, "plain", target->attempts_of[i], target->operations);
    }
    write_bars(page, "Attempts an operation", NULL, HEADS, &bars);
}

static void write_decisions(struct page *page, const struct inspect_target *target)
{
    static const char *const HEADS[] = {"Decision", "Attempts"};
    struct bars bars = {.count = 0};
    char class_name[SVG_CLASS_BYTES];
    for (unsigned i = 0; i < BELAY_DECISION_COUNT; i++)
        add_bar(&bars, belay_decision_name((enum belay_decision)i),
                svg_decision_class(class_name, i), target->decisions[i], target->attempts);
    add_bar(&bars, "none, or unknown", "d-unknown", target->decision_unknown, target->attempts);
    write_bars(page, "Decisions", "one after each attempt", HEADS, &bars);
}

static void write_endings(struct page *page, const struct inspect_target *target)
{
    static const char *const HEADS[] = {"Ending", "Operations"};
    struct bars bars = {.count = 0};
    add_bar(&bars, "with an answer", "d-return", target->answered, target->operations);
    for (unsigned i = BELAY_TERMINAL_NONE + 1; i < BELAY_TERMINAL_COUNT; i++)
        add_bar(&bars, belay_terminal_name((enum belay_terminal)i), "d-deadline_exceeded",
                target->terminals[i], target->operations);
    add_bar(&bars, "stop", "d-stop", target->stopped, target->operations);
    add_bar(&bars, "check_state", "d-check_state", target->state_checks, target->operations);
    if (bars.count > 0) add_bar(&bars, "open", "d-unknown", say_open(target), target->operations);
    write_bars(page, "How operations ended", NULL, HEADS, &bars);
}

static void write_outcomes(struct page *page, const struct inspect_target *target)
{
    static const char *const HEADS[] = {"Outcome", "Attempts"}, *const CLASSES[] = {NULL,  "1xx",
                                                                                    "2xx", "3xx",
                                                                                    "4xx", "5xx"};
    static const char *const COLOURS[] = {NULL,     "d-unknown", "d-return", "d-check_state",
                                          "d-stop", "d-retry"};
    struct bars bars = {.count = 0};
    for (size_t i = 1; i < 6; i++) {
        uint64_t all = target->status_class[i], apart = i == 4 ? target->too_many_requests : 0;
        add_bar(&bars, apart > 0 ? "other 4xx" : CLASSES[i], COLOURS[i],
                all > apart ? all - apart : 0, target->attempts);
        add_bar(&bars, "429", "d-budget_exhausted", apart, target->attempts);
    }
    for (unsigned i = BELAY_ERROR_NONE + 1; i < BELAY_ERROR_COUNT; i++)
        add_bar(&bars, belay_error_class_name((enum belay_error_class)i), "d-deadline_exceeded",
                target->errors[i], target->attempts);
    write_bars(page, "What attempts came to", "statuses, and why there was none", HEADS, &bars);
}

static void write_latency(struct page *page, const struct inspect_target *target)
{
    static const char *const HEADS[] = {"Attempt", "Count", "p50", "p90", "p99", "max"};
    static const double SHARES[] = {0.5, 0.9, 0.99};
    uint64_t seen = 0;
    for (size_t i = 0; i < INSPECT_ATTEMPT_SLOTS; i++) seen += target->latency[i].count;
    if (seen == 0) return;
    begin_figure(page, "Latency by attempt",
                 "dot: median; bars: to p90 and p99; line: the longest");
    svg_latency(&page->svg, target);
    begin_table(page, HEADS, COUNT(HEADS));
    for (size_t i = 0; i < INSPECT_ATTEMPT_SLOTS; i++) {
        const struct inspect_latency *latency = &target->latency[i];
        char text[SAY_BYTES];
        if (latency->count == 0) continue;
        (void)fprintf(page->to, "<tr><td>%zu%s</td>", i + 1,
                      i + 1 == INSPECT_ATTEMPT_SLOTS ? "+" : "");
        number_cell(page, say_count(text, latency->count));
        for (size_t s = 0; s < COUNT(SHARES); s++)
            number_cell(page, say_ms(text, inspect_quantile_ms(latency, SHARES[s])));
        number_cell(page, say_ms(text, latency->max_ms));
        put(page, "</tr>\n");
    }
    end_table(page);
    put(page, "</figure>\n");
}

/* ---- over time ---- */

static void write_legend(const struct page *page, const bool used[BELAY_DECISION_COUNT])
{
    char class_name[SVG_CLASS_BYTES];
    put(page, "<ul class=\"legend\">");
    for (unsigned d = 0; d < BELAY_DECISION_COUNT; d++) {
        if (used[d])
            (void)fprintf(page->to, "<li><i class=\"%s\"></i>%s</li>",
                          svg_decision_class(class_name, d),
                          belay_decision_name((enum belay_decision)d));
    }
    put(page, "</ul>\n");
}

static void write_points(const struct page *page, const struct inspect_series *series,
                         const bool used[BELAY_DECISION_COUNT])
{
    const char *heads[BELAY_DECISION_COUNT + 2] = {"From"};
    size_t columns = 1;
    for (unsigned d = 0; d < BELAY_DECISION_COUNT; d++) {
        if (used[d]) heads[columns++] = belay_decision_name((enum belay_decision)d);
    }
    heads[columns++] = "at once";
    begin_table(page, heads, columns);
    for (size_t i = 0; i < series->count; i++) {
        char text[SAY_BYTES];
        (void)fprintf(page->to, "<tr><td>%s</td>",
                      say_time(text, series->start_ms + (int64_t)i * series->width_ms));
        for (unsigned d = 0; d < BELAY_DECISION_COUNT; d++) {
            if (used[d]) number_cell(page, say_count(text, series->decisions[i][d]));
        }
        number_cell(page, say_decimal(text, (double)series->busy_ms[i] / (double)series->width_ms));
        put(page, "</tr>\n");
    }
    end_table(page);
}

static void write_series(struct page *page, const struct inspect_target *target)
{
    const struct inspect_series *series = &target->series;
    bool used[BELAY_DECISION_COUNT] = {false};
    char text[SAY_BYTES], note[2 * SAY_BYTES];
    if (series->width_ms <= 0 || series->count < 2) return;
    for (size_t i = 0; i < series->count; i++) {
        for (unsigned d = 0; d < BELAY_DECISION_COUNT; d++) used[d] |= series->decisions[i][d] > 0;
    }
    (void)snprintf(note, sizeof note, "UTC, %s a column", say_ms(text, series->width_ms));
    begin_figure(page, "Decisions over time", note);
    write_legend(page, used);
    svg_decisions(&page->svg, series);
    write_points(page, series, used);
    put(page, "</figure>\n");
    begin_figure(page, "Attempts that ran at once", "a bulkhead's limit can be set from it");
    svg_concurrency(&page->svg, series);
    put(page, "</figure>\n");
}

static void write_target(struct page *page, const struct inspect_target *target)
{
    char text[SAY_BYTES];
    put(page, "<section><h2>Target <code>");
    escape(page, say_target(target));
    put(page, "</code></h2>\n<dl class=\"tiles\">\n");
    tile(page, "operations", say_count(text, target->operations));
    tile(page, "attempts", say_count(text, target->attempts));
    tile(page, "retries", say_count(text, target->retries));
    tile(page, "amplification", say_ratio(text, target->attempts, target->operations));
    tile(page, "timeouts", say_count(text, target->errors[BELAY_ERROR_TIMEOUT]));
    tile(page, "status 429", say_count(text, target->too_many_requests));
    if (target->effect_unknown > 0)
        tile(page, "effect unknown", say_count(text, target->effect_unknown));
    if (target->fallbacks > 0) tile(page, "fallbacks", say_count(text, target->fallbacks));
    tile(page, "at once, mean", say_decimal(text, target->concurrency_mean));
    tile(page, "at once, peak", say_decimal(text, target->concurrency_peak));
    put(page, "</dl>\n<div class=\"charts\">\n");
    write_attempts(page, target);
    write_endings(page, target);
    write_decisions(page, target);
    write_outcomes(page, target);
    write_series(page, target);
    write_latency(page, target);
    put(page, "</div></section>\n");
}

/* ---- all targets ---- */

static void write_amplification(struct page *page, const struct inspect_report *report)
{
    struct svg_bar bars[BARS_MAX];
    char values[BARS_MAX][SAY_BYTES];
    size_t count = report->target_count < BARS_MAX ? report->target_count : BARS_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct inspect_target *target = &report->targets[i];
        double ratio =
            target->operations ? (double)target->attempts / (double)target->operations : 0;
        bars[i] = (struct svg_bar){say_target(target),
                                   say_ratio(values[i], target->attempts, target->operations),
                                   "plain", ratio};
    }
    begin_figure(page, "Amplification a target", "attempts over operations; dashed: 1, no retries");
    svg_bars(&page->svg, "Amplification a target", bars, count, 1);
    put(page, "</figure>\n");
}

static void write_overview(struct page *page, const struct inspect_report *report)
{
    size_t listed = report->target_count < TARGETS_LISTED ? report->target_count : TARGETS_LISTED;
    char text[SAY_BYTES];
    put(page, "<section><h2>Targets</h2>\n<div class=\"charts\">\n");
    write_amplification(page, report);
    put(page, "<div class=\"card\"><div class=\"scroll\" tabindex=\"0\"><table><thead><tr>"
              "<th scope=\"col\">Target</th><th scope=\"col\" class=\"n\">Operations</th>"
              "<th scope=\"col\" class=\"n\">Attempts</th><th scope=\"col\" "
              "class=\"n\">Amplification</th>"
              "<th scope=\"col\" class=\"n\">Timeouts</th><th scope=\"col\" class=\"n\">429</th>"
              "</tr></thead><tbody>\n");
    for (size_t i = 0; i < listed; i++) {
        const struct inspect_target *target = &report->targets[i];
        put(page, "<tr><td>");
        escape(page, say_target(target));
        put(page, "</td>");
        number_cell(page, say_count(text, target->operations));
        number_cell(page, say_count(text, target->attempts));
        number_cell(page, say_ratio(text, target->attempts, target->operations));
        number_cell(page, say_count(text, target->errors[BELAY_ERROR_TIMEOUT]));
        number_cell(page, say_count(text, target->too_many_requests));
        put(page, "</tr>\n");
    }
    put(page, "</tbody></table></div>\n");
    if (report->target_count > TARGETS_SHOWN)
        (void)fprintf(page->to, "<p class=\"faint\">The first %d of %zu have charts below.</p>\n",
                      TARGETS_SHOWN, report->target_count);
    put(page, "</div></div></section>\n");
}

/* ---- anomalies and what was not read ---- */

static void write_advice(const struct page *page, const struct inspect_advice *advice)
{
    const struct {
        const char *name, *text;
    } ROWS[] = {{"Symptom", advice->symptom},
                {"Cause", advice->cause},
                {"Check", advice->check},
                {"Action", advice->action}};
    put(page, "<dl class=\"advice\">");
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        (void)fprintf(page->to, "<dt>%s</dt><dd>", ROWS[i].name);
        escape(page, ROWS[i].text);
        put(page, "</dd>\n");
    }
    put(page, "</dl>\n");
}

static void write_examples(const struct page *page, const struct inspect_anomaly *anomaly)
{
    if (anomaly->examples == 0) return;
    put(page,
        "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">Operation</th>"
        "<th scope=\"col\" class=\"n\">Line</th><th scope=\"col\">What it "
        "shows</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < anomaly->examples; i++) {
        const char *id = anomaly->operation_ids[i];
        put(page, "<tr><td><code>");
        escape(page, id && id[0] ? id : "\u2014");
        put(page, "</code></td><td class=\"n\">");
        if (anomaly->lines[i] > 0) (void)fprintf(page->to, "%" PRIu64, anomaly->lines[i]);
        put(page, "</td><td class=\"w\">");
        if (anomaly->detail[i]) escape(page, anomaly->detail[i]);
        put(page, "</td></tr>\n");
    }
    put(page, "</tbody></table></div>\n");
    char text[SAY_BYTES];
    if (anomaly->count > anomaly->examples)
        (void)fprintf(page->to, "<p class=\"faint\">and %s more</p>\n",
                      say_count(text, anomaly->count - anomaly->examples));
}

static void write_anomalies(const struct page *page, const struct inspect_report *report)
{
    enum inspect_anomaly_kind kinds[INSPECT_ANOMALY_COUNT];
    size_t count = say_kinds(report, kinds);
    char text[SAY_BYTES];
    if (count == 0) return;
    put(page, "<section><h2>Anomalies, the gravest first</h2>\n");
    for (size_t i = 0; i < count; i++) {
        const struct inspect_anomaly *anomaly = &report->anomalies[kinds[i]];
        const struct inspect_advice *advice = inspect_advice(kinds[i]);
        (void)fprintf(page->to,
                      "<article class=\"card\" id=\"%s\"><h3>%s <small>%s %s</small></h3>\n",
                      advice->name, advice->name, say_count(text, anomaly->count),
                      anomaly->count == 1 ? "time" : "times");
        write_advice(page, advice);
        write_examples(page, anomaly);
        put(page, "</article>\n");
    }
    put(page, "</section>\n");
}

static void write_unread(const struct page *page, const struct inspect_report *report)
{
    struct say_unread rows[SAY_UNREAD_MAX];
    size_t count = say_unread(report, rows);
    char text[SAY_BYTES];
    if (count == 0) return;
    put(page,
        "<section><h2>Not read, or with a reservation</h2><div class=\"card\"><table><tbody>\n");
    for (size_t i = 0; i < count; i++) {
        put(page, "<tr>");
        number_cell(page, say_count(text, rows[i].count));
        put(page, "<td>");
        escape(page, rows[i].text);
        put(page, "</td></tr>\n");
    }
    put(page, "</tbody></table></div></section>\n");
}

static void write_timeline(struct page *page, const struct inspect_timeline *t)
{
    char text[SAY_BYTES], note[2 * SAY_BYTES] = "";
    put(page, "<section><h2>Operation <code>");
    escape(page, t->shown_id);
    put(page, "</code></h2>\n<p>");
    escape(page, t->method);
    put(page, " ");
    escape(page, t->endpoint[0] ? t->endpoint : t->route);
    if (t->result_status > 0)
        (void)fprintf(page->to, ", result %d", t->result_status);
    else if (t->result_word[0]) {
        put(page, ", result ");
        escape(page, t->result_word);
    }
    put(page, "</p>\n");
    if (t->deadline_ms >= 0)
        (void)snprintf(note, sizeof note, "deadline %s, %s", say_ms(text, t->deadline_ms),
                       svg_shows_deadline(t) ? "the dashed line" : "beyond the drawing");
    begin_figure(page, "Attempts and waits", note[0] ? note : NULL);
    svg_timeline(&page->svg, t);
    put(page, "</figure></section>\n");
}

void inspect_write_html(FILE *to, const struct inspect_report *report,
                        const struct inspect_timeline *timeline, const char *source)
{
    struct page page = {to, {to, 0}};
    size_t shown = report->target_count < TARGETS_SHOWN ? report->target_count : TARGETS_SHOWN;
    write_head(&page, report, source);
    write_verdict(&page, report);
    if (timeline) write_timeline(&page, timeline);
    if (report->target_count > 0) write_overview(&page, report);
    for (size_t i = 0; i < shown; i++) write_target(&page, &report->targets[i]);
    write_anomalies(&page, report);
    write_unread(&page, report);
    put(&page, "</main>\n<footer>Made by <code>belay inspect</code>.</footer>\n</body>\n</html>\n");
}
