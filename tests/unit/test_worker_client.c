/*
 * The MCP client (mcp/client.c and its files) without descriptors and with a
 * clock of its own: what goes out for what comes in, and when.  How it behaves
 * with real processes is test_worker.py's business.
 */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "worker/mcp/client.h"

#define MAX_LINE 65536

struct fixture {
	struct client *client;
	struct mono now;
	struct buf out;	  /* lines to the server */
	struct buf told;  /* what the supervisor hears, in words */
	struct buf held;  /* a line that is not begun, and its tag */
	int64_t held_tag;
	bool jammed; /* the server reads nothing */
	size_t unsent;
};

static void
op_send(void *arg, struct buf *text, int64_t tag, bool urgent)
{
	struct fixture *f = arg;

	if (f->jammed) {
		buf_free(&f->held);
		f->held = *text;
		f->held_tag = tag;
		memset(text, 0, sizeof(*text));
		return;
	}
	buf_put(&f->out, buf_at(text), buf_len(text));
	client_begun(f->client, tag);
	client_written(f->client, tag, text);
	buf_free(text);
}

static bool
op_unsend(void *arg, int64_t tag)
{
	struct fixture *f = arg;

	if (f->held_tag != tag)
		return false;
	f->held_tag = 0;
	return true;
}

static size_t
op_unsent(void *arg)
{
	return ((struct fixture *)arg)->unsent;
}

static void
op_push(void *arg)
{
}

static void __attribute__((format(printf, 2, 3)))
tell(void *arg, const char *fmt, ...)
{
	struct fixture *f = arg;
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_puts(&f->told, text);
	buf_putc(&f->told, ';');
}

static void
op_end_input(void *arg)
{
	tell(arg, "end input");
}

static void
op_ready(void *arg, const char *era, const char *name, const char *version)
{
	tell(arg, "ready %s", era);
}

static void
op_function(void *arg, const struct client_function *fn)
{
	tell(arg, "function %u %s", fn->generation, fn->name);
}

static void
op_listed(void *arg, uint32_t generation, uint32_t count, const char *problem)
{
	tell(arg, "listed %u %u", generation, count);
}

static void
op_failed(void *arg, enum wire_server_fault why, const char *text)
{
	tell(arg, "failed %d", why);
}

static void
op_noise(void *arg, enum wire_noise what, const char *sample)
{
	tell(arg, "noise %d", what);
}

static void
op_call_sent(void *arg, uint64_t attempt)
{
	tell(arg, "sent %d", (int)attempt);
}

static void
op_call_progress(void *arg, uint64_t attempt, double progress, bool has_total,
    double total)
{
	tell(arg, "progress %d %g", (int)attempt, progress);
}

static void
op_call_end(void *arg, const struct client_end *e)
{
	tell(arg, "end %d %d sent %d after %d", (int)e->attempt, e->how,
	    e->sent, e->after_cancel);
}

static void
op_cancel_sent(void *arg, uint64_t attempt, bool written)
{
	tell(arg, "cancelled %d %d", (int)attempt, written);
}

static const struct client_ops ops = { op_send, op_unsend, op_unsent, op_push,
	op_end_input, op_ready, op_function, op_listed, op_failed, op_noise,
	op_call_sent, op_call_progress, op_call_end, op_cancel_sent };

static void
open_client(struct fixture *f, enum wire_era hint)
{
	struct client_config c = { .tool = "t", .hint = hint,
		.probe = SPAN_S(10), .max_message = MAX_LINE };

	memset(f, 0, sizeof(*f));
	f->now.us = 1000000;
	f->client = client_new(&c, &ops, f);
	client_start(f->client, f->now);
}

static void
close_client(struct fixture *f)
{
	client_free(f->client);
	buf_free(&f->out);
	buf_free(&f->told);
	buf_free(&f->held);
}

static void
line(struct fixture *f, const char *text)
{
	char *copy = strdup(text);

	client_line(f->client, copy, strlen(copy), NULL, f->now);
	free(copy);
}

static void
told(struct fixture *f, const char *want)
{
	buf_putc(&f->told, '\0');
	ck_assert_str_eq(buf_at(&f->told), want);
	buf_clear(&f->told);
}

/* Every word in turn is found in what was written since. */
static void
wrote(struct fixture *f, const char *word)
{
	buf_putc(&f->out, '\0');
	if (*word == '\0')
		ck_assert_str_eq(buf_at(&f->out), "");
	else
		ck_assert_msg(strstr(buf_at(&f->out), word) != NULL,
		    "%s not in %s", word, buf_at(&f->out));
	buf_clear(&f->out);
}

