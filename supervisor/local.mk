sbin_PROGRAMS += oz0d
# The core, linked by unit tests too
noinst_LIBRARIES += libcore.a
libcore_a_CFLAGS = $(AM_CFLAGS) $(BSD_CFLAGS)
libcore_a_SOURCES = \
	supervisor/attempt.c supervisor/attempt_late.c \
	supervisor/attempt_step.c \
	supervisor/call.c supervisor/call.h \
	supervisor/call_table.c supervisor/call_table.h \
	supervisor/call_answer.c supervisor/call_end.c \
	supervisor/call_internal.h \
	supervisor/commit.c supervisor/commit.h \
	supervisor/key.c supervisor/key.h \
	supervisor/retry.c \
	supervisor/policy.c supervisor/policy.h \
	supervisor/policy_gate.c supervisor/policy_gate.h \
	supervisor/dispatch.c supervisor/fault.c supervisor/fault.h \
	supervisor/job.c supervisor/job.h supervisor/record.c \
	supervisor/record.h supervisor/recover.c supervisor/session.c \
	supervisor/supervisor.h
# Configuration, control socket, notifications
supervisor_control_sources = \
	supervisor/conf.c supervisor/conf.h supervisor/conf_internal.h \
	supervisor/conf_node.c supervisor/conf_place.c \
	supervisor/conf_policy.c \
	supervisor/conf_print.c supervisor/conf_sandbox.c \
	supervisor/conf_secret.c supervisor/conf_tool.c \
	supervisor/conf_value.c supervisor/conf_who.c \
	supervisor/control.c supervisor/control.h \
	supervisor/control_aside.c supervisor/control_skip.c \
	supervisor/control_budget.c supervisor/control_call.c \
	supervisor/control_conn.c supervisor/control_internal.h \
	supervisor/control_job.c supervisor/control_leave.c \
	supervisor/control_listen.c \
	supervisor/control_method.c supervisor/control_node.c \
	supervisor/control_params.c supervisor/control_past.c \
	supervisor/control_policy.c supervisor/control_policy.h \
	supervisor/control_rpc.c supervisor/control_session.c \
	supervisor/control_tool.c supervisor/event.c supervisor/notify.c \
	supervisor/role.c supervisor/role.h supervisor/status.c
# Processes
supervisor_process_sources = \
	supervisor/box.c supervisor/box.h \
	supervisor/child.c supervisor/child.h \
	supervisor/deadline.c supervisor/deadline.h \
	supervisor/folder.c supervisor/folder.h \
	supervisor/function.c supervisor/harness.c \
	supervisor/hold.c supervisor/hold.h \
	supervisor/journal.c supervisor/journal.h \
	supervisor/journal_frame.c supervisor/journal_internal.h \
	supervisor/ladder.c supervisor/ladder.h \
	supervisor/leftover.c supervisor/leftover.h \
	supervisor/libexec.c supervisor/libexec.h \
	supervisor/link.c supervisor/link.h supervisor/listing.h \
	supervisor/lock.c supervisor/lock.h \
	supervisor/log_ring.c supervisor/log_ring.h \
	supervisor/loop.c supervisor/main.c \
	supervisor/plan_make.c supervisor/plan_make.h \
	supervisor/process.c supervisor/process.h supervisor/processes.h \
	supervisor/remover.c supervisor/server.c supervisor/server_ask.c \
	supervisor/server_process.h \
	supervisor/server_said.c supervisor/server_start.c \
	supervisor/server_step.c \
	supervisor/session_process.c supervisor/session_process.h \
	supervisor/signals.c supervisor/signals.h \
	supervisor/startup.c supervisor/startup.h supervisor/stop.c \
	supervisor/tool.c supervisor/tool.h \
	supervisor/uidpool.c supervisor/uidpool.h \
	supervisor/worker.c supervisor/worker.h \
	supervisor/worker_attempts.c supervisor/worker_attempts.h \
	supervisor/worker_frame.c \
	supervisor/worker_pings.h supervisor/worker_send.c
oz0d_SOURCES = $(supervisor_control_sources) \
	$(supervisor_process_sources)
oz0d_CFLAGS = $(AM_CFLAGS) $(BSD_CFLAGS) $(EVENT_CFLAGS) $(JANSSON_CFLAGS)
oz0d_LDADD = libcore.a libsandbox.a libwire.a libbase.a $(EVENT_LIBS) $(JANSSON_LIBS) \
	$(SECCOMP_LIBS) $(BSD_LIBS) $(XXHASH_LIBS) -lm
