# sandbox: the library (base alone below it) and the program oz0-sandbox
noinst_LIBRARIES += libsandbox.a
sandbox_sources = \
	sandbox/caps.c sandbox/caps.h \
	sandbox/fault.c sandbox/fault.h \
	sandbox/filter.h \
	sandbox/filter_explain.c \
	sandbox/filter_list.c sandbox/filter_list.h \
	sandbox/filter_server.c \
	sandbox/landlock.c sandbox/landlock.h \
	sandbox/launch.c sandbox/launch.h \
	sandbox/mount.c sandbox/mount.h \
	sandbox/plan.c sandbox/plan.h \
	sandbox/plan_explain.c \
	sandbox/plan_json.c \
	sandbox/strv.c sandbox/strv.h
libsandbox_a_SOURCES = $(sandbox_sources) \
	sandbox/filter_strict.c
libsandbox_a_CFLAGS = $(AM_CFLAGS) $(SECCOMP_CFLAGS)

# Static: its objects are its own, without the sanitizers that need a loader.
pkglibexec_PROGRAMS += oz0-sandbox
oz0_sandbox_SOURCES = \
	sandbox/by_hand.c sandbox/by_hand.h \
	sandbox/helper.c \
	sandbox/init.c sandbox/init.h \
	sandbox/main.c \
	sandbox/root.c sandbox/root.h \
	sandbox/root_system.c \
	sandbox/server.c sandbox/server.h \
	sandbox/stages.c sandbox/stages.h \
	sandbox/title.c sandbox/title.h \
	$(sandbox_sources) \
	base/buf.c base/fatal.c base/fd.c base/json.c base/json_number.c \
	base/json_scan.c base/json_value.c base/jsonw.c base/log.c \
	base/mem.c base/str.c base/time.c \
	wire/chan.c wire/frame.c wire/message.c
oz0_sandbox_CFLAGS = -std=gnu11 -g -O2 $(WARN_CFLAGS) $(SAN_STATIC_CFLAGS) \
	$(SECCOMP_CFLAGS)
oz0_sandbox_LDFLAGS = $(AM_LDFLAGS) -static
oz0_sandbox_LDADD = $(SECCOMP_LIBS)
