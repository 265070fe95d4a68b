#ifndef OZ0_BASE_LOG_H
#define OZ0_BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>

/* syslog levels, as service managers read them in front of a line. */
enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7,
};

/*
 * One line an event.  prefixed: "<6>" in front (service managers); else words
 * for people: "oz0d: warning: ...".  A confined process sets a sink instead
 * and its supervisor writes the line (STYLE rule 15).
 */
void log_init(const char *ident, bool prefixed);
void log_set_level(enum log_level level);
enum log_level log_get_level(void);
bool log_level_parse(const char *word, enum log_level *ret);
void log_set_sink(void (*sink)(enum log_level, const char *line, void *arg),
    void *arg);
void log_at(enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void log_vat(enum log_level level, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

#define log_error(...) log_at(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_at(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...) log_at(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...) log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
