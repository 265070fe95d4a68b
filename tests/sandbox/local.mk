# Attempts to get out of a sandbox, each of which must fail.
check_PROGRAMS += tests/sandbox/escape
tests_sandbox_escape_SOURCES = tests/sandbox/escape.c \
	tests/sandbox/escape_attempts.c tests/sandbox/escape.h
tests_sandbox_escape_LDADD = -lutil
TESTS += tests/sandbox/escapes.py
EXTRA_DIST += tests/sandbox/escapes.py
