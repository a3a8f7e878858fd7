/* inspect_progress.c: a line on a terminal that says how far a long reading is (inspect.h). */
#include "app/inspect.h"

#include "inspect/say.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_MS 400 /* what is done by then shows nothing */
#define EACH_MS 100
#define RECORDS_A_LOOK 512
#define BAR_COLUMNS 24

int64_t inspect_clock_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void inspect_progress_begin(struct inspect_progress *progress)
{
    *progress = (struct inspect_progress){.wanted = isatty(STDERR_FILENO)};
    progress->began_ms = inspect_clock_ms();
}

static void tell(const struct inspect_progress *progress, const struct inspect_reading *reading,
                 int64_t now_ms)
{
    char done[SAY_BYTES], total[SAY_BYTES], speed[SAY_BYTES], share[SAY_BYTES];
    int64_t span_ms = now_ms - progress->began_ms;
    (void)say_bytes(done, reading->bytes);
    (void)say_bytes(speed, (uint64_t)((double)reading->bytes * 1000 / (double)span_ms));
    if (reading->bytes_total == 0) {
        (void)fprintf(stderr, "\r\033[Kread %s, %s/s", done, speed);
        return;
    }
    uint64_t bytes = reading->bytes < reading->bytes_total ? reading->bytes : reading->bytes_total;
    int filled = (int)(BAR_COLUMNS * (double)bytes / (double)reading->bytes_total);
    (void)fprintf(stderr, "\r\033[K[%.*s%*s] %s, %s of %s, %s/s", filled,
                  "########################", BAR_COLUMNS - filled, "",
                  say_share(share, bytes, reading->bytes_total), done,
                  say_bytes(total, reading->bytes_total), speed);
}

void inspect_progress_step(struct inspect_progress *progress, const struct inspect_reading *reading)
{
    if (!progress->wanted || ++progress->skipped < RECORDS_A_LOOK) return;
    progress->skipped = 0;
    int64_t now_ms = inspect_clock_ms();
    if (now_ms - progress->began_ms < FIRST_MS || now_ms - progress->told_ms < EACH_MS) return;
    progress->told_ms = now_ms;
    progress->shown = true;
    tell(progress, reading, now_ms);
}

void inspect_progress_end(struct inspect_progress *progress)
{
    if (progress->shown) (void)fputs("\r\033[K", stderr);
}
