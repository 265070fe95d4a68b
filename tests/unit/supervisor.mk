# Unit tests of supervisor/: check_PROGRAMS and TESTS.
# The core, alone: fake_node.h says what is around it.
check_PROGRAMS += tests/unit/test_core_life
TESTS += tests/unit/test_core_life
tests_unit_test_core_life_SOURCES = tests/unit/test_core_life.c \
	tests/unit/fake_node.c tests/unit/fake_node.h
tests_unit_test_core_life_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(BSD_CFLAGS)
tests_unit_test_core_life_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=time_mono
tests_unit_test_core_life_LDADD = libcore.a libwire.a libbase.a \
	$(BSD_LIBS) $(XXHASH_LIBS) $(CHECK_LIBS) -lm
check_PROGRAMS += tests/unit/test_core_stop
TESTS += tests/unit/test_core_stop
tests_unit_test_core_stop_SOURCES = tests/unit/test_core_stop.c \
	tests/unit/fake_node.c tests/unit/fake_node.h
tests_unit_test_core_stop_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(BSD_CFLAGS)
tests_unit_test_core_stop_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=time_mono
tests_unit_test_core_stop_LDADD = libcore.a libwire.a libbase.a \
	$(BSD_LIBS) $(XXHASH_LIBS) $(CHECK_LIBS) -lm
check_PROGRAMS += tests/unit/test_core_retry
TESTS += tests/unit/test_core_retry
tests_unit_test_core_retry_SOURCES = tests/unit/test_core_retry.c \
	tests/unit/fake_node.c tests/unit/fake_node.h
tests_unit_test_core_retry_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(BSD_CFLAGS)
tests_unit_test_core_retry_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=time_mono
tests_unit_test_core_retry_LDADD = libcore.a libwire.a libbase.a \
	$(BSD_LIBS) $(XXHASH_LIBS) $(CHECK_LIBS) -lm
check_PROGRAMS += tests/unit/test_core_random
TESTS += tests/unit/test_core_random
tests_unit_test_core_random_SOURCES = tests/unit/test_core_random.c \
	tests/unit/fake_node.c tests/unit/fake_node.h
tests_unit_test_core_random_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(BSD_CFLAGS)
tests_unit_test_core_random_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=time_mono
tests_unit_test_core_random_LDADD = libcore.a libwire.a libbase.a \
	$(BSD_LIBS) $(XXHASH_LIBS) $(CHECK_LIBS) -lm
check_PROGRAMS += tests/unit/test_core_policy
TESTS += tests/unit/test_core_policy
tests_unit_test_core_policy_SOURCES = tests/unit/test_core_policy.c \
	tests/unit/fake_node.c tests/unit/fake_node.h
tests_unit_test_core_policy_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(BSD_CFLAGS)
tests_unit_test_core_policy_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=time_mono
tests_unit_test_core_policy_LDADD = libcore.a libwire.a libbase.a \
	$(BSD_LIBS) $(XXHASH_LIBS) $(CHECK_LIBS) -lm
check_PROGRAMS += tests/unit/test_key
TESTS += tests/unit/test_key
tests_unit_test_key_SOURCES = tests/unit/test_key.c
tests_unit_test_key_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(BSD_CFLAGS)
tests_unit_test_key_LDADD = libcore.a libbase.a $(BSD_LIBS) $(CHECK_LIBS)
