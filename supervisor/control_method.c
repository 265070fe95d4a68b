/*
 * The methods of the control protocol in one table: name, the role that may
 * use it (SESSION, Who may do what), its params and its function.
 * oz0-control(7) describes each of them.  Runs in oz0d.
 */
#include "supervisor/control_policy.h"

#include <stddef.h>

#define P(name, type)                                                          \
	{                                                                      \
		name, PARAM_##type, false                                      \
	}
#define PR(name, type)                                                         \
	{                                                                      \
		name, PARAM_##type, true                                       \
	}

static const char no_remote[] =
    "remote servers are not supported by this version";

/* Looked through from the first on: those that are called most come first. */
static const struct method methods[] = {
    {"call/start", ROLE_SCHEDULER, call_start_request, NULL,
	{P("job", NAME), P("tenant", NAME), P("run", U32),
	    P("session", SESSION), P("activity", NAME), PR("function", STRING),
	    P("arguments", OBJECT), P("timeout", SPAN), P("prior", PRIOR),
	    P("traceparent", STRING), P("progress", BOOL)}},
    {"call/cancel", ROLE_SCHEDULER, call_cancel_request, NULL,
	{PR("call", CALL), P("wait", BOOL)}},
    {"call/status", ROLE_OBSERVER, call_status, NULL, {PR("call", CALL)}},
    {"call/approve", ROLE_SCHEDULER, call_approve_request, NULL,
	{PR("call", CALL)}},
    {"call/deny", ROLE_SCHEDULER, call_deny_request, NULL,
	{PR("call", CALL)}},

    {"node/hello", ROLE_OBSERVER, node_hello, NULL, {{0}}},
    {"node/status", ROLE_OBSERVER, node_status, NULL, {{0}}},
    {"node/ps", ROLE_OBSERVER, node_ps, NULL, {P("job", NAME)}},
    {"node/drain", ROLE_ADMIN, node_drain_request, NULL, {{0}}},
    {"node/reload", ROLE_ADMIN, node_reload_request, NULL, {{0}}},

    {"job/start", ROLE_SCHEDULER, job_start_request, NULL,
	{PR("job", NAME), P("tenant", NAME), P("run", U32)}},
    {"job/cancel", ROLE_SCHEDULER, job_cancel_request, NULL,
	{PR("job", NAME), P("wait", BOOL)}},
    {"job/end", ROLE_SCHEDULER, job_end_request, NULL,
	{PR("job", NAME), P("failed", BOOL), P("wait", BOOL)}},
    {"job/forget", ROLE_SCHEDULER, job_forget_request, NULL, {PR("job", NAME)}},
    {"job/list", ROLE_OBSERVER, job_list, NULL, {P("limit", U32)}},
    {"job/status", ROLE_OBSERVER, job_status, NULL, {PR("job", NAME)}},
    {"job/trace", ROLE_OBSERVER, job_trace, NULL,
	{PR("job", NAME), P("since", U64), P("limit", U32)}},

    {"session/open", ROLE_SCHEDULER, session_open_request, NULL,
	{PR("job", NAME), PR("session", SESSION), P("tools", STRINGS),
	    P("workspace", STRING), P("force", BOOL)}},
    {"session/run", ROLE_SCHEDULER, session_run, NULL,
	{PR("job", NAME), PR("session", SESSION), PR("command", STRING),
	    P("args", STRINGS), P("env", MAP), P("cwd", STRING),
	    P("tty", BOOL)}},
    {"session/signal", ROLE_SCHEDULER, session_signal, NULL,
	{PR("job", NAME), PR("session", SESSION), PR("signal", U32)}},
    {"session/resize", ROLE_SCHEDULER, session_resize, NULL,
	{PR("job", NAME), PR("session", SESSION), PR("rows", U32),
	    PR("cols", U32)}},
    {"session/shell", ROLE_ADMIN, NULL,
	"shells in a sandbox are not supported by this version", {{0}}},
    {"session/close", ROLE_SCHEDULER, session_close_request, NULL,
	{PR("job", NAME), PR("session", SESSION), P("wait", BOOL)}},

    {"tool/list", ROLE_OBSERVER, tool_list, NULL, {{0}}},
    {"tool/functions", ROLE_OBSERVER, tool_functions, NULL,
	{P("tool", STRING)}},
    {"tool/logs", ROLE_ADMIN, tool_logs, NULL,
	{PR("tool", STRING), P("since", U64), P("wait", BOOL)}},
    {"tool/restart", ROLE_ADMIN, tool_restart, NULL, {PR("tool", STRING)}},
    {"tool/kill", ROLE_ADMIN, tool_kill_request, NULL,
	{PR("tool", STRING), P("server", BOOL)}},
    {"tool/unkill", ROLE_ADMIN, tool_unkill_request, NULL,
	{PR("tool", STRING)}},

    {"listing/show", ROLE_SCHEDULER, NULL, no_remote, {{0}}},
    {"listing/approve", ROLE_SCHEDULER, NULL, no_remote, {{0}}},
    {"listing/revoke", ROLE_SCHEDULER, NULL, no_remote, {{0}}},
    {"policy/show", ROLE_ADMIN, policy_show, NULL, {{0}}},
    {"policy/set", ROLE_ADMIN, policy_set_request, NULL,
	{PR("policy", OBJECTS), P("check", BOOL)}},

    {"events/subscribe", ROLE_OBSERVER, events_subscribe, NULL,
	{P("since", U64)}},
};

const struct method *
method_at(size_t i)
{
	return i < sizeof(methods) / sizeof(methods[0]) ? &methods[i] : NULL;
}

const struct method *
method_find(struct json_value name)
{
	const struct method *m;

	for (size_t i = 0; (m = method_at(i)) != NULL; i++)
		if (json_string_is(name, m->name))
			return m;
	return NULL;
}
