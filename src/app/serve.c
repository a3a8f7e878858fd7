/* serve.c: `belay serve`: the daemon's command line. */
#include "app/app.h"
#include "app/args.h"
#include "app/control.h"

#include <stdio.h>
#include <stdlib.h>

#define WORKERS_MAX 1024 /* as the option `workers` */

static void print_usage(FILE *out)
{
    fputs("usage: belay serve -c FILE [--workers N]\n"
          "\n"
          "Carries requests to their targets under the policies of a configuration, and writes "
          "what happened.\n"
          "  -c FILE, --config FILE   the configuration; `belay check -c FILE` says whether it is "
          "right\n"
          "  --workers N              threads that serve; the default is the configuration's, and "
          "there one a core\n"
          "\n"
          "SIGTERM, SIGINT   stop: no request on an accepted connection is lost; a second one "
          "stops at once\n"
          "SIGHUP            open the events file anew, and take the configuration again if all of "
          "it is right\n"
          "\n"
          "exit status: 0 stopped and drained; 1 wrong configuration, an address in use, or "
          "connections that\n"
          "were cut; 2 usage, or a file that cannot be read\n",
          out);
}

static bool parse_workers(const char *text, uint32_t *out)
{
    char *rest;
    if (!text) return true;
    long number = strtol(text, &rest, 10);
    if (*rest || rest == text || number < 1 || number > WORKERS_MAX) {
        fprintf(stderr, "belay serve: --workers is 1 to %d, not %s\n", WORKERS_MAX, text);
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

int app_serve(int argc, char **argv)
{
    const char *file = NULL, *workers_text = NULL;
    bool help = false;
    uint32_t workers = 0;
    const struct arg args[] = {{"-c", &file, NULL},
                               {"--config", &file, NULL},
                               {"--workers", &workers_text, NULL},
                               {"--help", NULL, &help},
                               {"-h", NULL, &help}};
    if (!args_parse(&argc, argv, args, sizeof args / sizeof args[0])) return APP_USAGE;
    if (help) {
        print_usage(stdout);
        return APP_DONE;
    }
    if (!file || argc != 1) {
        print_usage(stderr);
        return APP_USAGE;
    }
    if (!parse_workers(workers_text, &workers)) return APP_USAGE;
    struct conf *conf = NULL;
    enum conf_verdict verdict = conf_read(file, stderr, &conf);
    if (verdict != CONF_GOOD) return verdict == CONF_WRONG ? APP_NEGATIVE : APP_USAGE;
    struct control control;
    if (!control_start(&control, file, conf, workers)) return APP_NEGATIVE;
    control_run(&control);
    return control_end(&control) ? APP_DONE : APP_NEGATIVE;
}
