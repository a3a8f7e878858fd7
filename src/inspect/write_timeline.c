/* write_timeline.c: one operation on a terminal: a bar for each attempt and each wait (draw.h). */
#include "inspect/draw.h"
#include "inspect/say.h"

#include <inttypes.h>

#define BAR_COLUMNS 36
#define MOMENTS_SHOWN 64

/* Milliseconds to columns. The deadline is on the scale unless that would make all else a dot. */
struct scale {
    int64_t end_ms;
    size_t deadline; /* column; BAR_COLUMNS: not on it */
};

static size_t column_of(int64_t ms, int64_t end_ms)
{
    if (end_ms <= 0 || ms <= 0) return 0;
    return (size_t)((double)ms / (double)end_ms * BAR_COLUMNS);
}

static struct scale scale_of(const struct inspect_timeline *t)
{
    struct scale scale = {t->end_ms > 0 ? t->end_ms : 1, BAR_COLUMNS};
    if (t->deadline_ms < 0 || t->deadline_ms / 4 > scale.end_ms) return scale;
    if (t->deadline_ms >= scale.end_ms) scale.end_ms = t->deadline_ms;
    scale.deadline = column_of(t->deadline_ms, scale.end_ms);
    if (scale.deadline >= BAR_COLUMNS) scale.deadline = BAR_COLUMNS - 1;
    return scale;
}

/* At least one column is filled. */
static void write_bar(const struct draw *draw, const struct scale *scale, int64_t from_ms,
                      int64_t until_ms, bool attempt)
{
    static const char *const GLYPHS[2][2] = {{".", "#"}, {"\u2591", "\u2588"}};
    size_t from = column_of(from_ms, scale->end_ms), until = column_of(until_ms, scale->end_ms);
    if (from >= BAR_COLUMNS) from = BAR_COLUMNS - 1;
    if (until <= from) until = from + 1;
    for (size_t i = 0; i < BAR_COLUMNS; i++) {
        const char *glyph = i == scale->deadline ? (draw->style->utf8 ? "\u2502" : "|") : " ";
        if (i >= from && i < until) glyph = GLYPHS[draw->style->utf8][attempt];
        (void)fputs(glyph, draw->to);
    }
}

/* ---- what stands above ---- */

static void write_names(const struct draw *draw, const struct inspect_timeline *t)
{
    draw_colour(draw, DRAW_STRONG);
    (void)fputs("operation ", draw->to);
    draw_foreign(draw, t->shown_id, 128, false);
    draw_colour(draw, DRAW_PLAIN);
    (void)fputs("\n  ", draw->to);
    draw_foreign(draw, t->method[0] ? t->method : "(no method)", 20, false);
    const char *path = t->endpoint[0] ? t->endpoint : t->route;
    if (path[0]) (void)fputc(' ', draw->to);
    draw_foreign(draw, path, 60, false);
    if (t->target[0]) (void)fputs(" at target ", draw->to);
    draw_foreign(draw, t->target, 60, false);
    char text[SAY_BYTES];
    if (t->time.ns != 0)
        (void)fprintf(draw->to, ", begun %s", say_time(text, t->time.ns / BELAY_NS_PER_MS));
    if (t->trace_id[0]) (void)fputs("\n  trace ", draw->to);
    draw_foreign(draw, t->trace_id, 64, false);
    (void)fputc('\n', draw->to);
}

static void write_result(const struct draw *draw, const struct inspect_timeline *t)
{
    if (!t->summary) {
        (void)fputs("  There is no operation record: it had not ended, or its record is missing.\n",
                    draw->to);
        return;
    }
    (void)fputs("  Its result: ", draw->to);
    if (t->result_status > 0)
        (void)fprintf(draw->to, "status %d", t->result_status);
    else
        draw_foreign(draw, t->result_word[0] ? t->result_word : "not said", 40, false);
    if (t->summary & INSPECT_BIT(INSPECT_ANSWER) && t->answer > 0)
        (void)fprintf(draw->to, "; the caller was given %d", t->answer);
    if (t->effect != BELAY_EFFECT_NOT_A_WRITE)
        (void)fprintf(draw->to, "; effect %s", belay_effect_name(t->effect));
    if (t->fallback[0]) (void)fputs("; fallback ", draw->to);
    draw_foreign(draw, t->fallback, 40, false);
    char text[SAY_BYTES];
    if (t->summary & INSPECT_BIT(INSPECT_ELAPSED))
        (void)fprintf(draw->to, "; all of it took %s", say_ms(text, t->elapsed_ms));
    (void)fputs(".\n", draw->to);
}

static void write_scale(const struct draw *draw, const struct inspect_timeline *t,
                        const struct scale *scale)
{
    char end[SAY_BYTES], deadline[SAY_BYTES];
    (void)fprintf(draw->to, "\n      0 ms%*s", BAR_COLUMNS - 4, say_ms(end, scale->end_ms));
    if (t->deadline_ms >= 0) {
        bool on = scale->deadline < BAR_COLUMNS;
        (void)fprintf(draw->to, "  %sdeadline %s%s", on ? draw->style->utf8 ? "\u2502 " : "| " : "",
                      say_ms(deadline, t->deadline_ms), on ? "" : ", off the scale");
    }
    (void)fputc('\n', draw->to);
}

/* ---- the bars ---- */

