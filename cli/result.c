/*
 * How a call ended: its result on stdout, all else on stderr, and the exit
 * code.  Runs in oz0.
 */
#include "cli/result.h"

#include <stdlib.h>
#include <string.h>

#include "cli/print.h"

/* Text as it is, with a newline at its end. */
static void
print_line(struct json_value text)
{
	size_t len;
	char *s = text_of(text, &len);

	print_text(stdout, s, len);
	if (len == 0 || s[len - 1] != '\n')
		putchar('\n');
	free(s);
}

/* What is no text is named: its bytes are base64, and --json has them. */
static void
print_other(struct json_value one, struct json_value from)
{
	const char *type = member_text(from, "mimeType");
	const char *uri = member_text(from, "uri");
	size_t data = json_member(from, "data").len;
	size_t blob = json_member(from, "blob").len;

	printf("[%s", member_text(one, "type"));
	if (*type != '\0')
		printf(" %s", type);
	if (*uri != '\0') {
		putchar(' ');
		print_text(stdout, uri, strlen(uri));
	}
	if (data > 2 || blob > 2)
		printf(", %zu bytes", ((data > 2 ? data : blob) - 2) / 4 * 3);
	printf("]\n");
}

static void
print_part(struct json_value one)
{
	struct json_value resource = json_member(one, "resource");

	if (json_string_is(json_member(one, "type"), "text"))
		print_line(json_member(one, "text"));
	else if (json_member(resource, "text").type == JSON_STRING)
		print_line(json_member(resource, "text"));
	else
		print_other(
		    one, resource.type == JSON_OBJECT ? resource : one);
}

static void
print_result(struct json_value result)
{
	struct json_value structured = json_member(result,
	    "structuredContent");
	struct json_value key, one;
	struct json_iter it;
	unsigned n = 0;

	if (json_member(result, "content").type != JSON_ARRAY) {
		print_line(result);
		return;
	}
	member_items(result, "content", &it);
	for (; json_iter_next(&it, &key, &one); n++)
		print_part(one);
	if (n == 0 && structured.type != JSON_NONE)
		print_line(structured);
}

static int
exit_code(struct json_value answer)
{
	const char *state = member_text(answer, "state");

	if (strcmp(state, "completed") == 0)
		return member_true(json_member(answer, "result"), "isError")
		    ? CLI_TOOL_ERROR
		    : CLI_DONE;
	if (strcmp(state, "refused") == 0)
		return CLI_REFUSED;
	if (strcmp(state, "canceled") == 0)
		return CLI_CANCELED;
	return strcmp(member_text(answer, "outcome"), "not_made") == 0
	    ? CLI_NOT_MADE
	    : CLI_UNKNOWN;
}

/* "oz0: own.sleep failed: timeout: ... (call c12 of job j1; 1 attempt; ...)" */
static void
explain(struct json_value answer)
{
	struct json_value error = json_member(answer, "error");
	const char *outcome = member_text(answer, "outcome");
	const char *stopped = member_text(answer, "stopped");
	const char *reason = member_text(error, "reason");
	const char *attempts = member_text(answer, "attempts");
	size_t len;
	char *message = text_of(json_member(error, "message"), &len);

	if (strcmp(message, reason) == 0)
		*message = '\0';
	if (strcmp(reason, member_text(answer, "state")) == 0)
		reason = "";
	complain("%s %s%s%s%s%s (call %s of job %s; %s attempt%s; outcome: "
		 "%s%s%s)",
	    member_text(answer, "function"), member_text(answer, "state"),
	    *reason != '\0' ? ": " : "", reason,
	    *message != '\0' ? ": " : "", message,
	    member_text(answer, "call"), member_text(answer, "job"), attempts,
	    strcmp(attempts, "1") == 0 ? "" : "s",
	    strcmp(outcome, "not_made") == 0 ? "nothing made" : outcome,
	    *stopped != '\0' ? "; stopped: " : "", stopped);
	free(message);
}

int
result_show(struct cli *cli, struct json_value answer)
{
	struct json_value result = json_member(answer, "result");
	int code = exit_code(answer);

	if (cli->json) {
		print_json(answer);
	} else if (result.type != JSON_NONE) {
		print_result(result);
		if (code == CLI_TOOL_ERROR)
			complain("%s answered with an error (call %s of job "
				 "%s)",
			    member_text(answer, "function"),
			    member_text(answer, "call"),
			    member_text(answer, "job"));
	} else if (member_true(answer, "evicted")) {
		complain("%s %s, but its result is no longer kept (call %s of "
			 "job %s)",
		    member_text(answer, "function"),
		    member_text(answer, "state"), member_text(answer, "call"),
		    member_text(answer, "job"));
	} else {
		explain(answer);
	}
	return code;
}
