/* log.h: what the daemon says to the person who runs it: one line each, on the standard error. */
#ifndef APP_LOG_H
#define APP_LOG_H

/* "belay: TEXT" and a newline, in one write, so that lines of several threads do not mix. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_text(const char *text);

#endif
