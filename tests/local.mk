# Tests.  `make check` runs unit tests, the corpora of the fuzzers and the
# lints; `make check-system` a whole node with real servers (tests/system).
# A test says by its exit code how it went: 0 passed, 77 skipped, 99 broken.
TEST_EXTENSIONS = .py .sh
PY_LOG_COMPILER = $(PYTHON3)
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = \
	OZ0_SRCDIR='$(abs_top_srcdir)'; export OZ0_SRCDIR; \
	OZ0_BUILDDIR='$(abs_top_builddir)'; export OZ0_BUILDDIR; \
	OZ0_LIBEXEC='$(abs_top_builddir)'; export OZ0_LIBEXEC; \
	PYTHONDONTWRITEBYTECODE=1; export PYTHONDONTWRITEBYTECODE; \
	unset OZ0_SOCKET;

# A room's unit tests stand in tests/unit/ROOM.mk:
#	check_PROGRAMS += tests/unit/test_room_what
#	TESTS += tests/unit/test_room_what
#	tests_unit_test_room_what_SOURCES = tests/unit/test_room_what.c
#	tests_unit_test_room_what_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
#	tests_unit_test_room_what_LDADD = libroom.a $(CHECK_LIBS)
if HAVE_CHECK
include tests/unit/base.mk
include tests/unit/wire.mk
include tests/unit/sandbox.mk
include tests/unit/worker.mk
include tests/unit/journal.mk
include tests/unit/supervisor.mk
include tests/unit/control.mk
include tests/unit/process.mk
include tests/unit/cli.mk
include tests/unit/examples.mk
endif

# A room's fuzzers stand in tests/fuzz/ROOM.mk.  fuzz_NAME.c has the function
# LLVMFuzzerTestOneInput; its corpus is tests/fuzz/corpus/NAME/.  Linked with
# $(FUZZ_DRIVER) it is a plain test that goes through its corpus; configured
# with --enable-fuzzing it is a libFuzzer program (and no test).
#	fuzz_programs += tests/fuzz/fuzz_name
#	tests_fuzz_fuzz_name_SOURCES = tests/fuzz/fuzz_name.c
#	tests_fuzz_fuzz_name_LDADD = $(FUZZ_DRIVER) libroom.a
#	tests_fuzz_fuzz_name_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
#	EXTRA_DIST += tests/fuzz/corpus/name
fuzz_programs =
include tests/fuzz/base.mk
include tests/fuzz/wire.mk
include tests/fuzz/sandbox.mk
include tests/fuzz/worker.mk
include tests/fuzz/journal.mk
include tests/fuzz/supervisor.mk
include tests/fuzz/control.mk
check_PROGRAMS += $(fuzz_programs)
if FUZZING
FUZZ_DRIVER =
else
FUZZ_DRIVER = libfuzzdriver.a
check_LIBRARIES += libfuzzdriver.a
libfuzzdriver_a_SOURCES = tests/fuzz/driver.c
TESTS += $(fuzz_programs)
endif

EXTRA_DIST += tests/setup.sh tests/tally.py tests/expected-skips \
	tests/fuzz/run.sh

include tests/sandbox/local.mk
include tests/lint/local.mk
include tests/faults/local.mk
include tests/system/local.mk
include tests/model/local.mk
include tests/chaos/local.mk

# What `make check` runs, a line each: check.sh asks.
list-tests:
	@printf '%s\n' $(TESTS)
.PHONY: list-tests
