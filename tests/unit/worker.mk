# Unit tests of worker/: check_PROGRAMS and TESTS.
worker_tests = \
	tests/unit/test_worker_answer \
	tests/unit/test_worker_client \
	tests/unit/test_worker_message \
	tests/unit/test_worker_stdio
check_PROGRAMS += $(worker_tests)
TESTS += $(worker_tests)

worker_test_libs = libworker.a libwire.a libbase.a $(CHECK_LIBS) \
	$(EVENT_LIBS) $(BSD_LIBS) $(XXHASH_LIBS)
tests_unit_test_worker_answer_SOURCES = tests/unit/test_worker_answer.c
tests_unit_test_worker_answer_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_worker_answer_LDADD = $(worker_test_libs)
tests_unit_test_worker_client_SOURCES = tests/unit/test_worker_client.c
tests_unit_test_worker_client_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_worker_client_LDADD = $(worker_test_libs)
tests_unit_test_worker_message_SOURCES = tests/unit/test_worker_message.c
tests_unit_test_worker_message_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_worker_message_LDADD = $(worker_test_libs)
tests_unit_test_worker_stdio_SOURCES = tests/unit/test_worker_stdio.c
tests_unit_test_worker_stdio_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) \
	$(BSD_CFLAGS)
tests_unit_test_worker_stdio_LDADD = $(worker_test_libs)

# oz0-worker itself, confined, with servers that misbehave.
TESTS += tests/unit/test_worker.py
EXTRA_DIST += tests/unit/test_worker.py tests/unit/worker_driver.py \
	tests/unit/worker_fake.py