static void
be_ready(struct fixture *f)
{
	open_client(f, WIRE_ERA_LEGACY);
	line(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{"
		"\"protocolVersion\":\"2025-06-18\",\"capabilities\":{"
		"\"tools\":{\"listChanged\":true}}}}");
	line(f, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[]}}");
	told(f, "ready 2025-06-18;listed 1 0;");
	wrote(f, "notifications/initialized");
}

static void
call(struct fixture *f, uint64_t attempt, bool progress)
{
	struct client_call c = { .attempt = attempt, .function = "f",
		.key = "j/k", .traceparent = "", .progress = progress };

	ck_assert(client_call(f->client, &c));
}

/* Silence on the probe: initialize when its time is over, not before. */
START_TEST(probe_time)
{
	struct fixture f;

	open_client(&f, WIRE_ERA_UNKNOWN);
	wrote(&f, "server/discover");
	ck_assert_int_eq(
	    (int)mono_since(client_deadline(f.client), f.now).us, 10000000);
	f.now = mono_add(f.now, SPAN_MS(9999));
	client_expire(f.client, f.now);
	wrote(&f, "");
	f.now = mono_add(f.now, SPAN_MS(1));
	client_expire(f.client, f.now);
	wrote(&f, "\"id\":2,\"method\":\"initialize\"");
	ck_assert(client_deadline(f.client).us == MONO_NEVER.us);
	line(&f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	told(&f, "noise 9;");
	/* no answer to initialize is no business of ours */
	f.now = mono_add(f.now, SPAN_S(1000));
	client_expire(f.client, f.now);
	wrote(&f, "");
	line(&f, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32022,"
		 "\"data\":{\"supported\":[\"2026-07-28\"]}}}");
	wrote(&f, "\"id\":3,\"method\":\"server/discover\"");
	f.now = mono_add(f.now, SPAN_S(10));
	client_expire(f.client, f.now);
	told(&f, "failed 3;");
	close_client(&f);
}
END_TEST

/* -32022 without a list is no modern error. */
START_TEST(not_modern)
{
	struct fixture f;

	open_client(&f, WIRE_ERA_MODERN);
	line(&f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022}}");
	wrote(&f, "initialize");
	close_client(&f);
}
END_TEST

START_TEST(eof)
{
	struct fixture f;

	open_client(&f, WIRE_ERA_UNKNOWN);
	client_eof(f.client, NULL, 0, f.now);
	told(&f, "failed 2;");
	close_client(&f);
	open_client(&f, WIRE_ERA_LEGACY);
	client_eof(f.client, NULL, 0, f.now);
	told(&f, "failed 1;");
	close_client(&f);
	be_ready(&f);
	call(&f, 7, false);
	client_stop(f.client);
	client_eof(f.client, NULL, 0, f.now);
	told(&f, "sent 7;end input;end 7 6 sent 1 after 0;");
	close_client(&f);
}
END_TEST

