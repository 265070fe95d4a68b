# Unit tests of sandbox/.
sandbox_unit_tests = \
	tests/unit/test_sandbox_confine \
	tests/unit/test_sandbox_control \
	tests/unit/test_sandbox_filter \
	tests/unit/test_sandbox_launch \
	tests/unit/test_sandbox_plan
check_PROGRAMS += $(sandbox_unit_tests)
TESTS += $(sandbox_unit_tests)

tests_unit_test_sandbox_confine_SOURCES = tests/unit/test_sandbox_confine.c
tests_unit_test_sandbox_confine_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) \
	$(EVENT_CFLAGS)
tests_unit_test_sandbox_confine_LDADD = libsandbox.a libbase.a \
	$(SECCOMP_LIBS) $(EVENT_LIBS) $(BSD_LIBS) $(CHECK_LIBS)

# Against the real oz0-sandbox.
tests_unit_test_sandbox_control_SOURCES = tests/unit/test_sandbox_control.c
tests_unit_test_sandbox_control_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_sandbox_control_LDADD = libsandbox.a libwire.a libbase.a \
	$(SECCOMP_LIBS) $(BSD_LIBS) $(XXHASH_LIBS) $(CHECK_LIBS)

tests_unit_test_sandbox_filter_SOURCES = tests/unit/test_sandbox_filter.c
tests_unit_test_sandbox_filter_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_sandbox_filter_LDADD = libsandbox.a libbase.a \
	$(SECCOMP_LIBS) $(BSD_LIBS) $(CHECK_LIBS)

tests_unit_test_sandbox_launch_SOURCES = tests/unit/test_sandbox_launch.c
tests_unit_test_sandbox_launch_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_sandbox_launch_LDADD = libsandbox.a libbase.a \
	$(SECCOMP_LIBS) $(BSD_LIBS) $(CHECK_LIBS)

tests_unit_test_sandbox_plan_SOURCES = tests/unit/test_sandbox_plan.c
tests_unit_test_sandbox_plan_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_sandbox_plan_LDADD = libsandbox.a libbase.a \
	$(SECCOMP_LIBS) $(BSD_LIBS) $(CHECK_LIBS)
