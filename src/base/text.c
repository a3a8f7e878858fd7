/* text.c: whole numbers from text and to text (text.h). */
#include "base/text.h"

bool text_read_number(struct belay_slice text, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    if (text.length == 0) return false;
    for (size_t i = 0; i < text.length; i++) {
        if (!char_is_digit(text.data[i])) return false;
        uint64_t digit = (uint64_t)(text.data[i] - '0');
        if (digit > max || value > (max - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

bool text_read_port(struct belay_slice text, uint16_t *out)
{
    uint64_t port;
    if (text.length > 5 || !text_read_number(text, UINT16_MAX, &port)) return false;
    *out = (uint16_t)port;
    return true;
}

struct belay_slice text_write_number(uint64_t value, char out[TEXT_NUMBER_BYTES_MAX])
{
    size_t at = TEXT_NUMBER_BYTES_MAX;
    do {
        out[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return belay_slice(out + at, TEXT_NUMBER_BYTES_MAX - at);
}
