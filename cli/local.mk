bin_PROGRAMS += oz0
oz0_SOURCES = \
	cli/args.c cli/args.h \
	cli/client.c cli/client.h \
	cli/cmd.h \
	cli/cmd_approve.c \
	cli/cmd_call.c \
	cli/cmd_cancel.c \
	cli/cmd_config.c \
	cli/cmd_functions.c \
	cli/cmd_job.c \
	cli/cmd_kill.c \
	cli/cmd_logs.c \
	cli/cmd_node.c \
	cli/cmd_policy.c \
	cli/cmd_ps.c \
	cli/cmd_run.c \
	cli/cmd_session.c \
	cli/cmd_status.c \
	cli/cmd_trace.c \
	cli/exit.h \
	cli/follow.c cli/follow.h \
	cli/main.c \
	cli/place.c cli/place.h \
	cli/print.c cli/print.h \
	cli/progress.c cli/progress.h \
	cli/pty.c cli/pty.h \
	cli/result.c cli/result.h \
	cli/simple.c cli/simple.h \
	cli/table.c cli/table.h
oz0_CFLAGS = $(AM_CFLAGS)
oz0_LDADD = libbase.a

dist_man_MANS += man/oz0.1
