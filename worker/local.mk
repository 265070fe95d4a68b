noinst_LIBRARIES += libworker.a
libworker_a_SOURCES = \
	worker/cancels.c worker/cancels.h \
	worker/mcp/answer.c worker/mcp/answer.h \
	worker/mcp/call.c \
	worker/mcp/client.c worker/mcp/client.h worker/mcp/client_state.h \
	worker/mcp/compose.c worker/mcp/compose.h \
	worker/mcp/handshake.c \
	worker/mcp/listing.c \
	worker/mcp/message.c worker/mcp/message.h \
	worker/mcp/notify.c \
	worker/mcp/skim.c worker/mcp/skim.h \
	worker/mcp/version.c worker/mcp/version.h \
	worker/noise.c worker/noise.h \
	worker/report.c worker/report.h \
	worker/server.c worker/server.h \
	worker/server_ops.c worker/server_state.h \
	worker/stdio/lines.c worker/stdio/lines.h \
	worker/stdio/proof.c worker/stdio/proof.h \
	worker/stdio/tap.c worker/stdio/tap.h \
	worker/stdio/writer.c worker/stdio/writer.h \
	worker/worker.c worker/worker.h
libworker_a_CFLAGS = $(AM_CFLAGS) $(EVENT_CFLAGS) $(BSD_CFLAGS)

pkglibexec_PROGRAMS += oz0-worker
oz0_worker_SOURCES = worker/main.c
oz0_worker_CFLAGS = $(AM_CFLAGS) $(EVENT_CFLAGS) $(BSD_CFLAGS)
oz0_worker_LDFLAGS = $(AM_LDFLAGS) $(WORKER_LDFLAGS)
oz0_worker_LDADD = libworker.a libsandbox.a libwire.a libbase.a \
	$(EVENT_LIBS) $(SECCOMP_LIBS) $(BSD_LIBS) $(XXHASH_LIBS)

dist_man_MANS += man/oz0-worker.8
