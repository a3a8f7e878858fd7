/* replay.c: `belay replay`: runs recorded observations through the engine, without a network or a
 * clock (replay.h). */
#include "app/replay.h"

#include "app/app.h"
#include "app/args.h"
#include "app/case.h"
#include "base/check.h"
#include "base/list.h"
#include "base/rng.h"

#include <belay/event.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TARGETS_MAX 10000

/* Where operations happen: a recipient, its clock and the dice. Those that name no target get one
 * of their own. */
struct world {
    struct list node;
    char *name;
    struct belay_policy policy;
    struct belay_target *target;
    struct belay_instant now;
    struct rng dice;
};

struct replay {
    FILE *out;
    struct list worlds;
    size_t world_count;
};

static const struct belay_instant START = {BELAY_NS_PER_S};

static void world_destroy(struct world *world)
{
    belay_target_destroy(world->target);
    list_remove(&world->node);
    free(world->name);
    free(world);
}

static struct world *world_create(const struct replay_case *replay_case)
{
    struct world *world = calloc(1, sizeof *world);
    if (!world) return NULL;
    list_init(&world->node);
    world->policy = replay_case->policy;
    world->now = START;
    world->target = belay_target_create(&world->policy, replay_case->seed);
    world->name = replay_case->target ? strdup(replay_case->target) : NULL;
    if (!world->target || (replay_case->target && !world->name)) {
        world_destroy(world);
        return NULL;
    }
    rng_seed(&world->dice, replay_case->seed);
    return world;
}

static struct world *find_world(const struct replay *replay, const char *name)
{
    for (struct list *node = replay->worlds.next; name && node != &replay->worlds;
         node = node->next) {
        struct world *world = CONTAINER_OF(node, struct world, node);
        if (strcmp(world->name, name) == 0) return world;
    }
    return NULL;
}

/* ---- one operation ---- */

/* The next attempt's admission, or the refusal; time passes until then. */
static struct belay_admission admit(struct belay_operation *op, struct world *world)
{
    for (;;) {
        struct belay_admission admission = belay_operation_admit(op, world->now);
        if (admission.kind == BELAY_ADMITTED || admission.kind == BELAY_REFUSED) return admission;
        CHECK(belay_instant_before(world->now, admission.at)); /* nobody else could let it go on */
        world->now = admission.at;
    }
}

/* What had not come when the attempt's time was over was not seen. */
static struct belay_outcome observe(const struct observation *observation, struct world *world,
                                    struct belay_instant end_at)
{
    struct belay_outcome outcome = observation->outcome;
    struct belay_instant seen_at = belay_instant_add(world->now, observation->elapsed);
    if (belay_instant_before(end_at, seen_at)) {
        bool answered = outcome.error == BELAY_ERROR_NONE;
        outcome = (struct belay_outcome){.error = BELAY_ERROR_TIMEOUT,
                                         .phase = outcome.phase,
                                         .sent = answered ? BELAY_SENT : outcome.sent};
        seen_at = end_at;
    }
    world->now = seen_at;
    return outcome;
}

static void write_attempt(const struct replay *replay, const struct replay_case *replay_case,
                          const struct belay_outcome *outcome, const struct belay_verdict *verdict)
{
    char line[BELAY_EVENT_BYTES_MAX];
    struct belay_attempt_event event = {
        .operation_id = belay_slice_z(replay_case->operation_id),
        .method = belay_slice_z(replay_case->method),
        .target = belay_slice_z(replay_case->target),
        .outcome = *outcome,
        .verdict = *verdict,
    };
    size_t length = belay_attempt_event_encode(&event, line, sizeof line);
    (void)fwrite(line, 1, length, replay->out);
}

static void write_operation(const struct replay *replay, const struct replay_case *replay_case,
                            const struct belay_ending *ending)
{
    char line[BELAY_EVENT_BYTES_MAX];
    struct belay_operation_event event = {
        .operation_id = belay_slice_z(replay_case->operation_id),
        .method = belay_slice_z(replay_case->method),
        .target = belay_slice_z(replay_case->target),
        .ending = *ending,
    };
    size_t length = belay_operation_event_encode(&event, line, sizeof line);
    (void)fwrite(line, 1, length, replay->out);
}

