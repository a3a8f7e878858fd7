/* app.h: the subcommands of the command line, and what they share.
 *
 * Each subcommand gets its own name as argv[0] and returns an exit code (semantics 17).
 */
#ifndef APP_APP_H
#define APP_APP_H

enum app_exit {
    APP_DONE = 0,     /* done, or clean */
    APP_NEGATIVE = 1, /* a negative answer: not valid, anomalies, no good answer */
    APP_USAGE = 2,    /* usage, or input that cannot be read */
};

int app_serve(int argc, char **argv);
int app_replay(int argc, char **argv);
int app_explain(int argc, char **argv);
int app_check(int argc, char **argv);
int app_flaky(int argc, char **argv);
int app_call(int argc, char **argv);
int app_inspect(int argc, char **argv);

#endif
