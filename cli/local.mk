bin_PROGRAMS += oz0
oz0_SOURCES = \
	cli/client.c cli/client.h \
	cli/cmd.h \
	cli/cmd_call.c cli/cmd_job.c cli/cmd_node.c cli/cmd_run.c \
	cli/cmd_status.c cli/cmd_trace.c \
	cli/main.c \
	cli/print.c cli/print.h \
	cli/pty.c cli/pty.h
oz0_CFLAGS = $(AM_CFLAGS)
oz0_LDADD = libbase.a
