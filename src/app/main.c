/* main.c: picks the subcommand. */
#include <stdio.h>

int main(void)
{
    puts("belay " BELAY_VERSION);
    return 0;
}
