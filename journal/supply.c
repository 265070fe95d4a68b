/*
 * Preallocation of the log's segments in oz0-journal.
 */
#include "journal/supply.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

#define WAIT_FIRST SPAN_MS(100)
#define WAIT_MOST SPAN_S(2)
#define SOON SPAN_S(2) /* a segment that lasts less is used up fast */

void
supply_want(struct supply *s, uint64_t number)
{
	if (number > s->needed)
		s->needed = number;
	if (number <= s->given || number <= s->want)
		return;
	s->want = number;
	s->at = time_mono();
	s->wait = WAIT_FIRST;
}

/* On with what is to lie in reserve. */
static void
go_on(struct supply *s)
{
	s->want = s->given < s->upto ? s->given + 1 : 0;
	s->at = time_mono();
	s->wait = WAIT_FIRST;
}

void
supply_rotated(struct supply *s, uint64_t number)
{
	struct mono now = time_mono();

	if (s->ahead == 0 || mono_before(mono_add(s->rotated, SOON), now))
		s->ahead = 1;
	else if (s->ahead < SUPPLY_AHEAD)
		s->ahead++;
	s->rotated = now;
	s->upto = number + s->ahead;
	supply_want(s, number + 1);
	if (s->want == 0)
		go_on(s);
}

struct mono
supply_due(const struct supply *s)
{
	return s->want != 0 ? s->at : MONO_NEVER;
}

static void
failed(struct supply *s, struct chan *c, int error)
{
	CLEANUP_FREE char *why = mem_printf(
	    "log segment %016" PRIx64 " of %" PRIu64 " bytes", s->want,
	    s->size);
	struct buf *b;

	s->at = mono_add(time_mono(), s->wait);
	s->wait = span_min(SPAN_US(s->wait.us * 2), WAIT_MOST);
	if (s->told == error)
		return;
	s->told = error;
	log_warning("%s: %s", why, strerror(error));
	b = chan_begin(c, WIRE_JOURNAL_NO_SPACE);
	wire_put_u32(b, (uint32_t)error);
	wire_put_str(b, why);
	chan_end(c, NULL, 0, NULL, 0);
}

static int
make_and_send(struct supply *s, struct logdir *l, struct chan *c)
{
	CLEANUP_CLOSE int fd = -1;
	struct buf *b;
	int r = logdir_make_segment(l, s->want, s->size, s->sync, &fd);

	if (r < 0)
		return r;
	b = chan_begin(c, WIRE_JOURNAL_SEGMENT);
	wire_put_u64(b, s->want);
	return chan_end(c, NULL, 0, &fd, 1);
}

void
supply_turn(struct supply *s, struct logdir *l, struct chan *c)
{
	int r;

	if (s->want == 0 || mono_before(time_mono(), s->at))
		return;
	r = make_and_send(s, l, c);
	if (r == -EEXIST) {
		/* Begun already: the supervisor had it from the one before. */
		supply_want(s, s->want + 1);
		return;
	}
	if (r < 0 && s->want > s->needed) {
		s->upto = s->want = 0; /* it can be done without */
		return;
	}
	if (r < 0) {
		failed(s, c, -r);
		return;
	}
	if (s->told != 0)
		log_notice("log segment %016" PRIx64 " was made", s->want);
	s->told = 0;
	s->given = s->want;
	go_on(s);
}
