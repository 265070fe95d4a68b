# Unit tests of the supervisor's control socket and configuration: the real
# core and the real socket, with fakes for what has processes.
control_test_sources = $(supervisor_control_sources) supervisor/log_ring.c \
	tests/unit/control_fake.c tests/unit/control_fake_client.c \
	tests/unit/control_fake_journal.c tests/unit/control_fake.h
control_test_cflags = $(AM_CFLAGS) $(BSD_CFLAGS) $(EVENT_CFLAGS) \
	$(JANSSON_CFLAGS) $(CHECK_CFLAGS)
control_test_libs = libcore.a libwire.a libbase.a $(EVENT_LIBS) \
	$(JANSSON_LIBS) $(BSD_LIBS) $(XXHASH_LIBS) -lm
check_PROGRAMS += tests/unit/test_control_rpc
TESTS += tests/unit/test_control_rpc
tests_unit_test_control_rpc_SOURCES = tests/unit/test_control_rpc.c \
	$(control_test_sources)
tests_unit_test_control_rpc_CFLAGS = $(control_test_cflags)
tests_unit_test_control_rpc_LDADD = $(control_test_libs) $(CHECK_LIBS)
check_PROGRAMS += tests/unit/test_control_calls
TESTS += tests/unit/test_control_calls
tests_unit_test_control_calls_SOURCES = tests/unit/test_control_calls.c \
	$(control_test_sources)
tests_unit_test_control_calls_CFLAGS = $(control_test_cflags)
tests_unit_test_control_calls_LDADD = $(control_test_libs) $(CHECK_LIBS)
check_PROGRAMS += tests/unit/test_control_socket
TESTS += tests/unit/test_control_socket
tests_unit_test_control_socket_SOURCES = tests/unit/test_control_socket.c \
	$(control_test_sources)
tests_unit_test_control_socket_CFLAGS = $(control_test_cflags)
tests_unit_test_control_socket_LDADD = $(control_test_libs) $(CHECK_LIBS)
check_PROGRAMS += tests/unit/test_control_load
TESTS += tests/unit/test_control_load
tests_unit_test_control_load_SOURCES = tests/unit/test_control_load.c \
	$(control_test_sources)
tests_unit_test_control_load_CFLAGS = $(control_test_cflags)
tests_unit_test_control_load_LDADD = $(control_test_libs) $(CHECK_LIBS)
check_PROGRAMS += tests/unit/test_control_commit
TESTS += tests/unit/test_control_commit
tests_unit_test_control_commit_SOURCES = tests/unit/test_control_commit.c \
	$(control_test_sources)
tests_unit_test_control_commit_CFLAGS = $(control_test_cflags)
tests_unit_test_control_commit_LDADD = $(control_test_libs) $(CHECK_LIBS)
check_PROGRAMS += tests/unit/test_control_aside
TESTS += tests/unit/test_control_aside
tests_unit_test_control_aside_SOURCES = tests/unit/test_control_aside.c \
	$(control_test_sources)
tests_unit_test_control_aside_CFLAGS = $(control_test_cflags)
tests_unit_test_control_aside_LDADD = $(control_test_libs) $(CHECK_LIBS)
conf_test_sources = \
	supervisor/conf.c supervisor/conf_node.c supervisor/conf_place.c \
	supervisor/conf_policy.c supervisor/policy.c \
	supervisor/conf_print.c supervisor/conf_sandbox.c \
	supervisor/conf_secret.c supervisor/conf_tool.c \
	supervisor/conf_value.c supervisor/conf_who.c supervisor/role.c \
	tests/unit/conf_text.c tests/unit/conf_text.h
conf_test_cflags = $(AM_CFLAGS) $(BSD_CFLAGS) $(JANSSON_CFLAGS) \
	$(CHECK_CFLAGS)
conf_test_libs = libbase.a $(JANSSON_LIBS) $(BSD_LIBS) -lm
check_PROGRAMS += tests/unit/test_conf
TESTS += tests/unit/test_conf
tests_unit_test_conf_SOURCES = tests/unit/test_conf.c \
	$(conf_test_sources)
tests_unit_test_conf_CFLAGS = $(conf_test_cflags)
tests_unit_test_conf_LDADD = $(conf_test_libs) $(CHECK_LIBS)
check_PROGRAMS += tests/unit/test_conf_values
TESTS += tests/unit/test_conf_values
tests_unit_test_conf_values_SOURCES = tests/unit/test_conf_values.c \
	$(conf_test_sources)
tests_unit_test_conf_values_CFLAGS = $(conf_test_cflags)
tests_unit_test_conf_values_LDADD = $(conf_test_libs) $(CHECK_LIBS)
