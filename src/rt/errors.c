/* errors.c: sorts the errnos of sockets (errors.h). */
#include "rt/errors.h"

#include <errno.h>

bool errors_is_shortage(int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case ENOSPC:              /* no more may be polled */
    case EADDRNOTAVAIL:       /* no port of ours is free; */
    case EAGAIN: return true; /* the same, on some kernels */
    default: return false;
    }
}

enum belay_error_class errors_of_connect(int error)
{
    if (errors_is_shortage(error)) return BELAY_ERROR_CANCELLED;
    if (error == ETIMEDOUT) return BELAY_ERROR_TIMEOUT;
    return error == ECONNRESET ? BELAY_ERROR_RESET : BELAY_ERROR_REFUSED;
}

enum belay_error_class errors_of_io(int error)
{
    if (error == ENOMEM || error == ENOBUFS) return BELAY_ERROR_CANCELLED;
    if (error == ETIMEDOUT) return BELAY_ERROR_TIMEOUT;
    return error == ECONNRESET || error == EPIPE ? BELAY_ERROR_RESET : BELAY_ERROR_CLOSED;
}

bool errors_died_in_queue(int error)
{
    switch (error) {
    case ECONNABORTED:
    case EINTR:
    case EPROTO:
    case ENETDOWN:
    case ENETUNREACH:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET: return true;
    default: return false;
    }
}
