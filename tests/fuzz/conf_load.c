/* conf_load.c: any bytes as a configuration; one that is right survives its own dump. */
#include "conf/conf.h"

#include "base/check.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length);

static char *dump(const struct conf *conf, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    CHECK(out);
    conf_dump(conf, out);
    fclose(out);
    return text;
}

static void check_round_trip(const struct conf *conf)
{
    size_t once_length, twice_length;
    char *once = dump(conf, &once_length);
    /* The text may say more by less: a dump writes every policy out, and aliases as often as they
     * stand. */
    if (once_length <= CONF_FILE_BYTES_MAX / 4) {
        struct conf *again = NULL;
        CHECK(conf_parse("dump", belay_slice(once, once_length), stderr, &again) == CONF_GOOD);
        char *twice = dump(again, &twice_length);
        CHECK(once_length == twice_length && memcmp(once, twice, once_length) == 0);
        free(twice);
        conf_give(again);
    }
    free(once);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length)
{
    static FILE *nowhere;
    if (!nowhere) nowhere = fopen("/dev/null", "w");
    CHECK(nowhere);
    struct conf *conf = NULL;
    if (conf_parse("fuzz", belay_slice((const char *)bytes, length), nowhere, &conf) == CONF_GOOD) {
        check_round_trip(conf);
        conf_give(conf);
    }
    return 0;
}
