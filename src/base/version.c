/* version.c: the release that this library is (belay/version.h). */
#include <belay/version.h>

const char *belay_version(void)
{
    return BELAY_VERSION;
}
