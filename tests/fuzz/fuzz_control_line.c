/*
 * One line of the control socket, from its bytes to the answers: what leaves
 * is always whole lines, each one JSON value, and no request is left over.  So
 * it is for a line that is refused by its head, and one that is no line at all.
 * The one method of the fuzzer (control_stub.c) reads params of every type.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "supervisor/control_internal.h"
#include "tests/fuzz/control_stub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_answers(const struct buf *out)
{
	const char *p, *end;

	if (buf_len(out) == 0)
		return; /* nothing but notifications */
	p = buf_at(out);
	end = p + buf_len(out);
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		struct json_value v;
		struct json_fault f;

		if (nl == NULL || !json_check(p, (size_t)(nl - p), &v, &f))
			abort();
		p = nl + 1;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct supervisor s = {0};
	struct control c = {.s = &s};
	struct conn k = {.c = &c, .role = ROLE_SCHEDULER};
	char *line;

	/* control_conn.c gives lines without a newline, and none that is
	 * blank */
	if (size == 0 || memchr(data, '\n', size) != NULL)
		return 0;
	line = mem_dup(data, size);
	TAILQ_INIT(&k.requests);
	TAILQ_INIT(&k.past);
	rpc_line(&k, line, size);
	if (k.nrequests != 0 || !TAILQ_EMPTY(&k.requests))
		abort();
	check_answers(&k.out.text);
	chain_free(&k.out);
	/* and as the head of a line that is not taken in whole */
	rpc_line_skipped(&k, line, size);
	check_answers(&k.out.text);
	chain_free(&k.out);
	buf_free(&c.unread);
	free(line);
	return 0;
}
