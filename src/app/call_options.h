/* call_options.h: the command line of `belay call`: what is to be requested, under which policy,
 * and where everything goes. */
#ifndef APP_CALL_OPTIONS_H
#define APP_CALL_OPTIONS_H

#include "app/args.h"
#include "base/buf.h"

#include <belay/policy.h>
#include <curl/curl.h>
#include <stdio.h>

#define CALL_TARGET_BYTES_MAX 270
#define CALL_KEY_BYTES_MAX 256
#define CALL_BODY_BYTES_MAX ((size_t)1024 * 1024 * 1024)

struct call_options {
    const char *url;
    char target[CALL_TARGET_BYTES_MAX]; /* host:port, for events and the state file */
    const char *method;                 /* NULL: as libcurl takes it from the rest */
    struct curl_slist *headers;
    bool has_body, head, fail, include, silent, show_error, insecure, netrc;
    struct buf body;
    bool idempotent, keyed, write;
    const char *output; /* NULL: the standard output */
    const char *cacert, *netrc_file, *state, *events, *route, *operation_id;
    struct belay_policy policy;
    struct belay_span connect_for; /* all of connecting; 0: the policy's clocks alone */
    bool help;
};

void call_options_print_help(FILE *to);
/* Everything is said on the standard error when it is false. The options point into argv. */
bool call_options_read(struct call_options *options, int argc, char **argv)
    __attribute__((warn_unused_result));
void call_options_deinit(struct call_options *options);

/* One option of a policy by its name in belay.yaml; lists are split at commas. */
bool call_policy_set(struct belay_policy *policy, const char *name, struct belay_slice text);
/* Relations that no single option shows; false, and said. */
bool call_policy_settle(struct belay_policy *policy);

#endif
