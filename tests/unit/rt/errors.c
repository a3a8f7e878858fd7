/* errors.c: what each errno of a socket means, as a table. */
#include "test.h"

#include "rt/errors.h"

#include <errno.h>
#include <string.h>

#define REFUSED BELAY_ERROR_REFUSED
#define TIMEOUT BELAY_ERROR_TIMEOUT
#define RESET BELAY_ERROR_RESET
#define CLOSED BELAY_ERROR_CLOSED
#define OURS BELAY_ERROR_CANCELLED

static const struct row {
    int error;
    enum belay_error_class connecting, standing;
    bool died_in_queue;
} rows[] = {
    /* the peer, or what lies between */
    {ECONNREFUSED, REFUSED, CLOSED, false},
    {ETIMEDOUT, TIMEOUT, TIMEOUT, false},
    {ECONNRESET, RESET, RESET, false},
    {EPIPE, REFUSED, RESET, false},
    {ENOTCONN, REFUSED, CLOSED, false},
    {EHOSTUNREACH, REFUSED, CLOSED, true},
    {ENETUNREACH, REFUSED, CLOSED, true},
    {ENETDOWN, REFUSED, CLOSED, true},
    {EHOSTDOWN, REFUSED, CLOSED, true},
    {ECONNABORTED, REFUSED, CLOSED, true},
    {EPROTO, REFUSED, CLOSED, true},
    {ENOPROTOOPT, REFUSED, CLOSED, true},
    {ENONET, REFUSED, CLOSED, true},
    {EINTR, REFUSED, CLOSED, true},
    /* this machine does not let us, or has no such addresses */
    {EACCES, REFUSED, CLOSED, false},
    {EPERM, REFUSED, CLOSED, false},
    {EAFNOSUPPORT, REFUSED, CLOSED, false},
    {EPROTONOSUPPORT, REFUSED, CLOSED, false},
    {EINVAL, REFUSED, CLOSED, false},
    /* our own shortage */
    {EMFILE, OURS, CLOSED, false},
    {ENFILE, OURS, CLOSED, false},
    {ENOMEM, OURS, OURS, false},
    {ENOBUFS, OURS, OURS, false},
    {ENOSPC, OURS, CLOSED, false},
    {EADDRNOTAVAIL, OURS, CLOSED, false},
    {EAGAIN, OURS, CLOSED, false},
};

static const struct row *row_of(int error)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].error == error) return &rows[i];
    }
    return NULL;
}

/* An errno that no row knows says nothing of us, and is not waited out in the queue. */
static void every_errno_has_its_word(void **state)
{
    (void)state;
    static const struct row other = {0, REFUSED, CLOSED, false};
    for (int error = 1; error < 256; error++) {
        const struct row *row = row_of(error);
        if (!row) row = &other;
        if (errors_of_connect(error) != row->connecting || errors_of_io(error) != row->standing ||
            errors_died_in_queue(error) != row->died_in_queue ||
            errors_is_shortage(error) != (row->connecting == OURS))
            fail_msg("%s", strerror(error));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_errno_has_its_word)};
    return cmocka_run_group_tests_name("errors", tests, NULL, NULL);
}
