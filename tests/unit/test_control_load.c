/*
 * Connections of the control socket: lines in pieces, too long and half, how
 * much a peer can make the node hold, and events to subscribers that are
 * quick, slow or gone.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/json.h"
#include "base/mem.h"
#include "supervisor/control_internal.h"
#include "tests/unit/control_fake.h"

#define STATUS "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"node/status\"}\n"

static struct fake_node *n;

static void
setup(void)
{
	n = fake_new(NULL);
}

static void
teardown(void)
{
	fake_free(n);
}

static void
start(void)
{
	ck_assert_int_eq(control_start(&n->s), 0);
}

/* ---- lines and bounds ---- */

START_TEST(pieces)
{
	const char *line = HELLO "\r\n\n   \n" HELLO "\n";
	struct client c;

	start();
	client_open(n, &c);
	for (const char *p = line; *p != '\0'; p++) {
		ck_assert_int_eq(send(c.fd, p, 1, MSG_NOSIGNAL), 1);
		fake_turn(n);
	}
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"id\":1"));
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"id\":1"));
	ck_assert(!client_quiet(&c));
	client_close(&c);
}
END_TEST

/* B056: an error that says so, then the connection is closed. */
START_TEST(line_too_long)
{
	size_t max = (64 << 10) + CONN_LINE_SLACK, have = 0;
	char *junk = mem_alloc(max + 2);
	struct client c;
	const char *got;

	n->s.conf->max_message = 64 << 10;
	start();
	client_open(n, &c);
	memset(junk, ' ', max);
	junk[max] = '\0';
	/* as long as may be, and blank: nothing to answer */
	client_send(&c, junk);
	client_send(&c, "\n");
	client_works(&c);
	memset(junk, 'x', max + 1);
	while (have < max + 1) {
		ssize_t k =
		    send(c.fd, junk + have, max + 1 - have, MSG_NOSIGNAL);

		if (k > 0)
			have += (size_t)k;
		else
			fake_turn(n);
	}
	got = client_line(&c);
	ck_assert_ptr_nonnull(strstr(got, "-32600"));
	ck_assert_ptr_null(client_line(&c));
	client_close(&c);
	free(junk);
}
END_TEST

/* A client that says all it has to say and waits for the answers. */
START_TEST(half_close)
{
	struct client c;

	start();
	client_open(n, &c);
	client_send(&c, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":"
			"\"call/start\",\"params\":{\"function\":"
			"\"shared.hold\"}}\n" HELLO "\n{\"half");
	shutdown(c.fd, SHUT_WR);
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"id\":1"));
	ck_assert(!client_quiet(&c));
	ck_assert(!c.closed);
	fake_release(n);
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"id\":7"));
	ck_assert_ptr_null(client_line(&c));
	client_close(&c);
}
END_TEST

/* A connection that breaks cancels nothing; the same call joins it. */
START_TEST(broken_connection)
{
#define HOLD                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"call/start\","             \
	"\"params\":{\"job\":\"j\",\"activity\":\"a\",\"function\":"           \
	"\"shared.hold\"}}\n"
	struct client c;

	start();
	client_open(n, &c);
	client_ask(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
		       "\"job/start\",\"params\":{\"job\":\"j\"}}");
	client_send(&c, HOLD);
	ck_assert(!client_quiet(&c));
	client_close(&c);
	for (int i = 0; i < 5; i++)
		fake_turn(n);
	client_open(n, &c);
	client_send(&c, HOLD);
	ck_assert(!client_quiet(&c));
	ck_assert_uint_eq(n->s.last_call, 1);
	fake_release(n);
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"call\":\"c1\""));
	client_close(&c);
}
END_TEST

/* Answers that are not read: the peer waits, others do not, none is lost. */
START_TEST(answers_not_read)
{
	enum { COUNT = 4000 };
	struct client slow, quick;
	size_t held;

	start();
	client_open(n, &slow);
	client_open(n, &quick);
	fcntl(slow.fd, F_SETFL, O_NONBLOCK);
	for (int i = 0, stuck = 0; i < COUNT;) {
		ssize_t k = send(slow.fd, STATUS, sizeof(STATUS) - 1, 0);

		if (k == (ssize_t)sizeof(STATUS) - 1) {
			i++;
			stuck = 0;
		} else {
			ck_assert_int_lt(k, 0);
			fake_turn(n);
			if (++stuck > 20)
				break; /* it is not read from any more */
		}
	}
	for (int i = 0; i < 50; i++)
		fake_turn(n);
	held = n->s.control->bytes;
	ck_assert_uint_gt(held, CONN_OUT_PAUSE);
	ck_assert_uint_lt(held, 2 * CONN_OUT_PAUSE + CONN_OUT_MORE);
	client_works(&quick);
	/* now it reads: every request that it wrote is answered */
	shutdown(slow.fd, SHUT_WR);
	held = 0;
	while (client_line(&slow) != NULL)
		held++;
	ck_assert_uint_gt(held, 1000);
	fake_turn(n);
	client_close(&slow);
	client_close(&quick);
}
END_TEST

