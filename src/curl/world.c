/* world.c: the clocks and the dice of libbelay-curl. */
#include "curl/run.h"

#include <time.h>
#include <unistd.h>

/* Reading these two clocks cannot fail. */
struct belay_instant belay_curl_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return belay_instant_of(t.tv_sec, t.tv_nsec);
}

struct belay_wall belay__curl_wall(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return belay_wall_of(t.tv_sec, t.tv_nsec);
}

/* Jitter and ids need luck that differs between processes, no secrecy: without a source of it the
 * clock has to do. */
uint64_t belay__curl_luck(void)
{
    uint64_t luck;
    if (getentropy(&luck, sizeof luck) == 0) return luck;
    return (uint64_t)belay_curl_now().ns * UINT64_C(0x9e3779b97f4a7c15);
}
