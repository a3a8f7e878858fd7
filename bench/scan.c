/* scan.c: what reading costs alone: every record of the files named is found, and nothing kept. */
#include "inspect/reader.h"

#include <stdio.h>
#include <time.h>

#define LINE_MAX_BYTES (1024 * 1024)

/* Of the processor: other load does not count. */
static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    const char *const *paths = (const char *const *)argv + 1;
    struct inspect_reader *reader =
        inspect_reader_create(paths, (size_t)argc - 1, false, LINE_MAX_BYTES);
    struct inspect_record record;
    uint64_t records = 0, suspects = 0;
    enum inspect_step step;
    if (!reader) return 2;
    double began = seconds();
    while ((step = inspect_reader_next(reader, &record)) == INSPECT_RECORD) {
        records++;
        suspects += record.suspect.length > 0 || record.wrong_type || record.wrong_word;
    }
    double took = seconds() - began;
    const struct inspect_reading *counters = inspect_reader_counters(reader);
    if (step == INSPECT_FAILED) (void)fprintf(stderr, "%s\n", inspect_reader_error(reader));
    printf("%llu lines, %llu records, %llu with something wrong, %llu other, %llu junk, %llu cut: "
           "%.0f MB/s\n",
           (unsigned long long)counters->lines, (unsigned long long)records,
           (unsigned long long)suspects, (unsigned long long)counters->other_lines,
           (unsigned long long)counters->junk_lines, (unsigned long long)counters->cut_lines,
           (double)counters->text_bytes / 1e6 / took);
    inspect_reader_destroy(reader);
    return step == INSPECT_END ? 0 : 2;
}
