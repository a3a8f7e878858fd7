/* series.c: counts over time in a bounded number of points (series.h). */
#include "inspect/series.h"

/* Rounded down, before the epoch too. */
static int64_t floor_to(int64_t ms, int64_t width)
{
    int64_t rest = ms % width;
    return ms - (rest < 0 ? rest + width : rest);
}

static void merge(struct series *series, size_t from, size_t to)
{
    struct inspect_series *shown = &series->shown;
    if (from == to) return;
    for (size_t d = 0; d < BELAY_DECISION_COUNT; d++) {
        shown->decisions[to][d] += shown->decisions[from][d];
        shown->decisions[from][d] = 0;
    }
    shown->busy_ms[to] += shown->busy_ms[from];
    series->firsts[to] += series->firsts[from];
    series->retries[to] += series->retries[from];
    shown->busy_ms[from] = series->firsts[from] = series->retries[from] = 0;
}

static void double_width(struct series *series)
{
    struct inspect_series *shown = &series->shown;
    int64_t width = shown->width_ms * 2;
    int64_t start = floor_to(shown->start_ms, width);
    size_t shift = start == shown->start_ms ? 0 : 1;
    /* With an odd start the first point stays where it is, and each pair after it moves down. */
    for (size_t from = 0; from < shown->count; from++) merge(series, from, (from + shift) / 2);
    shown->count = (shown->count + shift + 1) / 2;
    shown->start_ms = start;
    shown->width_ms = width;
}

static void move_up(struct series *series, size_t by)
{
    if (by == 0) return;
    for (size_t from = series->shown.count; from-- > 0;) merge(series, from, from + by);
    series->shown.count += by;
    series->shown.start_ms -= (int64_t)by * series->shown.width_ms;
}

static void cover(struct series *series, int64_t first_ms, int64_t last_ms)
{
    struct inspect_series *shown = &series->shown;
    if (shown->count == 0) {
        *shown = (struct inspect_series){.start_ms = first_ms, .width_ms = 1, .count = 1};
    }
    if (first_ms > shown->start_ms) first_ms = shown->start_ms;
    int64_t end_ms = shown->start_ms + (int64_t)shown->count * shown->width_ms - 1;
    if (last_ms < end_ms) last_ms = end_ms;
    while (floor_to(last_ms, shown->width_ms) - floor_to(first_ms, shown->width_ms) >=
           INSPECT_SERIES_MAX * shown->width_ms) {
        double_width(series);
    }
    int64_t start_ms = floor_to(first_ms, shown->width_ms);
    move_up(series, (size_t)((shown->start_ms - start_ms) / shown->width_ms));
    size_t count = (size_t)((floor_to(last_ms, shown->width_ms) - start_ms) / shown->width_ms) + 1;
    if (count > shown->count) shown->count = count;
}

static void add_busy(struct inspect_series *shown, int64_t start_ms, int64_t end_ms)
{
    size_t point = (size_t)((start_ms - shown->start_ms) / shown->width_ms);
    for (int64_t at = start_ms; at < end_ms; point++) {
        int64_t next = shown->start_ms + (int64_t)(point + 1) * shown->width_ms;
        if (next > end_ms) next = end_ms;
        shown->busy_ms[point] += (uint64_t)(next - at);
        at = next;
    }
}

void series_add(struct series *series, int64_t start_ms, int64_t elapsed_ms, unsigned decision,
                bool is_retry)
{
    struct inspect_series *shown = &series->shown;
    int64_t end_ms = start_ms + elapsed_ms;
    cover(series, start_ms, elapsed_ms > 0 ? end_ms - 1 : start_ms);
    size_t point = (size_t)((start_ms - shown->start_ms) / shown->width_ms);
    if (decision < BELAY_DECISION_COUNT) shown->decisions[point][decision]++;
    if (is_retry) {
        series->retries[point]++;
    } else {
        series->firsts[point]++;
    }
    add_busy(shown, start_ms, end_ms);
}

double series_peak(const struct series *series)
{
    uint64_t most = 0;
    for (size_t point = 0; point < series->shown.count; point++) {
        if (series->shown.busy_ms[point] > most) most = series->shown.busy_ms[point];
    }
    return series->shown.width_ms == 0 ? 0.0 : (double)most / (double)series->shown.width_ms;
}