/* B210 */
START_TEST(half_lines)
{
	struct rlimit l = {4096, 4096};
	enum { COUNT = 1500 };
	int fds[COUNT];
	struct client busy, late;

	getrlimit(RLIMIT_NOFILE, &l);
	if (l.rlim_max < 4096)
		return;
	l.rlim_cur = 4096;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &l), 0);
	start();
	n->s.control->max_conns = 200;
	n->s.control->max_per_uid = 150;
	client_open(n, &busy);
	client_send(&busy, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":"
			   "\"call/start\",\"params\":{\"function\":"
			   "\"shared.hold\"}}\n");
	ck_assert(!client_quiet(&busy));
	for (int i = 0; i < COUNT; i++) {
		struct client c;

		client_open(n, &c);
		fds[i] = c.fd;
		send(c.fd, HELLO, 20, MSG_NOSIGNAL);
		fake_turn(n);
		ck_assert_uint_le(n->s.control->nconns, 150);
	}
	client_open(n, &late);
	client_works(&late);
	/* one that waits for an answer is not idle */
	fake_release(n);
	ck_assert_ptr_nonnull(strstr(client_line(&busy), "\"id\":7"));
	for (int i = 0; i < COUNT; i++)
		close(fds[i]);
	client_close(&late);
	client_close(&busy);
}
END_TEST

/* L9.6: over the budget calls wait, other requests do not. */
START_TEST(budget)
{
	struct client c, other;

	n->s.conf->message_budget = 1 << 20;
	start();
	client_open(n, &c);
	client_open(n, &other);
	client_works(&c);
	n->s.payload_bytes += 2 << 20;
	fake_turn(n);
	client_send(&c, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":"
			"\"call/start\",\"params\":{\"function\":"
			"\"shared.echo\"}}\n");
	ck_assert(!client_quiet(&c));
	ck_assert_uint_eq(n->s.last_call, 0);
	client_works(&other);
	n->s.payload_bytes -= 2 << 20;
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"id\":7"));
	client_close(&c);
	client_close(&other);
}
END_TEST

/* ---- events ---- */

#define SUBSCRIBE                                                              \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"                            \
	"\"events/subscribe\",\"params\":{\"since\":%llu}}"

static uint64_t
event_seq(const char *line)
{
	struct json_value v;
	struct json_fault f;
	uint64_t seq = 0;

	ck_assert(json_check(line, strlen(line), &v, &f));
	ck_assert(json_string_is(json_member(v, "method"), "event"));
	ck_assert(
	    json_to_uint64(json_member(json_member(v, "params"), "seq"), &seq));
	return seq;
}

static void
subscribe(struct client *c, unsigned long long since)
{
	char line[200];

	snprintf(line, sizeof(line), SUBSCRIBE, since);
	ck_assert_ptr_nonnull(strstr(client_ask(c, line), "\"result\""));
}

/* Each once and in order, from the journal, from memory, and live. */
static void
missed(unsigned steps, bool from_journal)
{
	uint64_t seq = 3;
	struct client c;

	start();
	fake_steps(n, steps);
	fake_turn(n);
	client_open(n, &c);
	subscribe(&c, 3);
	for (unsigned i = 0; i < 100; i++) {
		ck_assert_uint_eq(event_seq(client_line(&c)), seq + 1);
		seq++;
	}
	fake_steps(n, 50); /* while it is still catching up */
	while (seq < record_last_seq(&n->s)) {
		ck_assert_uint_eq(event_seq(client_line(&c)), seq + 1);
		seq++;
	}
	fake_steps(n, 1);
	ck_assert_uint_eq(event_seq(client_line(&c)), seq + 1);
	ck_assert_int_eq(n->queries > 0, from_journal);
	ck_assert(!client_quiet(&c));
	client_close(&c);
}

START_TEST(missed_recent)
{
	missed(1000, false);
}
END_TEST

START_TEST(missed_long_ago)
{
	missed(12000, true);
}
END_TEST

START_TEST(missed_and_no_journal)
{
	struct client c;

	start();
	fake_steps(n, 12000);
	n->journal_broken = true;
	client_open(n, &c);
	subscribe(&c, 0);
	ck_assert_ptr_null(client_line(&c)); /* never with a gap */
	client_close(&c);
}
END_TEST

START_TEST(since_of_another_life)
{
	struct client c;
	char line[200];

	start();
	client_open(n, &c);
	snprintf(line, sizeof(line), SUBSCRIBE, 1000ULL);
	ck_assert_ptr_nonnull(strstr(client_ask(&c, line), "-32602"));
	client_close(&c);
}
END_TEST

/* One that writes nothing more and reads nothing for now, and is behind: the
 * loop sleeps until it reads, and then it is given the rest. */
