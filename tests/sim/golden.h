/* golden.h: compares a trace with the file that holds the right one. BELAY_GOLDEN_WRITE=1 writes
 * the files anew. */
#ifndef TESTS_SIM_GOLDEN_H
#define TESTS_SIM_GOLDEN_H

#include "test.h"

#include "history.h"

#include <stdlib.h>

static inline void golden_check(const struct history *history, const char *name)
{
    char path[512], *right = calloc(1, 1 << 20);
    struct belay_slice trace = buf_slice(&history->trace);
    snprintf(path, sizeof(path), "%s/%s.trace", GOLDEN_DIR, name);
    if (getenv("BELAY_GOLDEN_WRITE")) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(trace.data, 1, trace.length, file), trace.length);
        assert_int_equal(fclose(file), 0);
    }
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("no %s", path);
    size_t length = fread(right, 1, (1 << 20) - 1, file);
    fclose(file);
    if (length != trace.length || memcmp(right, trace.data, length) != 0) {
        printf("--- %s\n%s+++ what happened\n%.*s", path, right, (int)trace.length, trace.data);
        fail_msg("%s: another trace", name);
    }
    free(right);
}

#endif
