# Unit tests of base/: check_PROGRAMS and TESTS.
base_tests = \
	tests/unit/test_base_canon \
	tests/unit/test_base_chain \
	tests/unit/test_base_depth \
	tests/unit/test_base_files \
	tests/unit/test_base_json \
	tests/unit/test_base_json_portable \
	tests/unit/test_base_mem \
	tests/unit/test_base_notes \
	tests/unit/test_base_value
check_PROGRAMS += $(base_tests)
TESTS += $(base_tests)

tests_unit_test_base_canon_SOURCES = tests/unit/test_base_canon.c
tests_unit_test_base_canon_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_base_canon_LDADD = libbase.a $(BSD_LIBS) $(CHECK_LIBS)

tests_unit_test_base_chain_SOURCES = tests/unit/test_base_chain.c
tests_unit_test_base_chain_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_base_chain_LDADD = libbase.a $(CHECK_LIBS)

tests_unit_test_base_depth_SOURCES = tests/unit/test_base_depth.c
tests_unit_test_base_depth_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_base_depth_LDADD = libbase.a $(CHECK_LIBS)

tests_unit_test_base_files_SOURCES = tests/unit/test_base_files.c
tests_unit_test_base_files_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_base_files_LDADD = libbase.a $(CHECK_LIBS)

tests_unit_test_base_json_SOURCES = tests/unit/test_base_json.c
tests_unit_test_base_json_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_base_json_LDADD = libbase.a $(CHECK_LIBS)

# The same tests of the same code as it is on machines without SSE2.
tests_unit_test_base_json_portable_SOURCES = tests/unit/test_base_json.c \
	base/json.c base/json_number.c base/json_scan.c base/json_text.c \
	base/json_value.c base/mem.c
tests_unit_test_base_json_portable_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) \
	-U__SSE2__
tests_unit_test_base_json_portable_LDADD = $(CHECK_LIBS)

tests_unit_test_base_notes_SOURCES = tests/unit/test_base_notes.c
tests_unit_test_base_notes_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_base_notes_LDADD = libbase.a $(CHECK_LIBS)

# Allocation fails on demand: mem.c finds the test's malloc.
tests_unit_test_base_mem_SOURCES = tests/unit/test_base_mem.c
tests_unit_test_base_mem_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_base_mem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc \
	-Wl,--wrap=calloc -Wl,--wrap=realloc
tests_unit_test_base_mem_LDADD = libbase.a $(CHECK_LIBS)

tests_unit_test_base_value_SOURCES = tests/unit/test_base_value.c
tests_unit_test_base_value_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_base_value_LDADD = libbase.a $(CHECK_LIBS)
