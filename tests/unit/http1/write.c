/* write.c: every writer's bytes, and that it writes all or nothing at every size of the room. */
#include "support.h"

static char out[128];

/* All of it where it fits exactly, nothing where a byte is missing. */
#define assert_writes(literal, call)                                                               \
    do {                                                                                           \
        for (size_t room = 0; room <= sizeof(literal); room++) {                                   \
            memset(out, '~', sizeof out);                                                          \
            size_t wrote = call;                                                                   \
            assert_int_equal(wrote, room >= sizeof(literal) - 1 ? sizeof(literal) - 1 : 0);        \
            if (wrote) assert_memory_equal(out, literal, wrote);                                   \
            assert_int_equal(out[wrote], '~');                                                     \
        }                                                                                          \
    } while (0)

static void test_status_line(void **state)
{
    (void)state;
    assert_writes("HTTP/1.1 200 OK\r\n", http1_write_status_line(out, room, 200, TEXT("OK")));
    assert_writes("HTTP/1.1 599 \r\n",
                  http1_write_status_line(out, room, 599, belay_slice(NULL, 0)));
    assert_int_equal(http1_write_status_line(out, sizeof out, 99, TEXT("x")), 0);
    assert_int_equal(http1_write_status_line(out, sizeof out, 1000, TEXT("x")), 0);
}

static void test_fields(void **state)
{
    (void)state;
    assert_writes("Name: value\r\n", http1_write_field(out, room, TEXT("Name"), TEXT("value")));
    assert_writes("Name: \r\n", http1_write_field(out, room, TEXT("Name"), TEXT("")));
    assert_writes("Age: 0\r\n", http1_write_field_number(out, room, TEXT("Age"), 0));
    assert_writes("Age: 1234567890\r\n",
                  http1_write_field_number(out, room, TEXT("Age"), 1234567890));
    assert_writes("A: 18446744073709551615\r\n",
                  http1_write_field_number(out, room, TEXT("A"), UINT64_MAX));
}

static void test_chunk_heads(void **state)
{
    (void)state;
    assert_writes("0\r\n", http1_write_chunk_head(out, room, 0));
    assert_writes("f\r\n", http1_write_chunk_head(out, room, 15));
    assert_writes("10\r\n", http1_write_chunk_head(out, room, 16));
    assert_writes("1a2b\r\n", http1_write_chunk_head(out, room, 0x1a2b));
    assert_writes("ffffffffffffffff\r\n", http1_write_chunk_head(out, room, UINT64_MAX));
}

static void test_reason_phrases(void **state)
{
    (void)state;
    assert_string_equal(http1_reason_phrase(200), "OK");
    assert_string_equal(http1_reason_phrase(503), "Service Unavailable");
    assert_string_equal(http1_reason_phrase(299), "");
    for (int status = -1; status < 1200; status++) {
        const char *phrase = http1_reason_phrase(status);
        assert_non_null(phrase);
        if (status < 100 || status > 599) assert_string_equal(phrase, "");
    }
    assert_string_equal(http1_reason_phrase(INT32_MIN), "");
    assert_string_equal(http1_reason_phrase(INT32_MAX), "");
}

/* What is written from a parsed head parses to the same values. */
static void test_a_head_written_anew_reads_the_same(void **state)
{
    (void)state;
    struct parsed first =
        request(TEXT("pUt http://b:80/x%20?y=z HTTP/1.1\r\nhost:a\r\nX-Eight:\t\xfc\xdf \r\n"
                     "empty:\r\nContent-Length:  007\r\ncookie: a=b; c=\"d\"\r\n\r\n"));
    assert_accepted(first);
    char text[512];
    size_t length = http1_write_forward_line(text, sizeof text, &first.head);
    for (size_t i = 0; i < first.head.field_count; i++) {
        const struct http1_field *field = &first.head.fields[i];
        struct belay_slice value = field->id == HTTP1_HOST ? first.head.authority : field->value;
        length += http1_write_field(text + length, sizeof text - length, field->name, value);
    }
    memcpy(text + length, "\r\n", 2);
    struct parsed second = request(belay_slice(text, length + 2));
    assert_accepted(second);
    assert_true(belay_slice_equal(first.head.path, second.head.path));
    assert_true(belay_slice_equal(first.head.query, second.head.query));
    assert_true(belay_slice_equal(first.head.authority, second.head.authority));
    assert_true(belay_slice_equal(first.head.method_text, second.head.method_text));
    assert_true(first.head.content_length == second.head.content_length);
    assert_int_equal(first.head.field_count, second.head.field_count);
    for (size_t i = 1; i < first.head.field_count; i++) {
        assert_true(belay_slice_equal(first.head.fields[i].value, second.head.fields[i].value));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_line),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_chunk_heads),
        cmocka_unit_test(test_reason_phrases),
        cmocka_unit_test(test_a_head_written_anew_reads_the_same),
    };
    return cmocka_run_group_tests_name("http1/write", tests, NULL, NULL);
}
