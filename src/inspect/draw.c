/* draw.c: colours, bars and wrapped sentences of the text report (draw.h). */
#include "inspect/draw.h"

#include "inspect/say.h"

void draw_colour(const struct draw *draw, enum draw_colour colour)
{
    static const char *const CODES[] = {
        [DRAW_PLAIN] = "\033[0m", [DRAW_STRONG] = "\033[1m", [DRAW_FAINT] = "\033[2m",
        [DRAW_GOOD] = "\033[32m", [DRAW_CARE] = "\033[33m",  [DRAW_BAD] = "\033[1;31m",
    };
    if (draw->style->colour) (void)fputs(CODES[colour], draw->to);
}

void draw_repeat(const struct draw *draw, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++) (void)fputs(text, draw->to);
}

void draw_bar(const struct draw *draw, double part, double most, size_t columns)
{
    static const char *const EIGHTHS[] = {"",       "\u258f", "\u258e", "\u258d",
                                          "\u258c", "\u258b", "\u258a", "\u2589"};
    double share = most > 0 ? part / most : 0;
    if (share > 1) share = 1;
    size_t steps = draw->style->utf8 ? 8 : 1;
    size_t filled = (size_t)(share * (double)(columns * steps) + 0.5);
    if (filled == 0 && part > 0) filled = 1;
    draw_repeat(draw, draw->style->utf8 ? "\u2588" : "#", filled / steps);
    (void)fputs(EIGHTHS[filled % steps], draw->to);
    draw_repeat(draw, " ", columns - (filled + steps - 1) / steps);
}

void draw_columns(const struct draw *draw, const double *values, size_t count, double most)
{
    static const char *const BLOCKS[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const ASCII[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    for (size_t i = 0; i < count; i++) {
        size_t height = most > 0 ? (size_t)(values[i] / most * 8 + 0.5) : 0;
        if (height == 0 && values[i] > 0) height = 1;
        (void)fputs((draw->style->utf8 ? BLOCKS : ASCII)[height < 8 ? height : 8], draw->to);
    }
}

/* Columns, not bytes: the sentences are ours, and plain ASCII. */
void draw_sentence(const struct draw *draw, const char *label, size_t indent, const char *text)
{
    size_t column = indent, room = draw->style->columns > indent + 20 ? draw->style->columns : 80;
    (void)fprintf(draw->to, "%-*s", (int)indent, label);
    while (*text) {
        size_t word = strcspn(text, " ");
        bool begins = column == indent;
        if (!begins && column + 1 + word > room) {
            (void)fprintf(draw->to, "\n%*s", (int)indent, "");
            column = indent;
            begins = true;
        }
        (void)fprintf(draw->to, "%s%.*s", begins ? "" : " ", (int)word, text);
        column += word + !begins;
        text += word;
        text += strspn(text, " ");
    }
    (void)fputc('\n', draw->to);
}

void draw_foreign(const struct draw *draw, const char *text, size_t columns, bool pad)
{
    size_t written = say_text(draw->to, belay_slice_z(text), columns, draw->style->utf8);
    if (pad) draw_repeat(draw, " ", columns - written);
}
