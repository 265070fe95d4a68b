/*
 * Fuzzer of oz0-worker's side of the channel: bytes from a supervisor that has
 * lost its mind, after a good WORKER_INIT and a server that was started.  The
 * worker may end; it must not fall over, and must not hang.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "wire/chan.h"
#include "worker/worker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool fact)
{
	if (!fact)
		abort();
}

static void
quiet(enum log_level level, const char *line, void *arg)
{
}

static void
greet(struct chan *c)
{
	struct buf *b = chan_begin(c, WIRE_WORKER_INIT);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), pv[2];

	wire_put_u32(b, WIRE_VERSION);
	wire_put_u8(b, WIRE_WORKER_SESSION);
	wire_put_str(b, "j1/1");
	wire_put_u64(b, 65536);
	wire_put_u8(b, LOG_LEVEL_ERROR);
	wire_put_u64(b, 1 << 20);
	must(chan_end(c, NULL, 0, NULL, 0) == 0);
	must(fd_pipe(pv) == 0);
	b = chan_begin(c, WIRE_SERVER_START);
	wire_put_u32(b, 1);
	wire_put_str(b, "t");
	wire_put_u8(b, WIRE_SERVER_JOB);
	wire_put_u8(b, WIRE_ERA_UNKNOWN);
	wire_put_u64(b, 60000000);
	must(chan_end(c, NULL, 0,
		 (const int[]) { pv[1], pv[0], pv[0] }, 3)
	    == 0);
	must(chan_flush(c) == 0 && !chan_pending(c));
	close(pv[0]);
	close(pv[1]);
	close(null);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct worker *w;
	struct chan *c;
	int sv[2], r;

	if (size > 65536)
		return 0;
	log_set_sink(quiet, NULL);
	must(fd_socketpair(sv) == 0);
	c = chan_new(sv[0], WIRE_ROLE_SUPERVISOR, WIRE_ROLE_WORKER, 65536);
	greet(c);
	must(send(sv[0], data, size, MSG_NOSIGNAL) == (ssize_t)size);
	shutdown(sv[0], SHUT_WR);
	w = worker_new(sv[1], WIRE_WORKER_SESSION);
	must(w != NULL);
	r = worker_run(w);
	must(r <= 0);
	worker_free(w);
	chan_free(c);
	return 0;
}
