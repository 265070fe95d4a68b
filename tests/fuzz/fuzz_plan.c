/*
 * The decoder of plans: oz0-sandbox reads one from its control socket, or from
 * a file.  What it takes must come out of the encoder and be taken again.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "sandbox/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_free) struct buf once = {0};
	CLEANUP(buf_free) struct buf twice = {0};
	CLEANUP(buf_free) struct buf words = {0};
	struct plan_command command;
	struct plan *p, *again;
	const char *why;

	if (plan_decode((const char *)data, size, &p, &why) < 0)
		return 0;
	plan_explain(p, &words);
	plan_encode(p, &once);
	/* escapes may make it longer than may be read again */
	if (plan_decode(buf_at(&once), buf_len(&once), &again, &why) == 0) {
		plan_encode(again, &twice);
		if (buf_len(&once) != buf_len(&twice) ||
		    memcmp(buf_at(&once), buf_at(&twice), buf_len(&once)) != 0)
			abort();
		plan_free(again);
	} else if (buf_len(&once) <= PLAN_JSON_MAX) {
		abort();
	}
	if (plan_command_decode((const char *)data, size, p, &command, &why) ==
	    0)
		plan_command_clear(&command);
	plan_free(p);
	return 0;
}
