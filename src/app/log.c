/* log.c: whole lines to the standard error (log.h). */
#include "app/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES_MAX 1024

void log_line(const char *format, ...)
{
    char line[LINE_BYTES_MAX] = "belay: ";
    size_t used = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line + used, sizeof line - used - 1, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    used += (size_t)length;
    if (used > sizeof line - 2) used = sizeof line - 2;
    line[used++] = '\n';
    ssize_t wrote = write(STDERR_FILENO, line, used);
    (void)wrote; /* nobody is left to tell */
}

void log_text(const char *text)
{
    log_line("%s", text);
}