static void write_outcome(const struct draw *draw, const struct inspect_moment *m)
{
    char text[SAY_BYTES];
    bool error = moment_has(m, INSPECT_ERROR_CLASS) && m->error != BELAY_ERROR_NONE;
    if (moment_has(m, INSPECT_STATUS) && m->status > 0) (void)fprintf(draw->to, "%d ", m->status);
    if (error) (void)fprintf(draw->to, "%s ", belay_error_class_name(m->error));
    if (error && moment_has(m, INSPECT_PHASE) && m->phase != BELAY_PHASE_NONE)
        (void)fprintf(draw->to, "in %s ", belay_phase_name(m->phase));
    if (m->stale) (void)fputs("(stale) ", draw->to);
    if (moment_has(m, INSPECT_ELAPSED)) (void)fprintf(draw->to, "%s", say_ms(text, m->elapsed_ms));
}

static void write_moment(const struct draw *draw, const struct scale *scale,
                         const struct inspect_moment *m)
{
    bool good = moment_has(m, INSPECT_DECISION) && m->decision == BELAY_DECISION_RETURN;
    int64_t end = belay_ns_add(m->start_ms, moment_has(m, INSPECT_ELAPSED) ? m->elapsed_ms : 0);
    if (moment_has(m, INSPECT_ATTEMPT_NUMBER))
        (void)fprintf(draw->to, "%4" PRIu32 "  ", m->attempt);
    else
        (void)fputs("   ?  ", draw->to);
    draw_colour(draw, good ? DRAW_GOOD : DRAW_BAD);
    write_bar(draw, scale, m->start_ms, end, true);
    draw_colour(draw, DRAW_PLAIN);
    (void)fputs("  ", draw->to);
    write_outcome(draw, m);
    if (moment_has(m, INSPECT_DECISION))
        (void)fprintf(draw->to, "\n%*s%s", BAR_COLUMNS + 8, "", belay_decision_name(m->decision));
    if (moment_has(m, INSPECT_DECISION) && moment_has(m, INSPECT_REASON))
        (void)fprintf(draw->to, ": %s", belay_reason_name(m->reason));
    (void)fputc('\n', draw->to);
}

static void write_wait(const struct draw *draw, const struct scale *scale,
                       const struct inspect_moment *m)
{
    char text[SAY_BYTES];
    bool hint = moment_has(m, INSPECT_RETRY_AFTER);
    int64_t from = belay_ns_add(m->start_ms, moment_has(m, INSPECT_ELAPSED) ? m->elapsed_ms : 0);
    if (moment_has(m, INSPECT_WAIT) && m->wait_ms > 0) {
        (void)fputs("      ", draw->to);
        draw_colour(draw, DRAW_CARE);
        write_bar(draw, scale, from, belay_ns_add(from, m->wait_ms), false);
        draw_colour(draw, DRAW_PLAIN);
        (void)fprintf(draw->to, "  waits %s", say_ms(text, m->wait_ms));
        if (moment_has(m, INSPECT_WAIT_SOURCE) && m->wait_source != BELAY_WAIT_NONE)
            (void)fprintf(draw->to, " (%s)", belay_wait_source_name(m->wait_source));
        (void)fputc('\n', draw->to);
    }
    if (hint)
        (void)fprintf(draw->to, "%*sRetry-After was %s\n", BAR_COLUMNS + 8, "",
                      say_ms(text, m->retry_after_ms));
}

/* What lies between two attempts beside the wait. */
static void write_between(const struct draw *draw, const struct inspect_moment *before,
                          const struct inspect_moment *m)
{
    char text[SAY_BYTES];
    int64_t end = belay_ns_add(before->start_ms,
                               moment_has(before, INSPECT_ELAPSED) ? before->elapsed_ms : 0);
    if (moment_has(before, INSPECT_WAIT)) end = belay_ns_add(end, before->wait_ms);
    bool numbered =
        moment_has(before, INSPECT_ATTEMPT_NUMBER) && moment_has(m, INSPECT_ATTEMPT_NUMBER);
    if (numbered && m->attempt - before->attempt > 1) {
        (void)fprintf(draw->to, "%*s", BAR_COLUMNS + 8, "");
        draw_colour(draw, DRAW_BAD);
        (void)fprintf(draw->to, "%s between are missing",
                      say_count(text, m->attempt - before->attempt - 1));
        draw_colour(draw, DRAW_PLAIN);
        (void)fputc('\n', draw->to);
    } else if (m->start_ms - end > 1) { /* one is lost in rounding */
        (void)fprintf(draw->to, "%*sheld or queued %s\n", BAR_COLUMNS + 8, "",
                      say_ms(text, m->start_ms - end));
    }
}

void draw_timeline(const struct draw *draw, const struct inspect_timeline *t)
{
    struct scale scale = scale_of(t);
    size_t shown = t->count < MOMENTS_SHOWN ? t->count : MOMENTS_SHOWN;
    char text[SAY_BYTES];
    write_names(draw, t);
    write_result(draw, t);
    if (t->count == 0) {
        (void)fputs("  No attempt was made, or none is in the log.\n", draw->to);
        return;
    }
    write_scale(draw, t, &scale);
    for (size_t i = 0; i < shown; i++) {
        if (i > 0) write_between(draw, &t->moments[i - 1], &t->moments[i]);
        write_moment(draw, &scale, &t->moments[i]);
        write_wait(draw, &scale, &t->moments[i]);
    }
    uint64_t hidden = t->count - shown + t->left_out;
    if (hidden > 0)
        (void)fprintf(draw->to, "      and %s attempts more\n", say_count(text, hidden));
    if (t->repeats > 0)
        (void)fprintf(draw->to, "      %s records came more than once\n",
                      say_count(text, t->repeats));
}
