/* svg.c: draws the charts of the HTML page (svg.h). */
#include "inspect/svg.h"

#include "inspect/say.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>

#define WIDTH 360.0
#define ROW 28.0
#define SERIES_LEFT 34.0
#define SERIES_HEIGHT 120.0

void svg_escape(FILE *to, const char *text, size_t characters_max)
{
    struct belay_slice left = belay_slice_z(text);
    char shown[4];
    size_t took;
    for (size_t i = 0; left.length > 0; i++) {
        if (i == characters_max) {
            (void)fputs("\u2026", to);
            return;
        }
        size_t bytes = say_character(left, true, shown, &took);
        left = belay_slice(left.data + took, left.length - took);
        switch (shown[0]) {
        case '&': (void)fputs("&amp;", to); break;
        case '<': (void)fputs("&lt;", to); break;
        case '>': (void)fputs("&gt;", to); break;
        case '"': (void)fputs("&quot;", to); break;
        case '\'': (void)fputs("&#39;", to); break;
        default: (void)fwrite(shown, 1, bytes, to);
        }
    }
}

static void escape(FILE *to, const char *text)
{
    svg_escape(to, text, SIZE_MAX);
}

static void begin(struct svg *svg, double height, const char *title, const char *description)
{
    unsigned id = ++svg->drawings;
    (void)fprintf(svg->to,
                  "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-labelledby=\"t%u d%u\">"
                  "<title id=\"t%u\">",
                  WIDTH, height, id, id, id);
    escape(svg->to, title);
    (void)fprintf(svg->to, "</title><desc id=\"d%u\">", id);
    escape(svg->to, description);
    (void)fputs("</desc>\n", svg->to);
}

static void end(struct svg *svg)
{
    (void)fputs("</svg>\n", svg->to);
}

static void text(struct svg *svg, double x, double y, const char *class_name, const char *what,
                 size_t characters_max)
{
    (void)fprintf(svg->to, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class_name);
    svg_escape(svg->to, what, characters_max);
    (void)fputs("</text>\n", svg->to);
}

static void rectangle(struct svg *svg, double x, double y, double width, double height,
                      const char *class_name)
{
    (void)fprintf(svg->to,
                  "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" class=\"%s\"/>\n", x,
                  y, width, height, class_name);
}

static void line(struct svg *svg, double x1, double y1, double x2, double y2,
                 const char *class_name)
{
    (void)fprintf(svg->to, "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" class=\"%s\"/>\n",
                  x1, y1, x2, y2, class_name);
}

char *svg_decision_class(char out[SVG_CLASS_BYTES], unsigned decision)
{
    const char *name = belay_decision_name((enum belay_decision)decision);
    (void)snprintf(out, SVG_CLASS_BYTES, "d-%s", name ? name : "unknown");
    return out;
}

/* ---- bars ---- */

void svg_bars(struct svg *svg, const char *title, const struct svg_bar *bars, size_t count,
              double mark)
{
    const double left = 130, right = 266;
    double most = mark;
    for (size_t i = 0; i < count; i++) most = bars[i].length > most ? bars[i].length : most;
    begin(svg, ROW * (double)count + 4, title,
          "Horizontal bars; the table beside them has the same numbers.");
    for (size_t i = 0; i < count; i++) {
        double y = ROW * (double)i + 4;
        double width = most > 0 ? (right - left) * bars[i].length / most : 0;
        if (width < 1.5 && bars[i].length > 0) width = 1.5;
        text(svg, left - 8, y + 15, "label end", bars[i].label, 18);
        rectangle(svg, left, y + 2, width, ROW - 10, bars[i].class_name);
        text(svg, left + width + 6, y + 15, "value", bars[i].value, 20);
    }
    if (mark > 0 && most > 0) {
        double x = left + (right - left) * mark / most;
        line(svg, x, 0, x, ROW * (double)count + 4, "mark");
    }
    end(svg);
}

/* ---- latency ---- */

struct log_scale {
    double left, right, top;
};

