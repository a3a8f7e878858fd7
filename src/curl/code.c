/* code.c: what each libcurl error means, as one table (belay/curl.h). */
#include "curl/run.h"

#define CODES_MAX 128

enum proof { MAYBE = BELAY_SENT, NEVER = BELAY_UNSENT }; /* was any of the request sent? */

struct meaning {
    uint8_t listed, error, phase, sent;
};

#define ROW(class, where, proof)                                                                   \
    {                                                                                              \
        1, BELAY_ERROR_##class, BELAY_PHASE_##where, proof                                         \
    }

/* By number, so that codes newer than the libcurl at hand are in it too. Errors of other protocols
 * are in it: a server may redirect to one. `CANCELLED` is what we did ourselves, or did not manage
 * here; phase NONE: wherever it strikes. */
static const struct meaning meanings[CODES_MAX] = {
    [0] = ROW(NONE, NONE, MAYBE),          /* OK */
    [1] = ROW(CANCELLED, DNS, NEVER),      /* UNSUPPORTED_PROTOCOL */
    [2] = ROW(CANCELLED, DNS, NEVER),      /* FAILED_INIT */
    [3] = ROW(CANCELLED, DNS, NEVER),      /* URL_MALFORMAT */
    [4] = ROW(CANCELLED, DNS, NEVER),      /* NOT_BUILT_IN */
    [5] = ROW(DNS, DNS, NEVER),            /* COULDNT_RESOLVE_PROXY */
    [6] = ROW(DNS, DNS, NEVER),            /* COULDNT_RESOLVE_HOST */
    [7] = ROW(REFUSED, CONNECT, NEVER),    /* COULDNT_CONNECT */
    [8] = ROW(PROTOCOL, HEADERS, MAYBE),   /* WEIRD_SERVER_REPLY */
    [9] = ROW(PROTOCOL, NONE, MAYBE),      /* REMOTE_ACCESS_DENIED */
    [10] = ROW(PROTOCOL, NONE, MAYBE),     /* FTP_ACCEPT_FAILED */
    [11] = ROW(PROTOCOL, NONE, MAYBE),     /* FTP_WEIRD_PASS_REPLY */
    [12] = ROW(TIMEOUT, NONE, MAYBE),      /* FTP_ACCEPT_TIMEOUT */
    [13] = ROW(PROTOCOL, NONE, MAYBE),     /* FTP_WEIRD_PASV_REPLY */
    [14] = ROW(PROTOCOL, NONE, MAYBE),     /* FTP_WEIRD_227_FORMAT */
    [15] = ROW(DNS, NONE, MAYBE),          /* FTP_CANT_GET_HOST */
    [16] = ROW(PROTOCOL, NONE, MAYBE),     /* HTTP2 */
    [17] = ROW(PROTOCOL, NONE, MAYBE),     /* FTP_COULDNT_SET_TYPE */
    [18] = ROW(CLOSED, BODY, MAYBE),       /* PARTIAL_FILE */
    [19] = ROW(PROTOCOL, NONE, MAYBE),     /* FTP_COULDNT_RETR_FILE */
    [20] = ROW(CLOSED, NONE, MAYBE),       /* OBSOLETE20 */
    [21] = ROW(PROTOCOL, NONE, MAYBE),     /* QUOTE_ERROR */
    [22] = ROW(NONE, NONE, MAYBE),         /* HTTP_RETURNED_ERROR: a status, with FAILONERROR */
    [23] = ROW(CANCELLED, NONE, MAYBE),    /* WRITE_ERROR: the caller's callback did not take it */
    [24] = ROW(CLOSED, NONE, MAYBE),       /* OBSOLETE24 */
    [25] = ROW(CLOSED, SEND, MAYBE),       /* UPLOAD_FAILED */
    [26] = ROW(CANCELLED, SEND, MAYBE),    /* READ_ERROR: the caller's callback gave nothing */
    [27] = ROW(CANCELLED, NONE, MAYBE),    /* OUT_OF_MEMORY */
    [28] = ROW(TIMEOUT, NONE, MAYBE),      /* OPERATION_TIMEDOUT */
    [29] = ROW(CLOSED, NONE, MAYBE),       /* OBSOLETE29 */
    [30] = ROW(PROTOCOL, NONE, MAYBE),     /* FTP_PORT_FAILED */
    [31] = ROW(PROTOCOL, NONE, MAYBE),     /* FTP_COULDNT_USE_REST */
    [32] = ROW(CLOSED, NONE, MAYBE),       /* OBSOLETE32 */
    [33] = ROW(PROTOCOL, BODY, MAYBE),     /* RANGE_ERROR: the server does not do ranges */
    [34] = ROW(CANCELLED, SEND, MAYBE),    /* HTTP_POST_ERROR */
    [35] = ROW(TLS, TLS, NEVER),           /* SSL_CONNECT_ERROR */
    [36] = ROW(CANCELLED, NONE, MAYBE),    /* BAD_DOWNLOAD_RESUME */
    [37] = ROW(CANCELLED, NONE, MAYBE),    /* FILE_COULDNT_READ_FILE */
    [38] = ROW(PROTOCOL, NONE, MAYBE),     /* LDAP_CANNOT_BIND */
    [39] = ROW(PROTOCOL, NONE, MAYBE),     /* LDAP_SEARCH_FAILED */
    [40] = ROW(CLOSED, NONE, MAYBE),       /* OBSOLETE40 */
    [41] = ROW(CANCELLED, NONE, MAYBE),    /* FUNCTION_NOT_FOUND */
    [42] = ROW(CANCELLED, NONE, MAYBE),    /* ABORTED_BY_CALLBACK */
    [43] = ROW(CANCELLED, NONE, MAYBE),    /* BAD_FUNCTION_ARGUMENT */
    [44] = ROW(CLOSED, NONE, MAYBE),       /* OBSOLETE44 */
    [45] = ROW(CANCELLED, CONNECT, NEVER), /* INTERFACE_FAILED */
    [46] = ROW(CLOSED, NONE, MAYBE),       /* OBSOLETE46 */
    [47] = ROW(PROTOCOL, HEADERS, MAYBE),  /* TOO_MANY_REDIRECTS */
    [48] = ROW(CANCELLED, NONE, MAYBE),    /* UNKNOWN_OPTION */
    [49] = ROW(CANCELLED, NONE, MAYBE),    /* SETOPT_OPTION_SYNTAX */
    [50] = ROW(CLOSED, NONE, MAYBE),       /* OBSOLETE50 */
    [51] = ROW(TLS, TLS, NEVER),           /* OBSOLETE51: was PEER_FAILED_VERIFICATION */
    [52] = ROW(CLOSED, HEADERS, MAYBE),    /* GOT_NOTHING */
    [53] = ROW(CANCELLED, TLS, NEVER),     /* SSL_ENGINE_NOTFOUND */
    [54] = ROW(CANCELLED, TLS, NEVER),     /* SSL_ENGINE_SETFAILED */
    [55] = ROW(RESET, SEND, MAYBE),        /* SEND_ERROR */
    [56] = ROW(RESET, NONE, MAYBE),        /* RECV_ERROR */
    [57] = ROW(CLOSED, NONE, MAYBE),       /* OBSOLETE57 */
    [58] = ROW(CANCELLED, TLS, NEVER),     /* SSL_CERTPROBLEM */
    [59] = ROW(TLS, TLS, NEVER),           /* SSL_CIPHER */
    [60] = ROW(TLS, TLS, NEVER),           /* PEER_FAILED_VERIFICATION */
    [61] = ROW(PROTOCOL, BODY, MAYBE),     /* BAD_CONTENT_ENCODING */
    [62] = ROW(CLOSED, NONE, MAYBE),       /* OBSOLETE62 */
    [63] = ROW(TOO_LARGE, BODY, MAYBE),    /* FILESIZE_EXCEEDED */
    [64] = ROW(TLS, TLS, NEVER),           /* USE_SSL_FAILED */
    [65] = ROW(CANCELLED, SEND, MAYBE),    /* SEND_FAIL_REWIND */
    [66] = ROW(CANCELLED, TLS, NEVER),     /* SSL_ENGINE_INITFAILED */
    [67] = ROW(PROTOCOL, NONE, MAYBE),     /* LOGIN_DENIED */
    [68] = ROW(PROTOCOL, NONE, MAYBE),     /* TFTP_NOTFOUND */
    [69] = ROW(PROTOCOL, NONE, MAYBE),     /* TFTP_PERM */
    [70] = ROW(PROTOCOL, NONE, MAYBE),     /* REMOTE_DISK_FULL */
    [71] = ROW(PROTOCOL, NONE, MAYBE),     /* TFTP_ILLEGAL */
    [72] = ROW(PROTOCOL, NONE, MAYBE),     /* TFTP_UNKNOWNID */
    [73] = ROW(PROTOCOL, NONE, MAYBE),     /* REMOTE_FILE_EXISTS */
    [74] = ROW(PROTOCOL, NONE, MAYBE),     /* TFTP_NOSUCHUSER */
    [75] = ROW(CLOSED, NONE, MAYBE),       /* OBSOLETE75 */
    [76] = ROW(CLOSED, NONE, MAYBE),       /* OBSOLETE76 */
    [77] = ROW(CANCELLED, TLS, NEVER),     /* SSL_CACERT_BADFILE */
    [78] = ROW(PROTOCOL, NONE, MAYBE),     /* REMOTE_FILE_NOT_FOUND */
    [79] = ROW(PROTOCOL, NONE, MAYBE),     /* SSH */
    [80] = ROW(CLOSED, BODY, MAYBE),       /* SSL_SHUTDOWN_FAILED */
    [81] = ROW(CANCELLED, NONE, MAYBE),    /* AGAIN */
    [82] = ROW(CANCELLED, TLS, NEVER),     /* SSL_CRL_BADFILE */
    [83] = ROW(TLS, TLS, NEVER),           /* SSL_ISSUER_ERROR */
    [84] = ROW(PROTOCOL, NONE, MAYBE),     /* FTP_PRET_FAILED */
    [85] = ROW(PROTOCOL, NONE, MAYBE),     /* RTSP_CSEQ_ERROR */
    [86] = ROW(PROTOCOL, NONE, MAYBE),     /* RTSP_SESSION_ERROR */
    [87] = ROW(PROTOCOL, NONE, MAYBE),     /* FTP_BAD_FILE_LIST */
    [88] = ROW(CANCELLED, NONE, MAYBE),    /* CHUNK_FAILED: a callback of the caller's */
    [89] = ROW(CANCELLED, CONNECT, NEVER), /* NO_CONNECTION_AVAILABLE */
    [90] = ROW(TLS, TLS, NEVER),           /* SSL_PINNEDPUBKEYNOTMATCH */
    [91] = ROW(TLS, TLS, NEVER),           /* SSL_INVALIDCERTSTATUS */
    [92] = ROW(RESET, NONE, MAYBE),        /* HTTP2_STREAM: reset by the peer */
    [93] = ROW(CANCELLED, NONE, MAYBE),    /* RECURSIVE_API_CALL */
    [94] = ROW(CANCELLED, NONE, MAYBE),    /* AUTH_ERROR */
    [95] = ROW(PROTOCOL, NONE, MAYBE),     /* HTTP3 */
    [96] = ROW(REFUSED, CONNECT, NEVER),   /* QUIC_CONNECT_ERROR */
    [97] = ROW(REFUSED, CONNECT, NEVER),   /* PROXY */
    [98] = ROW(TLS, TLS, MAYBE),           /* SSL_CLIENTCERT: may be asked for after the request */
    [99] = ROW(CANCELLED, NONE, MAYBE),    /* UNRECOVERABLE_POLL */
    [100] = ROW(TOO_LARGE, NONE, MAYBE),   /* TOO_LARGE, since 8.6 */
    [101] = ROW(TLS, TLS, NEVER),          /* ECH_REQUIRED, since 8.8 */
};

static const struct meaning unknown = {0, BELAY_ERROR_CLOSED, BELAY_PHASE_NONE, MAYBE};

bool belay__curl_code_listed(CURLcode code)
{
    return (unsigned)code < CODES_MAX && meanings[code].listed;
}

struct belay_outcome belay_curl_code_outcome(CURLcode code)
{
    const struct meaning *m = belay__curl_code_listed(code) ? &meanings[code] : &unknown;
    return (struct belay_outcome){.error = (enum belay_error_class)m->error,
                                  .phase = (enum belay_phase)m->phase,
                                  .sent = (enum belay_sent)m->sent};
}
