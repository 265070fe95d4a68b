# Fuzzers of the supervisor's configuration and control socket.
fuzz_programs += tests/fuzz/fuzz_conf
tests_fuzz_fuzz_conf_SOURCES = tests/fuzz/fuzz_conf.c \
	supervisor/conf.c supervisor/conf_node.c supervisor/conf_place.c \
	supervisor/conf_policy.c supervisor/policy.c \
	supervisor/conf_print.c supervisor/conf_sandbox.c \
	supervisor/conf_secret.c supervisor/conf_tool.c \
	supervisor/conf_value.c supervisor/conf_who.c
tests_fuzz_fuzz_conf_CFLAGS = $(AM_CFLAGS) $(BSD_CFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_fuzz_conf_LDADD = $(FUZZ_DRIVER) libbase.a $(JANSSON_LIBS) \
	$(BSD_LIBS) -lm
tests_fuzz_fuzz_conf_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += tests/fuzz/corpus/conf
fuzz_programs += tests/fuzz/fuzz_control_line
tests_fuzz_fuzz_control_line_SOURCES = tests/fuzz/fuzz_control_line.c \
	tests/fuzz/control_stub.c tests/fuzz/control_stub.h \
	supervisor/control_params.c supervisor/control_rpc.c \
	supervisor/fault.c
tests_fuzz_fuzz_control_line_CFLAGS = $(AM_CFLAGS) $(BSD_CFLAGS)
tests_fuzz_fuzz_control_line_LDADD = $(FUZZ_DRIVER) libwire.a libbase.a \
	$(BSD_LIBS) $(XXHASH_LIBS) -lm
tests_fuzz_fuzz_control_line_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += tests/fuzz/corpus/control_line
