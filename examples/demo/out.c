/*
 * The queue for stdout.  stdout is made non-blocking where it is a pipe or a
 * socket (main.c), so that a reader that is slow does not stop the server
 * from reading; a reader that is gone makes all further output vanish.
 */
#include "examples/demo/out.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

void
out_put(struct demo *d, const void *p, size_t n)
{
	if (!d->out_broken)
		buf_put(&d->out, p, n);
}

void
out_line_end(struct demo *d)
{
	if (d->opt.crlf)
		out_put(d, "\r\n", 2);
	else
		out_put(d, "\n", 1);
}

void
out_line(struct demo *d, const char *line)
{
	out_put(d, line, strlen(line));
	out_line_end(d);
}

static void
message_begin(struct demo *d, struct jsonw *w)
{
	jsonw_init(w, &d->out);
	jsonw_object(w, NULL);
	jsonw_string(w, "jsonrpc", "2.0");
}

static void
message_end(struct demo *d, struct jsonw *w)
{
	jsonw_object_end(w);
	out_line_end(d);
}

void
out_result_begin(struct demo *d, struct jsonw *w, enum era era, const char *id,
    size_t id_len, const char *type)
{
	message_begin(d, w);
	if (id != NULL)
		jsonw_raw(w, "id", id, id_len);
	jsonw_object(w, "result");
	if (era == ERA_MODERN)
		jsonw_string(w, "resultType", type);
}

void
out_result_end(struct demo *d, struct jsonw *w, enum era era, const char *meta)
{
	if (era == ERA_MODERN || meta != NULL) {
		jsonw_object(w, "_meta");
		if (meta != NULL) {
			buf_puts(&d->out, meta);
			w->comma = true;
		}
		if (era == ERA_MODERN) {
			jsonw_object(w, "io.modelcontextprotocol/serverInfo");
			jsonw_string(w, "name", DEMO_NAME);
			jsonw_string(w, "version", PACKAGE_VERSION);
			jsonw_object_end(w);
		}
		jsonw_object_end(w);
	}
	jsonw_object_end(w);
	message_end(d, w);
}

void
out_error(struct demo *d, struct json_value id, int64_t code,
    const char *message, const char *data)
{
	struct jsonw w;

	message_begin(d, &w);
	if (!json_is(id, JSON_NONE))
		jsonw_value(&w, "id", id);
	jsonw_object(&w, "error");
	jsonw_int(&w, "code", code);
	jsonw_string(&w, "message", message);
	if (data != NULL)
		jsonw_raw(&w, "data", data, strlen(data));
	jsonw_object_end(&w);
	message_end(d, &w);
}

void
out_notify(struct demo *d, const char *method, const char *params)
{
	struct jsonw w;

	message_begin(d, &w);
	jsonw_string(&w, "method", method);
	if (params != NULL)
		jsonw_raw(&w, "params", params, strlen(params));
	message_end(d, &w);
}

int64_t
out_request(struct demo *d, const char *method)
{
	struct jsonw w;

	message_begin(d, &w);
	jsonw_int(&w, "id", d->next_id);
	jsonw_string(&w, "method", method);
	message_end(d, &w);
	return d->next_id++;
}

void
out_flush(struct demo *d, bool wait)
{
	while (buf_len(&d->out) > 0) {
		ssize_t n =
		    write(STDOUT_FILENO, buf_at(&d->out), buf_len(&d->out));

		if (n >= 0) {
			buf_take(&d->out, (size_t)n);
		} else if (errno == EAGAIN) {
			struct pollfd p = {STDOUT_FILENO, POLLOUT, 0};

			if (!wait)
				return;
			poll(&p, 1, -1);
		} else if (errno != EINTR) {
			d->out_broken = true;
			buf_clear(&d->out);
		}
	}
}