/* Reports are passed on at most every 50 ms, the last one always (L5.3a). */
START_TEST(progress_pace)
{
	static const char report[] =
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
	    "\"params\":{\"progressToken\":3,\"progress\":%d}}";
	struct fixture f;
	char text[256];

	be_ready(&f);
	call(&f, 7, true);
	for (int i = 1; i <= 100; i++) {
		snprintf(text, sizeof(text), report, i);
		line(&f, text);
	}
	told(&f, "sent 7;progress 7 1;");
	ck_assert_int_eq(
	    (int)mono_since(client_deadline(f.client), f.now).us, 50000);
	f.now = mono_add(f.now, SPAN_MS(50));
	client_expire(f.client, f.now);
	told(&f, "progress 7 100;");
	ck_assert(client_deadline(f.client).us == MONO_NEVER.us);
	snprintf(text, sizeof(text), report, 101);
	line(&f, text);
	line(&f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
	told(&f, "progress 7 101;end 7 1 sent 1 after 0;");
	close_client(&f);
}
END_TEST

/* Many changes are read once, and again when one comes while it is read. */
START_TEST(list_changed)
{
	static const char changed[] = "{\"jsonrpc\":\"2.0\",\"method\":"
				      "\"notifications/tools/list_changed\"}";
	struct fixture f;

	be_ready(&f);
	for (int i = 0; i < 100; i++)
		line(&f, changed);
	wrote(&f, "");
	f.now = client_deadline(f.client);
	client_expire(f.client, f.now);
	wrote(&f, "\"id\":3,\"method\":\"tools/list\"");
	ck_assert(client_deadline(f.client).us == MONO_NEVER.us);
	line(&f, changed);
	line(&f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"tools\":[{"
		 "\"name\":\"a\"}]}}");
	told(&f, "function 2 a;listed 2 1;");
	f.now = client_deadline(f.client);
	client_expire(f.client, f.now);
	wrote(&f, "\"id\":4,\"method\":\"tools/list\"");
	line(&f, changed);
	line(&f, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"tools\":[{"
		 "\"name\":\"b\"}],\"nextCursor\":5}}");
	told(&f, "function 3 b;listed 3 1;"); /* with a problem */
	f.now = client_deadline(f.client);
	client_expire(f.client, f.now);
	wrote(&f, "\"id\":5,\"method\":\"tools/list\"");
	client_stop(f.client);
	told(&f, "end input;");
	close_client(&f);
}
END_TEST

/* What is not begun can be taken back; what is begun cannot. */
START_TEST(cancel)
{
	struct fixture f;

	be_ready(&f);
	ck_assert(!client_cancel(f.client, 7, "r", false));
	f.jammed = true;
	call(&f, 7, false);
	ck_assert(client_cancel(f.client, 7, "r", false));
	told(&f, "cancelled 7 0;end 7 7 sent 0 after 1;");
	call(&f, 8, false);
	client_begun(f.client, f.held_tag);
	ck_assert(client_cancel(f.client, 8, "r", true));
	/* jammed: the input is ended, the attempt lasts */
	told(&f, "sent 8;end input;cancelled 8 0;");
	call(&f, 9, false);
	told(&f, "end 9 6 sent 0 after 0;");
	line(&f, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}");
	told(&f, "end 8 1 sent 1 after 1;");
	close_client(&f);
}
END_TEST

/* An answer to what was not written yet is an answer to nothing. */
START_TEST(answer_ahead)
{
	struct fixture f;

	be_ready(&f);
	f.jammed = true;
	call(&f, 7, false);
	line(&f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
	told(&f, "noise 4;");
	client_begun(f.client, 3);
	line(&f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
	told(&f, "sent 7;end 7 1 sent 1 after 0;");
	close_client(&f);
}
END_TEST

/* A server that asks and does not read costs a bounded amount. */
START_TEST(replies)
{
	static const char ping[] =
	    "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}";
	struct fixture f;

	be_ready(&f);
	line(&f, ping);
	wrote(&f, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n");
	f.unsent = 1 << 20;
	line(&f, ping);
	wrote(&f, "");
	told(&f, "noise 7;");
	close_client(&f);
}
END_TEST

/* L3.7b: late answers and notifications are good messages. */
START_TEST(noise)
{
	struct fixture f;

	be_ready(&f);
	for (int i = 0; i < 3000; i++) {
		line(&f, "noise");
		if (i % 999 == 998)
			line(&f,
			    i % 2 == 0
				? "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}"
				: "{\"jsonrpc\":\"2.0\",\"id\":1,"
				  "\"result\":{}}");
	}
	buf_putc(&f.told, '\0');
	ck_assert_ptr_null(strstr(buf_at(&f.told), "failed"));
	f.told.end--;
	for (int i = 0; i < 1000; i++)
		line(&f, "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}");
	buf_putc(&f.told, '\0');
	ck_assert_ptr_nonnull(strstr(buf_at(&f.told), "failed 4"));
	close_client(&f);
}
END_TEST

START_TEST(names)
{
	struct client_call c = { .attempt = 1, .function = "f", .key = "k",
		.traceparent = "" };
	struct fixture f;

	be_ready(&f);
	c.function = "a b";
	ck_assert(!client_call(f.client, &c));
	c.function = "f";
	c.key = "a\nb";
	ck_assert(!client_call(f.client, &c));
	c.key = "k";
	c.traceparent = "\"";
	ck_assert(!client_call(f.client, &c));
	c.traceparent = "";
	ck_assert(client_call(f.client, &c));
	ck_assert(!client_call(f.client, &c)); /* known already */
	close_client(&f);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("worker: client");
	TCase *t = tcase_create("all");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_test(t, probe_time);
	tcase_add_test(t, not_modern);
	tcase_add_test(t, eof);
	tcase_add_test(t, progress_pace);
	tcase_add_test(t, list_changed);
	tcase_add_test(t, cancel);
	tcase_add_test(t, answer_ahead);
	tcase_add_test(t, replies);
	tcase_add_test(t, noise);
	tcase_add_test(t, names);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? 0 : 1;
}
