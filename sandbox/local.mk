# sandbox: the library (base alone below it) and the program oz0-sandbox
noinst_LIBRARIES += libsandbox.a
sandbox_sources = \
	sandbox/caps.c sandbox/caps.h \
	sandbox/fault.c sandbox/fault.h \
	sandbox/filter.h \
	sandbox/filter_explain.c \
	sandbox/filter_list.c sandbox/filter_list.h \
	sandbox/filter_memfd.c sandbox/filter_memfd.h \
	sandbox/filter_server.c \
	sandbox/landlock.c sandbox/landlock.h \
	sandbox/launch.c sandbox/launch.h \
	sandbox/mount.c sandbox/mount.h \
	sandbox/plan.c sandbox/plan.h \
	sandbox/plan_explain.c \
	sandbox/plan_json.c \
	sandbox/strv.c sandbox/strv.h \
	sandbox/title.c sandbox/title.h
libsandbox_a_SOURCES = $(sandbox_sources) \
	sandbox/confine.c sandbox/confine.h \
	sandbox/filter_strict.c \
	sandbox/probe.c sandbox/probe.h
libsandbox_a_CFLAGS = $(AM_CFLAGS) $(SECCOMP_CFLAGS)

# The program is static: its objects are its own, built without the sanitizers
# that need a loader.
static_cflags = -std=gnu11 -g -O2 $(WARN_CFLAGS) $(SAN_STATIC_CFLAGS)
noinst_LIBRARIES += libstatic.a
libstatic_a_SOURCES = $(libbase_a_SOURCES) $(libwire_a_SOURCES) \
	$(sandbox_sources)
libstatic_a_CFLAGS = $(static_cflags) $(SECCOMP_CFLAGS) $(BSD_CFLAGS)

pkglibexec_PROGRAMS += oz0-sandbox
oz0_sandbox_SOURCES = \
	sandbox/by_hand.c sandbox/by_hand.h \
	sandbox/helper.c \
	sandbox/init.c sandbox/init.h \
	sandbox/main.c \
	sandbox/remove.c sandbox/remove.h \
	sandbox/root.c sandbox/root.h \
	sandbox/root_system.c \
	sandbox/server.c sandbox/server.h \
	sandbox/stages.c sandbox/stages.h \
	sandbox/title.c sandbox/title.h
oz0_sandbox_CFLAGS = $(static_cflags)
oz0_sandbox_LDFLAGS = $(AM_LDFLAGS) -static
oz0_sandbox_LDADD = libstatic.a $(SECCOMP_LIBS)
dist_man_MANS += man/oz0-sandbox.8