static void run_case(const struct replay *replay, const struct replay_case *replay_case,
                     struct world *world)
{
    struct belay_policy policy = replay_case->policy;
    struct belay_operation op;
    struct belay_instant start_at = belay_instant_add(START, replay_case->start);
    if (policy.attempts_max > replay_case->observation_count) {
        policy.attempts_max = (uint32_t)replay_case->observation_count;
    }
    if (replay_case->has_start) world->now = belay_instant_max(world->now, start_at);
    belay_operation_init(&op, &policy, world->target, &replay_case->traits, world->now,
                         belay_instant_add(world->now, policy.deadline_for), NULL);
    for (;;) {
        struct belay_admission admission = admit(&op, world);
        if (admission.kind == BELAY_REFUSED) break;
        const struct observation *observation = &replay_case->observations[admission.attempt - 1];
        struct belay_outcome outcome = observe(observation, world, admission.at);
        struct belay_verdict verdict =
            belay_operation_record(&op, &outcome, world->now, rng_next(&world->dice));
        write_attempt(replay, replay_case, &outcome, &verdict);
        if (verdict.decision != BELAY_DECISION_RETRY) break;
    }
    struct belay_ending ending = belay_operation_finish(&op, world->now);
    write_operation(replay, replay_case, &ending);
}

static bool replay_case_of(struct replay *replay, const struct input *input)
{
    struct replay_case replay_case;
    struct world *world =
        find_world(replay, json_string_value(json_object_get(input->object, "target")));
    if (!case_read(input, world ? &world->policy : NULL, &replay_case)) return false;
    bool is_new = !world;
    if (is_new && replay->world_count == TARGETS_MAX) {
        case_deinit(&replay_case);
        return input_fail(input, "target", "more than %d targets", TARGETS_MAX);
    }
    if (is_new) world = world_create(&replay_case);
    if (!world) {
        case_deinit(&replay_case);
        return input_fail(input, "", "out of memory");
    }
    if (is_new && world->name) {
        list_push_back(&replay->worlds, &world->node);
        replay->world_count++;
    }
    if (!is_new && replay_case.has_seed) rng_seed(&world->dice, replay_case.seed);
    run_case(replay, &replay_case, world);
    if (!world->name) world_destroy(world);
    case_deinit(&replay_case);
    return true;
}

bool replay_run(FILE *in, const char *name, FILE *out, FILE *errors)
{
    struct replay replay = {.out = out};
    struct input input;
    enum input_step step;
    list_init(&replay.worlds);
    input_init(&input, in, name, errors);
    while ((step = input_next(&input)) == INPUT_OBJECT) {
        if (!replay_case_of(&replay, &input)) {
            step = INPUT_BAD;
            break;
        }
    }
    while (!list_empty(&replay.worlds))
        world_destroy(CONTAINER_OF(replay.worlds.next, struct world, node));
    input_deinit(&input);
    return step == INPUT_END;
}

/* ---- the command ---- */

static void print_usage(FILE *out)
{
    fputs("usage: belay replay FILE|-\n"
          "\n"
          "Runs recorded observations through the retry engine on virtual time, and prints the "
          "event of each attempt\n"
          "and the record of each operation. No network is used; two runs give the same bytes.\n"
          "\n"
          "FILE holds JSON objects, one operation each; - is the standard input:\n"
          "  operationId, method          which request\n"
          "  maxAttempts [3]              also limited by the observations\n"
          "  deadlineMs [400]             of the whole operation\n"
          "  backoffMs [40]               a constant wait\n"
          "  observations                 a list, in the order of the attempts:\n"
          "                               elapsedMs, and a status or an errorClass; retryAfterMs, "
          "sent, phase\n"
          "  idempotencyKey, idempotent, effect (read, write)\n"
          "  policy                       options of a configuration's policy: "
          "{\"backoff\":{\"kind\":\"full\"}}\n"
          "  seed                         of the dice\n"
          "  target, startMs              operations of one target follow each other on one clock\n"
          "\n"
          "exit status: 0 done, 2 usage, or input that cannot be read (what came before it is "
          "printed)\n",
          out);
}

static int replay_file(const char *name)
{
    bool is_stdin = strcmp(name, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(name, "r");
    if (!file) {
        fprintf(stderr, "belay replay: cannot open %s: %s\n", name, strerror(errno));
        return APP_USAGE;
    }
    bool good = replay_run(file, is_stdin ? "(standard input)" : name, stdout, stderr);
    if (!is_stdin) (void)fclose(file);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "belay replay: cannot write the events: %s\n", strerror(errno));
        return APP_USAGE;
    }
    return good ? APP_DONE : APP_USAGE;
}

int app_replay(int argc, char **argv)
{
    bool help = false;
    const struct arg args[] = {{"--help", .flag = &help}, {"-h", .flag = &help}};
    if (!args_parse(&argc, argv, args, sizeof args / sizeof args[0])) return APP_USAGE;
    if (help) {
        print_usage(stdout);
        return APP_DONE;
    }
    if (argc != 2) {
        print_usage(stderr);
        return APP_USAGE;
    }
    return replay_file(argv[1]);
}
