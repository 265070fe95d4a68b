#ifndef OZ0_EXAMPLES_DEMO_OPTIONS_H
#define OZ0_EXAMPLES_DEMO_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* The command line of oz0-demo(1): how the process as a whole behaves. */

struct options {
	bool legacy; /* serves initialize */
	bool modern; /* serves 2026-07-28 */
	const char *max_version;
	bool banner;
	bool crlf;
	bool exit_on_discover;
	bool silent_discover;
	bool finish_on_eof;
	bool ignore_eof;
	bool ignore_sigterm;
	bool no_hints;
	bool ping_first;
	int64_t discover_error;
	const char *exit_after;
	const char *ledger;
	int64_t page_size; /* 0: one page */
	int64_t slow_start_ms;
	int64_t stderr_bytes;
	int64_t write_first;
};

/* Ends the process for --help, --version and what it does not understand. */
void options_parse(int argc, char **argv, struct options *ret);
/* Is this one of the revisions that have initialize? */
bool options_legacy_version(const char *version);

#endif
