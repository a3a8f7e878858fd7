/* time.h: instants, wall times and spans as distinct types, with saturating arithmetic.
 *
 * Units: int64 nanoseconds everywhere. An instant is a point on one process's monotonic clock; a
 * wall time counts from the Unix epoch (UTC) and serves correlation and HTTP dates only; a span is
 * a difference. No function here reads a clock. Every operation saturates at the type's ends
 * instead of wrapping. Thread rule: pure values, no shared state.
 */
#ifndef BELAY_TIME_H
#define BELAY_TIME_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct belay_instant {
    int64_t ns;
};
struct belay_wall {
    int64_t ns;
};
struct belay_span {
    int64_t ns;
};

#define BELAY_NS_PER_MS INT64_C(1000000)
#define BELAY_NS_PER_S INT64_C(1000000000)

static inline int64_t belay_ns_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t belay_ns_sub(int64_t a, int64_t b)
{
    int64_t difference;
    if (!__builtin_sub_overflow(a, b, &difference)) return difference;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t belay_ns_of_s(int64_t seconds)
{
    if (seconds > INT64_MAX / BELAY_NS_PER_S) return INT64_MAX;
    if (seconds < INT64_MIN / BELAY_NS_PER_S) return INT64_MIN;
    return seconds * BELAY_NS_PER_S;
}

/* The last instant there is: "never". Adding to it stays there. */
static inline struct belay_instant belay_instant_never(void)
{
    struct belay_instant never = {INT64_MAX};
    return never;
}

/* The instant that CLOCK_MONOTONIC gives as seconds and nanoseconds: clock_gettime's two numbers.
 */
static inline struct belay_instant belay_instant_of(int64_t seconds, int64_t nanoseconds)
{
    struct belay_instant t = {belay_ns_add(belay_ns_of_s(seconds), nanoseconds)};
    return t;
}

/* The same of CLOCK_REALTIME. */
static inline struct belay_wall belay_wall_of(int64_t seconds, int64_t nanoseconds)
{
    struct belay_wall t = {belay_ns_add(belay_ns_of_s(seconds), nanoseconds)};
    return t;
}

static inline bool belay_instant_is_never(struct belay_instant t)
{
    return t.ns == INT64_MAX;
}

static inline struct belay_instant belay_instant_add(struct belay_instant t, struct belay_span d)
{
    struct belay_instant r = {t.ns == INT64_MAX ? INT64_MAX : belay_ns_add(t.ns, d.ns)};
    return r;
}

/* `end` - `start`; negative when end is earlier. */
static inline struct belay_span belay_instant_since(struct belay_instant end,
                                                    struct belay_instant start)
{
    struct belay_span d = {belay_ns_sub(end.ns, start.ns)};
    return d;
}

static inline bool belay_instant_before(struct belay_instant a, struct belay_instant b)
{
    return a.ns < b.ns;
}

static inline struct belay_instant belay_instant_min(struct belay_instant a, struct belay_instant b)
{
    return a.ns < b.ns ? a : b;
}

static inline struct belay_instant belay_instant_max(struct belay_instant a, struct belay_instant b)
{
    return a.ns > b.ns ? a : b;
}

static inline struct belay_span belay_span_ns(int64_t ns)
{
    struct belay_span d = {ns};
    return d;
}

static inline struct belay_span belay_span_ms(int64_t ms)
{
    struct belay_span d;
    if (ms > INT64_MAX / BELAY_NS_PER_MS) {
        d.ns = INT64_MAX;
    } else if (ms < INT64_MIN / BELAY_NS_PER_MS) {
        d.ns = INT64_MIN;
    } else {
        d.ns = ms * BELAY_NS_PER_MS;
    }
    return d;
}

static inline struct belay_span belay_span_add(struct belay_span a, struct belay_span b)
{
    struct belay_span d = {belay_ns_add(a.ns, b.ns)};
    return d;
}

static inline struct belay_span belay_span_min(struct belay_span a, struct belay_span b)
{
    return a.ns < b.ns ? a : b;
}

static inline struct belay_span belay_span_max(struct belay_span a, struct belay_span b)
{
    return a.ns > b.ns ? a : b;
}

/* Whole milliseconds, rounded down; a negative span gives 0 (remainingMs, elapsedMs in events). */
static inline int64_t belay_span_floor_ms(struct belay_span d)
{
    return d.ns <= 0 ? 0 : d.ns / BELAY_NS_PER_MS;
}

/* Whole milliseconds, rounded up; a negative span gives 0 (waits: never early). */
static inline int64_t belay_span_ceil_ms(struct belay_span d)
{
    return d.ns <= 0 ? 0 : (d.ns - 1) / BELAY_NS_PER_MS + 1;
}

#ifdef __cplusplus
}
#endif
#endif
