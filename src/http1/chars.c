/* chars.c: the table of character classes (chars.h). */
#include "http1/chars.h"

enum {
    _ = 0,
    v = CHAR_VALUE,
    h = CHAR_VALUE | CHAR_TOKEN,
    u = CHAR_VALUE | CHAR_TARGET,
    t = CHAR_VALUE | CHAR_TARGET | CHAR_TOKEN,
    n = CHAR_VALUE | CHAR_TARGET | CHAR_TOKEN | CHAR_HOST,
};

/* clang-format off */
const uint8_t http1__chars[256] = {
    _, _, _, _, _, _, _, _, _, v, _, _, _, _, _, _, /* HTAB alone */
    _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _,
    v, t, u, h, t, t, t, t, u, u, t, t, u, n, n, u, /* SP ! " # $ % & ' ( ) * + , - . / */
    n, n, n, n, n, n, n, n, n, n, u, u, u, u, u, u, /* 0-9 : ; < = > ? */
    u, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, /* @ A-O */
    n, n, n, n, n, n, n, n, n, n, n, u, u, u, t, n, /* P-Z [ \ ] ^ _ */
    t, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, /* ` a-o */
    n, n, n, n, n, n, n, n, n, n, n, u, t, u, n, _, /* p-z { | } ~ DEL */
    v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, /* 8-bit */
    v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v,
    v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v,
    v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v,
    v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v,
    v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v,
    v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v,
    v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v,
};
/* clang-format on */
