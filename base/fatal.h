#ifndef OZ0_BASE_FATAL_H
#define OZ0_BASE_FATAL_H

/*
 * The end of a process, with one line in the log.  Only process code calls
 * these, never a library (STYLE rule 12).  Codes are those of oz0d(8).
 */
enum exit_code {
	EXIT_CODE_USAGE = 2,
	EXIT_CODE_UNAVAILABLE = 69,
	EXIT_CODE_INTERNAL = 70,
	EXIT_CODE_WRAPPER = 125, /* where the rest are the command's */
};

/* fatal adds strerror(errno); fatalx does not. */
void fatal(enum exit_code code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), noreturn));
void fatalx(enum exit_code code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), noreturn));

#endif