static double log_x(const struct log_scale *scale, int64_t ms)
{
    return scale->left + (scale->right - scale->left) * log10((double)ms + 1) / scale->top;
}

/* The line at `ms` is drawn behind the rows. */
static void write_ticks(struct svg *svg, const struct log_scale *scale, double height)
{
    double before = -100;
    for (int64_t ms = 1; ms <= INT64_MAX / 10 && log_x(scale, ms) <= scale->right; ms *= 10) {
        double x = log_x(scale, ms);
        char label[SAY_BYTES];
        line(svg, x, 0, x, height - 18, "grid");
        if (x - before < 44) continue;
        text(svg, x, height - 4, "tick middle", say_ms(label, ms), 12);
        before = x;
    }
}

static void write_latency_row(struct svg *svg, const struct log_scale *scale,
                              const struct inspect_latency *latency, double y, const char *label)
{
    int64_t p50 = inspect_quantile_ms(latency, 0.5), p90 = inspect_quantile_ms(latency, 0.9),
            p99 = inspect_quantile_ms(latency, 0.99);
    char a[SAY_BYTES], b[SAY_BYTES], c[SAY_BYTES], d[SAY_BYTES], all[5 * SAY_BYTES];
    (void)snprintf(all, sizeof all, "p50 %s \u00b7 p90 %s \u00b7 p99 %s \u00b7 max %s",
                   say_ms(a, p50), say_ms(b, p90), say_ms(c, p99), say_ms(d, latency->max_ms));
    text(svg, 0, y + 12, "label strong", label, 24);
    text(svg, 0, y + 44, "value", all, 80);
    double x50 = log_x(scale, p50), x90 = log_x(scale, p90), x99 = log_x(scale, p99),
           xmax = log_x(scale, latency->max_ms);
    line(svg, x50, y + 24, xmax, y + 24, "whisker");
    rectangle(svg, x90, y + 20, x99 - x90, 8, "late");
    rectangle(svg, x50, y + 17, x90 - x50 > 1 ? x90 - x50 : 1, 14, "usual");
    line(svg, xmax, y + 18, xmax, y + 30, "whisker");
    (void)fprintf(svg->to, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"4\" class=\"median\"/>\n", x50,
                  y + 24);
}

void svg_latency(struct svg *svg, const struct inspect_target *target)
{
    const double row = 54;
    int64_t longest = 1;
    size_t rows = 0;
    for (size_t i = 0; i < INSPECT_ATTEMPT_SLOTS; i++) {
        if (target->latency[i].count > 0) rows++;
        if (target->latency[i].max_ms > longest) longest = target->latency[i].max_ms;
    }
    struct log_scale scale = {6, WIDTH - 8, log10((double)longest + 1)};
    double height = row * (double)rows + 22, y = 0;
    begin(svg, height, "Latency by attempt number",
          "For each attempt number: a dot at the median, a thick bar to p90, a thinner one to p99, "
          "a line to the longest, on a logarithmic scale.");
    write_ticks(svg, &scale, height);
    for (size_t i = 0; i < INSPECT_ATTEMPT_SLOTS; i++) {
        if (target->latency[i].count == 0) continue;
        char label[2 * SAY_BYTES], count[SAY_BYTES];
        (void)snprintf(label, sizeof label, "attempt %zu%s (%s)", i + 1,
                       i + 1 == INSPECT_ATTEMPT_SLOTS ? "+" : "",
                       say_count(count, target->latency[i].count));
        write_latency_row(svg, &scale, &target->latency[i], y, label);
        y += row;
    }
    end(svg);
}

/* ---- over time ---- */

static uint64_t decisions_at(const struct inspect_series *series, size_t point)
{
    uint64_t sum = 0;
    for (unsigned d = 0; d < BELAY_DECISION_COUNT; d++) sum += series->decisions[point][d];
    return sum;
}

