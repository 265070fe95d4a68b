/*
 * Stands in for oz0-worker in tests/system/test_hostile.py: a worker that was
 * taken over.  It says it is ready, then does what the file `mode` beside it
 * says, against the supervisor that trusts it with nothing.  Run by the tests
 * alone; the file is looked up by the path this program was executed from.
 */
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "wire/chan.h"
#include "wire/frame.h"

#define CHANNEL 3

static char mode[64];

static void
read_mode(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);
	FILE *f;

	if (n <= 0)
		err(1, "readlink");
	path[n] = '\0';
	strcpy(strrchr(path, '/') + 1, "mode");
	f = fopen(path, "re");
	if (f == NULL || fgets(mode, sizeof(mode), f) == NULL)
		err(1, "%s", path);
	mode[strcspn(mode, "\n")] = '\0';
	fclose(f);
}

static void
say_ready(struct chan *c)
{
	struct buf *b = chan_begin(c, WIRE_WORKER_READY);

	wire_put_u32(b, WIRE_VERSION);
	wire_put_u32(b, (uint32_t)getpid());
	if (chan_end(c, NULL, 0, NULL, 0) != 0)
		errx(1, "chan_end");
}

static void
say_server_ready(struct chan *c, uint32_t server)
{
	struct buf *b = chan_begin(c, WIRE_SERVER_READY);

	wire_put_u32(b, server);
	wire_put_str(b, "2025-11-25");
	wire_put_str(b, "hostile");
	wire_put_str(b, "1");
	chan_end(c, NULL, 0, NULL, 0);

	b = chan_begin(c, WIRE_SERVER_FUNCTION);
	wire_put_u32(b, server);
	wire_put_u32(b, 1);
	wire_put_str(b, "echo");
	for (int i = 0; i < 4; i++)
		wire_put_u8(b, WIRE_HINT_ABSENT);
	wire_put_u8(b, 0);
	wire_put_u8(b, 0);
	wire_put_str(b, "");
	chan_end(c, "{\"name\":\"echo\"}", 15, NULL, 0);

	b = chan_begin(c, WIRE_SERVER_LISTED);
	wire_put_u32(b, server);
	wire_put_u32(b, 1);
	wire_put_u32(b, 1);
	wire_put_str(b, "");
	chan_end(c, NULL, 0, NULL, 0);
}

static void
say_end(struct chan *c, uint64_t attempt, const char *payload)
{
	struct buf *b = chan_begin(c, WIRE_CALL_END);

	wire_put_u64(b, attempt);
	wire_put_u8(b, WIRE_END_RESULT);
	wire_put_u8(b, 1);
	wire_put_u8(b, 0);
	wire_put_u8(b, 0);
	wire_put_u8(b, WIRE_BUSY_NO);
	wire_put_f64(b, -1);
	wire_put_i64(b, 0);
	wire_put_u32(b, 0);
	wire_put_str(b, "");
	chan_end(c, payload, strlen(payload), NULL, 0);
}

static void
say_raw(const void *p, size_t n)
{
	if (send(CHANNEL, p, n, MSG_NOSIGNAL) < 0)
		err(1, "send");
}

static void
raw_frame(uint32_t length, uint16_t type, uint32_t body, uint32_t payload)
{
	struct buf b = {0};

	wire_put_u32(&b, length);
	wire_put_u16(&b, type);
	wire_put_u8(&b, 0);
	wire_put_u8(&b, 0);
	wire_put_u32(&b, body);
	wire_put_u32(&b, payload);
	say_raw(buf_at(&b), buf_len(&b));
	buf_free(&b);
}

/* Silent at first; at the next call it answers the first one, and again. */
static void
answer_late(struct chan *c, uint64_t attempt)
{
	static uint64_t first;

	if (first == 0) {
		first = attempt;
		return;
	}
	say_end(c, first, "{\"late\":1}");
	say_end(c, first, "{\"late\":2}");
}

