/* observed.c: words of an error into an outcome (observed.h). */
#include "app/observed.h"

#include <string.h>

static bool is_before_sending(enum belay_phase phase)
{
    return phase == BELAY_PHASE_DNS || phase == BELAY_PHASE_CONNECT || phase == BELAY_PHASE_TLS;
}

enum observed observed_error(const char *error, const char *phase, const char *sent,
                             struct belay_outcome *out)
{
    if (!belay_error_class_parse(error, strlen(error), &out->error)) return OBSERVED_NO_ERROR_CLASS;
    if (out->error == BELAY_ERROR_DNS) out->phase = BELAY_PHASE_DNS;
    if (out->error == BELAY_ERROR_REFUSED) out->phase = BELAY_PHASE_CONNECT;
    if (phase && !belay_phase_parse(phase, strlen(phase), &out->phase)) return OBSERVED_NO_PHASE;
    out->sent = is_before_sending(out->phase) ? BELAY_UNSENT : BELAY_SENT;
    if (sent && !belay_sent_parse(sent, strlen(sent), &out->sent)) return OBSERVED_NO_SENT;
    return OBSERVED_GOOD;
}