static void write_axes(struct svg *svg, const struct inspect_series *series, const char *most)
{
    int64_t span = (int64_t)series->count * series->width_ms;
    char from[SAY_BYTES], until[SAY_BYTES];
    line(svg, SERIES_LEFT, 12, WIDTH, 12, "grid");
    line(svg, SERIES_LEFT, 12 + SERIES_HEIGHT / 2, WIDTH, 12 + SERIES_HEIGHT / 2, "grid");
    line(svg, SERIES_LEFT, 12 + SERIES_HEIGHT, WIDTH, 12 + SERIES_HEIGHT, "axis");
    text(svg, SERIES_LEFT - 5, 16, "tick end", most, 12);
    text(svg, SERIES_LEFT - 5, 16 + SERIES_HEIGHT, "tick end", "0", 12);
    text(svg, SERIES_LEFT, SERIES_HEIGHT + 28, "tick", say_clock(from, series->start_ms, span), 20);
    text(svg, WIDTH, SERIES_HEIGHT + 28, "tick end",
         say_clock(until, series->start_ms + span, span), 20);
}

static double series_x(const struct inspect_series *series, size_t point)
{
    return SERIES_LEFT + (WIDTH - SERIES_LEFT) * (double)point / (double)series->count;
}

static void write_point_title(struct svg *svg, const struct inspect_series *series, size_t point)
{
    char clock[SAY_BYTES], count[SAY_BYTES];
    (void)fprintf(svg->to, "<title>%s",
                  say_clock(clock, series->start_ms + (int64_t)point * series->width_ms, 0));
    for (unsigned d = 0; d < BELAY_DECISION_COUNT; d++) {
        if (series->decisions[point][d] > 0)
            (void)fprintf(svg->to, ", %s %s", belay_decision_name((enum belay_decision)d),
                          say_count(count, series->decisions[point][d]));
    }
    (void)fputs("</title>\n", svg->to);
}

void svg_decisions(struct svg *svg, const struct inspect_series *series)
{
    uint64_t most = 0;
    for (size_t i = 0; i < series->count; i++)
        most = decisions_at(series, i) > most ? decisions_at(series, i) : most;
    char label[SAY_BYTES], class_name[SVG_CLASS_BYTES];
    begin(svg, SERIES_HEIGHT + 34, "Decisions over time",
          "Stacked columns, one a span of time; the table beside them has the same numbers.");
    write_axes(svg, series, say_count(label, most));
    double gap = series->count > 60 ? 0.3 : 1;
    for (size_t i = 0; i < series->count && most > 0; i++) {
        if (decisions_at(series, i) == 0) continue;
        double x = series_x(series, i), width = series_x(series, i + 1) - x - gap;
        double y = 12 + SERIES_HEIGHT;
        (void)fputs("<g>", svg->to);
        write_point_title(svg, series, i);
        for (unsigned d = 0; d < BELAY_DECISION_COUNT; d++) {
            double height = SERIES_HEIGHT * (double)series->decisions[i][d] / (double)most;
            if (height <= 0) continue;
            y -= height;
            rectangle(svg, x, y, width, height, svg_decision_class(class_name, d));
        }
        (void)fputs("</g>\n", svg->to);
    }
    end(svg);
}

void svg_concurrency(struct svg *svg, const struct inspect_series *series)
{
    uint64_t busiest = 1;
    for (size_t i = 0; i < series->count; i++)
        busiest = series->busy_ms[i] > busiest ? series->busy_ms[i] : busiest;
    char label[SAY_BYTES];
    begin(svg, SERIES_HEIGHT + 34, "Attempts that ran at once, over time",
          "An area: the mean number of attempts in flight in each span of time.");
    write_axes(svg, series, say_decimal(label, (double)busiest / (double)series->width_ms));
    double bottom = 12 + SERIES_HEIGHT;
    (void)fprintf(svg->to, "<path class=\"area\" d=\"M%.2f %.2f", SERIES_LEFT, bottom);
    for (size_t i = 0; i < series->count; i++) {
        double y = bottom - SERIES_HEIGHT * (double)series->busy_ms[i] / (double)busiest;
        (void)fprintf(svg->to, "V%.2fH%.2f", y, series_x(series, i + 1));
    }
    (void)fprintf(svg->to, "V%.2fZ\"/>\n", bottom);
    end(svg);
}

