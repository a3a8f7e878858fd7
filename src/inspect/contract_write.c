/* contract_write.c: the contract check's result as text for people and as JSON (contract.h). */
#include "inspect/contract.h"

#include <inttypes.h>

static const struct {
    const char *name, *text;
} RULES[INSPECT_LACK_RULE_COUNT] = {
    [INSPECT_LACK_MISSING] = {"missing", "is missing"},
    [INSPECT_LACK_TYPE] = {"wrong_type", "has a value of the wrong type or range"},
    [INSPECT_LACK_WORD] = {"unknown_word", "has a word that is not in its vocabulary"},
    [INSPECT_LACK_REPEATED] = {"repeated", "stands there twice"},
    [INSPECT_LACK_BOTH] = {"status_and_error", "status and errorClass are both set: one is null"},
    [INSPECT_LACK_NEITHER] = {"no_status_nor_error",
                              "status and errorClass are both null: exactly one is set"},
    [INSPECT_LACK_REQUEST_ID] = {"request_id_form", "requestId is not <operationId>/attempt-<n>"},
    [INSPECT_LACK_OPERATION] = {"no_operation_record",
                                "operations ended without their \"event\":\"operation\" record"},
    [INSPECT_LACK_MERGED] = {"merged_fields",
                             "a failure is told as a sentence, without status, errorClass, "
                             "decision"},
    [INSPECT_LACK_VERSION] = {"unknown_version", "v is not 1"},
    [INSPECT_LACK_EVENT] = {"unknown_event", "event is none of operation, state_check, lost"},
    [INSPECT_LACK_FULL_URL] = {"full_url", "a field holds a whole URL, or a query string"},
    [INSPECT_LACK_SECRET] = {"secret_in_field", "a field holds what looks like a credential"},
    [INSPECT_LACK_JUNK] = {"junk", "lines that begin like an event are no JSON"},
    [INSPECT_LACK_NOTHING] = {"no_records", "no line has an event of the contract"},
};

const char *inspect_lack_name(enum inspect_lack_rule rule)
{
    return RULES[rule].name;
}

static void write_lack(const struct inspect_lack *lack, FILE *out)
{
    (void)fprintf(out, "  %-9s%s%s%s%s%s", lack->required ? "required" : "advised",
                  lack->record ? lack->record : "", lack->record ? ": " : "",
                  lack->field ? lack->field : "", lack->field ? " " : "", RULES[lack->rule].text);
    if (lack->of > 0)
        (void)fprintf(out, " in %" PRIu64 " of %" PRIu64, lack->count, lack->of);
    else if (lack->rule != INSPECT_LACK_NOTHING)
        (void)fprintf(out, ": %" PRIu64, lack->count);
    if (lack->line > 0) (void)fprintf(out, " (line %" PRIu64 ")", lack->line);
    (void)fputc('\n', out);
}

void inspect_contract_write_text(const struct inspect_contract_result *result, FILE *out)
{
    size_t required = 0;
    (void)fprintf(out,
                  "%" PRIu64 " attempts, %" PRIu64 " operations, %" PRIu64
                  " notes of lost records, %" PRIu64 " others\n",
                  result->attempts, result->operations, result->lost, result->others);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < result->count; i++) {
            if (result->lacks[i].required == (pass == 0)) write_lack(&result->lacks[i], out);
        }
    }
    for (size_t i = 0; i < result->count; i++) required += result->lacks[i].required;
    if (result->ok)
        (void)fprintf(out, "ok: every line keeps the contract, version 1; whether they fit "
                           "together, belay inspect says without --check\n");
    else
        (void)fprintf(out, "not ok: %zu %s to mend\n", required,
                      required == 1 ? "thing" : "things");
}

/* Every text is a name of ours: nothing in it needs escaping. */
static void write_name(const char *key, const char *name, FILE *out)
{
    if (name)
        (void)fprintf(out, "\"%s\":\"%s\",", key, name);
    else
        (void)fprintf(out, "\"%s\":null,", key);
}

void inspect_contract_write_json(const struct inspect_contract_result *result, FILE *out)
{
    (void)fprintf(out,
                  "{\"ok\":%s,\"attempts\":%" PRIu64 ",\"operations\":%" PRIu64 ",\"lost\":%" PRIu64
                  ",\"others\":%" PRIu64 ",\"lacks\":[",
                  result->ok ? "true" : "false", result->attempts, result->operations, result->lost,
                  result->others);
    for (size_t i = 0; i < result->count; i++) {
        const struct inspect_lack *lack = &result->lacks[i];
        (void)fprintf(out, "%s{\"rule\":\"%s\",", i ? "," : "", RULES[lack->rule].name);
        write_name("record", lack->record, out);
        write_name("field", lack->field, out);
        (void)fprintf(
            out, "\"required\":%s,\"count\":%" PRIu64 ",\"of\":%" PRIu64 ",\"line\":%" PRIu64 "}",
            lack->required ? "true" : "false", lack->count, lack->of, lack->line);
    }
    (void)fputs("]}\n", out);
}
