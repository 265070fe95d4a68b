/*
 * The configuration: any bytes are read or refused with words, and what was
 * read is printed and read back to the same.  References to files are left to
 * the unit tests: the fuzzer opens none.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
print_and_read(const struct conf *c)
{
	struct buf first = {0}, second = {0};
	struct conf_error e;
	struct conf *again;

	conf_print(c, &first);
	if (conf_parse("x", buf_at(&first), buf_len(&first), &again, &e) != 0)
		abort();
	conf_print(again, &second);
	if (buf_len(&first) != buf_len(&second) ||
	    memcmp(buf_at(&first), buf_at(&second), buf_len(&first)) != 0)
		abort();
	conf_free(again);
	buf_free(&first);
	buf_free(&second);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf_error e = {""};
	struct conf *c;

	if (memmem(data, size, "file:", 5) != NULL)
		return 0;
	if (conf_parse("x", (const char *)data, size, &c, &e) != 0) {
		if (e.text[0] == '\0')
			abort();
		return 0;
	}
	print_and_read(c);
	conf_free(c);
	return 0;
}