/* ---- one operation ---- */

struct moment_row {
    double y, per_ms;
};

static void write_moment_text(struct svg *svg, const struct inspect_moment *m, double y)
{
    char words[256] = "", took[SAY_BYTES], wait[SAY_BYTES];
    size_t at = 0;
    if (moment_has(m, INSPECT_ATTEMPT_NUMBER))
        at += (size_t)snprintf(words, sizeof words, "attempt %" PRIu32, m->attempt);
    if (moment_has(m, INSPECT_STATUS) && m->status > 0)
        at += (size_t)snprintf(words + at, sizeof words - at, " \u00b7 %d", m->status);
    if (moment_has(m, INSPECT_ERROR_CLASS) && m->error != BELAY_ERROR_NONE)
        at += (size_t)snprintf(words + at, sizeof words - at, " \u00b7 %s",
                               belay_error_class_name(m->error));
    if (moment_has(m, INSPECT_ELAPSED))
        at += (size_t)snprintf(words + at, sizeof words - at, " \u00b7 %s",
                               say_ms(took, m->elapsed_ms));
    if (moment_has(m, INSPECT_DECISION))
        at += (size_t)snprintf(words + at, sizeof words - at, " \u00b7 %s",
                               belay_decision_name(m->decision));
    if (moment_has(m, INSPECT_WAIT) && m->wait_ms > 0)
        (void)snprintf(words + at, sizeof words - at, ", waits %s", say_ms(wait, m->wait_ms));
    text(svg, 0, y + 11, "label", words, 80);
}

static void write_moment(struct svg *svg, const struct inspect_moment *m,
                         const struct moment_row *row)
{
    double x = (double)m->start_ms * row->per_ms;
    double width = (moment_has(m, INSPECT_ELAPSED) ? (double)m->elapsed_ms : 0) * row->per_ms;
    double wait = (moment_has(m, INSPECT_WAIT) ? (double)m->wait_ms : 0) * row->per_ms;
    bool good = moment_has(m, INSPECT_DECISION) && m->decision == BELAY_DECISION_RETURN;
    write_moment_text(svg, m, row->y);
    rectangle(svg, x, row->y + 21, width + wait, 6, "wait");
    rectangle(svg, x, row->y + 17, width > 2 ? width : 2, 14, good ? "d-return" : "failed");
}

bool svg_shows_deadline(const struct inspect_timeline *t)
{
    return t->deadline_ms >= 0 && t->deadline_ms / 4 <= (t->end_ms > 0 ? t->end_ms : 1);
}

void svg_timeline(struct svg *svg, const struct inspect_timeline *t)
{
    const size_t shown = t->count < 40 ? t->count : 40;
    const double row = 42, height = row * (double)shown + 22;
    int64_t scale_ms = t->end_ms > 0 ? t->end_ms : 1;
    bool deadline = svg_shows_deadline(t);
    if (deadline && t->deadline_ms > scale_ms) scale_ms = t->deadline_ms;
    struct moment_row at = {0, (WIDTH - 4) / (double)scale_ms};
    char label[SAY_BYTES];
    begin(svg, height, "Attempts and waits of the operation",
          "A thick bar for each attempt, a thin one for the wait that followed it.");
    for (size_t i = 0; i < shown; i++) {
        write_moment(svg, &t->moments[i], &at);
        at.y += row;
    }
    line(svg, 0, height - 18, WIDTH, height - 18, "axis");
    text(svg, 0, height - 4, "tick", "0", 4);
    text(svg, WIDTH, height - 4, "tick end", say_ms(label, scale_ms), 16);
    if (deadline) {
        double x = (double)t->deadline_ms * at.per_ms;
        line(svg, x, 0, x, height - 18, "mark");
    }
    end(svg);
}
