/* parts.h: what the files of http1 share with each other and with nobody else. */
#ifndef HTTP1_PARTS_H
#define HTTP1_PARTS_H

#include "http1/http1.h"

/* A head under examination: where its bytes begin, and where a complaint goes. */
struct http1_complaint {
    const char *base;
    struct http1_error *error;
    bool response; /* every fault of a response is the sender's: 502 */
};

/* Fills the error; false, so that a check can end with it. */
static inline bool http1__refuse(const struct http1_complaint *to, int status, const char *rule,
                                 const char *at)
{
    to->error->status = to->response ? 502 : status;
    to->error->rule = rule;
    to->error->offset = (size_t)(at - to->base);
    return false;
}

/* `name` has to be a token. OTHER for what nobody asks for. */
enum http1_field_id http1__field_id(struct belay_slice name);
bool http1__hop_by_hop_by_nature(enum http1_field_id id);
/* Both have to be tokens. */
bool http1__same_name(struct belay_slice a, struct belay_slice b);
/* Takes the next element of a comma-separated list off the front of *list, without white space
 * around it; empty elements are passed over. False at the list's end. */
bool http1__list_next(struct belay_slice *list, struct belay_slice *element);
bool http1__is_token(struct belay_slice text);

/* Reads the Connection fields: marks what they name, and decides keep_alive. */
bool http1__read_connection(struct http1_head *head, const struct http1_complaint *to);
/* Splits the target of a request and finds its authority. */
bool http1__read_target(struct http1_head *head, const struct http1_complaint *to);
/* Where the message ends (RFC 9112 6.3). */
bool http1__frame_request(struct http1_head *head, const struct http1_complaint *to);
bool http1__frame_response(struct http1_head *head, enum belay_method request_method,
                           const struct http1_complaint *to);

#endif
