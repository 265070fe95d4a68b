# Unit tests of the processes' side of supervisor/, each linking what it tests.
process_unit_tests = \
	tests/unit/test_process_kill \
	tests/unit/test_process_parts \
	tests/unit/test_process_plan \
	tests/unit/test_process_remove \
	tests/unit/test_process_time
check_PROGRAMS += $(process_unit_tests)
TESTS += $(process_unit_tests)

tests_unit_test_process_kill_SOURCES = tests/unit/test_process_kill.c \
	supervisor/child.c supervisor/deadline.c supervisor/leftover.c
tests_unit_test_process_kill_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) \
	$(BSD_CFLAGS) $(EVENT_CFLAGS)
tests_unit_test_process_kill_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=time_mono \
	-Wl,--wrap=syscall
tests_unit_test_process_kill_LDADD = libbase.a $(EVENT_LIBS) $(BSD_LIBS) \
	$(CHECK_LIBS) -lm

tests_unit_test_process_parts_SOURCES = tests/unit/test_process_parts.c \
	supervisor/fault.c supervisor/folder.c supervisor/function.c \
	supervisor/leftover.c supervisor/log_ring.c supervisor/uidpool.c \
	supervisor/worker_attempts.c
tests_unit_test_process_parts_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) \
	$(BSD_CFLAGS) $(EVENT_CFLAGS)
tests_unit_test_process_parts_LDADD = libbase.a $(EVENT_LIBS) $(BSD_LIBS) \
	$(CHECK_LIBS) -lm

tests_unit_test_process_plan_SOURCES = tests/unit/test_process_plan.c \
	supervisor/plan_make.c
tests_unit_test_process_plan_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_process_plan_LDADD = libsandbox.a libbase.a $(SECCOMP_LIBS) \
	$(BSD_LIBS) $(CHECK_LIBS) -lm

tests_unit_test_process_remove_SOURCES = tests/unit/test_process_remove.c \
	sandbox/remove.c
tests_unit_test_process_remove_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_process_remove_LDADD = libbase.a $(BSD_LIBS) $(CHECK_LIBS) -lm

tests_unit_test_process_time_SOURCES = tests/unit/test_process_time.c \
	supervisor/deadline.c supervisor/ladder.c
tests_unit_test_process_time_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(BSD_CFLAGS)
tests_unit_test_process_time_LDADD = libbase.a $(BSD_LIBS) $(CHECK_LIBS) -lm
