/*
 * oz0-bench-server: the smallest MCP server, static, so that the time to its
 * first byte is that of starting it and nothing else.
 *
 * Started by oz0-bench's floor and by a node, with the path of a fifo that
 * gets one byte as soon as main() runs.  On its standard streams it speaks
 * the era of initialize, and has one function, `first`.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char in[1 << 16];
static char out[1 << 12];

static int
tell_first_byte(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, "x", 1) == 1 ? close(fd) : -1;
}

/* The answer's result, or NULL: there is no such method. */
static const char *
result_of(const char *line)
{
	if (strstr(line, "\"method\":\"initialize\"") != NULL)
		return "{\"protocolVersion\":\"2025-11-25\","
		       "\"capabilities\":{\"tools\":{}},"
		       "\"serverInfo\":{\"name\":\"first\","
		       "\"version\":\"1\"}}";
	if (strstr(line, "\"method\":\"tools/list\"") != NULL)
		return "{\"tools\":[{\"name\":\"first\","
		       "\"inputSchema\":{\"type\":\"object\"}}]}";
	if (strstr(line, "\"method\":\"tools/call\"") != NULL)
		return "{\"content\":[{\"type\":\"text\",\"text\":\"1\"}]}";
	if (strstr(line, "\"method\":\"ping\"") != NULL)
		return "{}";
	return NULL;
}

/* Ids of the node are numbers; a line without one wants no answer. */
static int
answer(const char *line)
{
	const char *id = strstr(line, "\"id\":");
	const char *result = result_of(line);
	int n;

	if (id == NULL)
		return 0;
	id += 5;
	if (result != NULL)
		n = snprintf(out, sizeof(out),
		    "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}\n",
		    (int)strspn(id, "0123456789"), id, result);
	else
		n = snprintf(out, sizeof(out),
		    "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{"
		    "\"code\":-32601,\"message\":\"Method not found\"}}\n",
		    (int)strspn(id, "0123456789"), id);
	return write(1, out, (size_t)n) == n ? 0 : -1;
}

int
main(int argc, char **argv)
{
	size_t have = 0;
	ssize_t n;

	if (argc != 2 || tell_first_byte(argv[1]) < 0)
		return 2;
	while ((n = read(0, in + have, sizeof(in) - 1 - have)) > 0) {
		char *line = in, *nl;

		have += (size_t)n;
		in[have] = '\0';
		while ((nl = strchr(line, '\n')) != NULL) {
			*nl = '\0';
			if (answer(line) < 0)
				return 1;
			line = nl + 1;
		}
		have -= (size_t)(line - in);
		memmove(in, line, have);
	}
	return 0;
}
