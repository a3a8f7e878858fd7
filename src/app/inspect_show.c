/* inspect_show.c: writes what was found: to standard output, and as a page that appears whole or
 * not at all (inspect.h). */
#include "app/inspect.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define COLUMNS_MIN 60
#define COLUMNS_MAX 100

static bool locale_is_utf8(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (!locale) return false;
    bool utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
    freelocale(locale);
    return utf8;
}

struct inspect_style inspect_style_of_output(void)
{
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    bool is_terminal = isatty(STDOUT_FILENO);
    bool dumb = terminal && strcmp(terminal, "dumb") == 0;
    struct inspect_style style = {.colour = is_terminal && !dumb && !(no_colour && no_colour[0]),
                                  .utf8 = locale_is_utf8(),
                                  .columns = 80};
    struct winsize size;
    if (!is_terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return style;
    style.columns = size.ws_col < COLUMNS_MIN   ? COLUMNS_MIN
                    : size.ws_col > COLUMNS_MAX ? COLUMNS_MAX
                                                : size.ws_col;
    return style;
}

bool inspect_report_now(struct inspect_run *run, struct inspect_report *report)
{
    const struct inspect_report *found = inspect_collector_report(run->collector);
    if (!found) {
        (void)inspect_fail("out of memory");
        return false;
    }
    const struct inspect_reading *reading = inspect_reader_counters(run->reader);
    *report = *found;
    report->lines = reading->lines;
    report->bytes = reading->text_bytes;
    report->other_lines = reading->other_lines;
    report->junk_lines = reading->junk_lines;
    report->cut_lines = reading->cut_lines;
    report->long_lines = reading->long_lines;
    report->unread_bytes = reading->unread_bytes;
    return true;
}

bool inspect_has_anomalies(const struct inspect_report *report)
{
    for (size_t i = 0; i < INSPECT_ANOMALY_COUNT; i++) {
        if (report->anomalies[i].count > 0) return true;
    }
    return false;
}

/* ---- the page ---- */

/* A device or a pipe is written to as it is. */
static bool is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

static FILE *open_temporary(char *path)
{
    int fd = mkstemp(path);
    if (fd < 0) return NULL;
    mode_t mask = umask(0);
    (void)umask(mask);
    (void)fchmod(fd, 0666 & ~mask);
    FILE *file = fdopen(fd, "w");
    if (!file) (void)close(fd);
    return file;
}

/* All that was written has arrived. */
static bool close_whole(FILE *file)
{
    bool whole = fflush(file) == 0 && !ferror(file);
    int error = errno;
    if (fclose(file) != 0) return false;
    errno = error;
    return whole;
}

static bool write_page(struct inspect_run *run, const struct inspect_report *report)
{
    char temporary[4096];
    bool special = is_special(run->html);
    int length = snprintf(temporary, sizeof temporary, special ? "%s" : "%s.XXXXXX", run->html);
    if (length < 0 || (size_t)length >= sizeof temporary) {
        errno = ENAMETOOLONG;
        return false;
    }
    FILE *file = special ? fopen(temporary, "w") : open_temporary(temporary);
    if (!file) return false;
    const char *source = run->path_count == 1 ? run->paths[0] : "several files";
    if (strcmp(source, "-") == 0) source = "standard input";
    inspect_write_html(file, report, run->timeline, source);
    bool written = close_whole(file) && (special || rename(temporary, run->html) == 0);
    if (written || special) return written;
    int error = errno;
    (void)unlink(temporary);
    errno = error;
    return false;
}

/* ---- all of it ---- */

/* Who reads from a pipe may leave; that is no fault. */
static bool has_reader(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) <= 0 || !(output.revents & POLLERR);
}

bool inspect_output_is_whole(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return true;
    if (errno == EPIPE || !has_reader()) return true;
    (void)inspect_fail("standard output: %s", strerror(errno ? errno : EIO));
    return false;
}

static void write_verdict(const struct inspect_run *run, const struct inspect_report *report)
{
    size_t kinds = 0;
    for (size_t i = 0; i < INSPECT_ANOMALY_COUNT; i++) kinds += report->anomalies[i].count > 0;
    if (kinds == 0)
        printf("%s is written: nothing wrong was found.\n", run->html);
    else
        printf("%s is written: %zu %s.\n", run->html, kinds,
               kinds == 1 ? "kind of anomaly" : "kinds of anomalies");
}

bool inspect_show(struct inspect_run *run, const struct inspect_report *report)
{
    bool to_output = run->html && strcmp(run->html, "-") == 0;
    if (run->html && !to_output && !write_page(run, report)) {
        (void)inspect_fail("%s: %s", run->html, strerror(errno));
        return false;
    }
    if (to_output)
        inspect_write_html(stdout, report, run->timeline, "events");
    else if (run->json)
        inspect_write_json(stdout, report, run->timeline);
    else if (run->html)
        write_verdict(run, report);
    else
        inspect_write_text(stdout, report, run->timeline, &run->style);
    return inspect_output_is_whole();
}
