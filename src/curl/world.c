/* world.c: the clocks and the dice of libbelay-curl. */
#include "curl/run.h"

#include <time.h>
#include <unistd.h>

static int64_t read_clock(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t); /* cannot fail for these two */
    return (int64_t)t.tv_sec * BELAY_NS_PER_S + t.tv_nsec;
}

struct belay_instant belay_curl_now(void)
{
    return (struct belay_instant){read_clock(CLOCK_MONOTONIC)};
}

struct belay_wall belay__curl_wall(void)
{
    return (struct belay_wall){read_clock(CLOCK_REALTIME)};
}

/* Jitter and ids need luck that differs between processes, no secrecy: without a source of it the
 * clock has to do. */
uint64_t belay__curl_luck(void)
{
    uint64_t luck;
    if (getentropy(&luck, sizeof luck) == 0) return luck;
    return (uint64_t)read_clock(CLOCK_MONOTONIC) * UINT64_C(0x9e3779b97f4a7c15);
}