START_TEST(half_closed_and_behind)
{
	uint64_t seq = 0;
	struct client c;
	char line[200];

	start();
	fake_steps(n, 30000);
	client_open(n, &c);
	snprintf(line, sizeof(line), SUBSCRIBE "\n", 0ULL);
	client_send(&c, line);
	shutdown(c.fd, SHUT_WR);
	for (int i = 0; i < 200; i++)
		fake_turn(n);
	ck_assert_int_eq(TAILQ_FIRST(&n->s.control->conns)->sub, SUB_PAST);
	ck_assert_int_eq(
	    event_base_get_num_events(n->s.base, EVENT_BASE_COUNT_ACTIVE), 0);
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"result\""));
	while (seq < record_last_seq(&n->s)) {
		ck_assert_uint_eq(event_seq(client_line(&c)), seq + 1);
		seq++;
	}
	client_close(&c);
}
END_TEST

/* B208, B209 */
START_TEST(slow_subscriber)
{
	struct client slow, quick;
	struct call call = {.number = 1, .progress = 1};
	struct job job = {.name = (char *)"j"};
	uint64_t seq;

	start();
	client_open(n, &slow);
	client_open(n, &quick);
	subscribe(&slow, 0);
	subscribe(&quick, 0);
	seq = record_last_seq(&n->s);
	/* progress alone never drops anybody */
	call.job = &job;
	for (int i = 0; i < 100000; i++)
		control_progress(&n->s, &call);
	fake_turn(n);
	ck_assert_uint_eq(n->s.control->nconns, 2);
	ck_assert_uint_lt(n->s.control->bytes, 4 << 20);
	while (client_quiet(&quick))
		client_line(&quick);
	for (int i = 0; i < 60 && n->s.control->nconns == 2; i++) {
		fake_steps(n, 1000);
		while (seq < record_last_seq(&n->s))
			ck_assert_uint_eq(
			    event_seq(client_line(&quick)), ++seq);
	}
	ck_assert_uint_eq(n->s.control->nconns, 1);
	ck_assert_uint_lt(n->s.control->bytes, 1 << 20);
	while (client_line(&slow) != NULL)
		;
	client_close(&slow);
	client_close(&quick);
}
END_TEST

static void
read_some(int fd, size_t left)
{
	char text[20000];

	while (left > 0) {
		ssize_t k = recv(fd, text, sizeof(text), MSG_DONTWAIT);

		if (k <= 0)
			fake_turn(n);
		else
			left -= (size_t)k < left ? (size_t)k : left;
	}
	fake_turn(n);
}

/* L9.6: over the budget who reads, but hardly, is cut off like who does not;
 * events count as answers do. */
START_TEST(hardly_read)
{
	struct client slow, other;
	struct mono since;
	struct conn *k;

	n->s.conf->message_budget = 1 << 20;
	start();
	client_open(n, &slow);
	client_open(n, &other);
	subscribe(&slow, record_last_seq(&n->s));
	k = TAILQ_FIRST(&n->s.control->subscribers);
	while (buf_len(&k->events) < 3 << 20)
		fake_steps(n, 100);
	fake_turn(n);
	since = k->stuck;
	ck_assert(since.us != MONO_NEVER.us);
	read_some(slow.fd, 200000);
	ck_assert_uint_lt(buf_len(&k->events), 3 << 20);
	ck_assert_int_eq(k->stuck.us, since.us);
	read_some(slow.fd, CONN_UNSTUCK);
	ck_assert_int_ne(k->stuck.us, since.us);
	ck_assert(n->s.control->over);
	ck_assert_uint_eq(n->s.control->nconns, 2);
	k->stuck.us -= 11 * 1000000;
	read_some(slow.fd, 1000);
	ck_assert_uint_eq(n->s.control->nconns, 1);
	client_works(&other);
	client_close(&slow);
	client_close(&other);
}
END_TEST

static Suite *
suite(void)
{
	const struct {
		const char *name;
		const TTest *test;
	} tests[] = {{"pieces", pieces},
	    {"line too long", line_too_long}, {"half close", half_close},
	    {"broken connection", broken_connection},
	    {"answers not read", answers_not_read}, {"half lines", half_lines},
	    {"budget", budget}, {"missed, recent", missed_recent},
	    {"missed, long ago", missed_long_ago},
	    {"missed, no journal", missed_and_no_journal},
	    {"since", since_of_another_life},
	    {"half-closed and behind", half_closed_and_behind},
	    {"slow subscriber", slow_subscriber},
	    {"hardly read", hardly_read}};
	Suite *s = suite_create("control load");

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		TCase *t = tcase_create(tests[i].name);

		tcase_add_checked_fixture(t, setup, teardown);
		tcase_set_timeout(t, 30);
		tcase_add_test(t, tests[i].test);
		suite_add_tcase(s, t);
	}
	return s;
}

int
main(void)
{
	SRunner *r = srunner_create(suite());
	int failed;

	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? 0 : 1;
}