/* What it does when it is given a call, by its mode. */
static void
misbehave(struct chan *c, uint64_t attempt)
{
	if (strcmp(mode, "not-json") == 0) {
		say_end(c, attempt, "{\"content\":[");
	} else if (strcmp(mode, "two-values") == 0) {
		say_end(c, attempt, "{} , \"state\":\"completed\"");
	} else if (strcmp(mode, "two-lines") == 0) {
		say_end(c, attempt, "{}\n{\"jsonrpc\":\"2.0\",\"id\":1}");
	} else if (strcmp(mode, "bad-utf8") == 0) {
		say_end(c, attempt, "{\"a\":\"\xff\xfe\"}");
	} else if (strcmp(mode, "others-attempt") == 0) {
		for (uint64_t a = 0; a < 64; a++)
			if (a != attempt)
				say_end(c, a, "{\"stolen\":true}");
	} else if (strcmp(mode, "end-twice") == 0) {
		say_end(c, attempt, "{\"n\":1}");
		say_end(c, attempt, "{\"n\":2}");
	} else if (strcmp(mode, "late-twice") == 0) {
		answer_late(c, attempt);
	} else if (strcmp(mode, "unknown-type") == 0) {
		raw_frame(WIRE_HEADER, 9999, 0, 0);
	} else if (strcmp(mode, "wrong-direction") == 0) {
		raw_frame(WIRE_HEADER + 8, WIRE_WORKER_PING, 8, 0);
		say_raw("\0\0\0\0\0\0\0\0", 8);
	} else if (strcmp(mode, "huge-length") == 0) {
		raw_frame(0xffffffffu, WIRE_CALL_END, 0xffffffffu, 0xffffffffu);
	} else if (strcmp(mode, "short-body") == 0) {
		raw_frame(WIRE_HEADER + 1, WIRE_CALL_END, 1, 0);
		say_raw("", 1);
	} else if (strcmp(mode, "garbage") == 0) {
		char junk[4096];

		memset(junk, 0xa5, sizeof(junk));
		say_raw(junk, sizeof(junk));
	} else if (strcmp(mode, "dies") == 0) {
		_exit(0);
	} else if (strcmp(mode, "hangs") == 0) {
		for (;;)
			pause();
	} else if (strcmp(mode, "good") == 0) {
		say_end(c, attempt, "{\"content\":[],\"good\":true}");
	} else {
		errx(1, "no such mode: %s", mode);
	}
}

/* Endless progress and log lines, never reading: the supervisor's memory and
 * its other work must not suffer. */
static void
flood(uint64_t attempt)
{
	struct buf b = {0};

	wire_put_u32(&b, WIRE_HEADER + 25);
	wire_put_u16(&b, WIRE_CALL_PROGRESS);
	wire_put_u8(&b, 0);
	wire_put_u8(&b, 0);
	wire_put_u32(&b, 25);
	wire_put_u32(&b, 0);
	wire_put_u64(&b, attempt);
	wire_put_f64(&b, 1);
	wire_put_u8(&b, 0);
	wire_put_f64(&b, 0);
	fcntl(CHANNEL, F_SETFL, 0);
	for (;;)
		if (send(CHANNEL, buf_at(&b), buf_len(&b), MSG_NOSIGNAL) < 0)
			_exit(0);
}

static void
take(struct chan *c, struct chan_frame *f)
{
	struct wire_reader *r = &f->body;
	struct buf *b;
	uint64_t n;

	switch (f->type) {
	case WIRE_WORKER_INIT:
		say_ready(c);
		break;
	case WIRE_WORKER_PING:
		n = wire_get_u64(r);
		b = chan_begin(c, WIRE_WORKER_PONG);
		wire_put_u64(b, n);
		chan_end(c, NULL, 0, NULL, 0);
		break;
	case WIRE_SERVER_START:
		say_server_ready(c, wire_get_u32(r));
		break;
	case WIRE_SERVER_GONE:
		b = chan_begin(c, WIRE_SERVER_DRAINED);
		wire_put_u32(b, wire_get_u32(r));
		chan_end(c, NULL, 0, NULL, 0);
		break;
	case WIRE_CALL:
		n = wire_get_u64(r);
		b = chan_begin(c, WIRE_CALL_SENT);
		wire_put_u64(b, n);
		chan_end(c, NULL, 0, NULL, 0);
		chan_flush(c);
		if (strcmp(mode, "flood") == 0)
			flood(n);
		misbehave(c, n);
		break;
	default:
		break;
	}
}

/* Waits for the channel and handles what came; false: nobody is there. */
static bool
turn(struct chan *c)
{
	struct pollfd p = {.fd = CHANNEL, .events = POLLIN};
	struct chan_frame *f;
	const char *why;

	if (chan_pending(c))
		p.events |= POLLOUT;
	if (poll(&p, 1, -1) < 0)
		err(1, "poll");
	if ((p.revents & POLLOUT) != 0 && chan_flush(c) != 0)
		return false;
	if ((p.revents & (POLLIN | POLLHUP)) == 0)
		return true;
	if (chan_read(c) == 0)
		return false;
	while (chan_next(c, &f, &why) == 1)
		take(c, f);
	chan_flush(c);
	return true;
}

int
main(void)
{
	struct chan *c;

	read_mode();
	fd_nonblock(CHANNEL);
	c = chan_new(CHANNEL, WIRE_ROLE_WORKER, WIRE_ROLE_SUPERVISOR, 1 << 24);
	while (turn(c))
		;
	chan_free(c);
	return 0;
}
