sbin_PROGRAMS += oz0d
# The core, linked by unit tests too
noinst_LIBRARIES += libcore.a
libcore_a_CFLAGS = $(AM_CFLAGS) $(BSD_CFLAGS)
libcore_a_SOURCES = \
	supervisor/attempt.c supervisor/call.c supervisor/call.h \
	supervisor/call_table.c supervisor/call_table.h \
	supervisor/call_answer.c supervisor/call_end.c \
	supervisor/call_internal.h supervisor/retry.c \
	supervisor/dispatch.c supervisor/fault.c supervisor/fault.h \
	supervisor/job.c supervisor/job.h supervisor/record.c \
	supervisor/record.h supervisor/recover.c supervisor/session.c \
	supervisor/supervisor.h
# Configuration, control socket, notifications
supervisor_control_sources = \
	supervisor/conf.c supervisor/conf.h supervisor/conf_internal.h \
	supervisor/conf_node.c supervisor/conf_place.c \
	supervisor/conf_print.c supervisor/conf_sandbox.c \
	supervisor/conf_secret.c supervisor/conf_tool.c \
	supervisor/conf_value.c supervisor/conf_who.c \
	supervisor/control.c supervisor/control.h \
	supervisor/control_budget.c supervisor/control_call.c \
	supervisor/control_conn.c supervisor/control_internal.h \
	supervisor/control_job.c supervisor/control_listen.c \
	supervisor/control_method.c supervisor/control_node.c \
	supervisor/control_params.c supervisor/control_past.c \
	supervisor/control_rpc.c supervisor/control_session.c \
	supervisor/control_tool.c supervisor/event.c supervisor/notify.c \
	supervisor/role.c supervisor/role.h supervisor/status.c
# Processes
supervisor_process_sources =
oz0d_SOURCES = $(supervisor_control_sources) \
	$(supervisor_process_sources)
oz0d_CFLAGS = $(AM_CFLAGS) $(BSD_CFLAGS) $(EVENT_CFLAGS) $(JANSSON_CFLAGS)
oz0d_LDADD = libcore.a libsandbox.a libwire.a libbase.a $(EVENT_LIBS) $(JANSSON_LIBS) \
	$(SECCOMP_LIBS) $(CAP_LIBS) $(BSD_LIBS) $(ZLIB_LIBS) -lm
