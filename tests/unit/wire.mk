# Unit tests of wire/: check_PROGRAMS and TESTS.
wire_tests = tests/unit/test_wire_chan tests/unit/test_wire_hostile \
	tests/unit/test_wire_record
check_PROGRAMS += $(wire_tests)
TESTS += $(wire_tests)

tests_unit_test_wire_chan_SOURCES = tests/unit/test_wire_chan.c
tests_unit_test_wire_chan_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_wire_chan_LDADD = libwire.a libbase.a $(XXHASH_LIBS) \
	$(CHECK_LIBS)

tests_unit_test_wire_hostile_SOURCES = tests/unit/test_wire_hostile.c
tests_unit_test_wire_hostile_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_wire_hostile_LDADD = libwire.a libbase.a $(XXHASH_LIBS) \
	$(CHECK_LIBS)

tests_unit_test_wire_record_SOURCES = tests/unit/test_wire_record.c
tests_unit_test_wire_record_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_wire_record_LDADD = libwire.a libbase.a $(XXHASH_LIBS) \
	$(CHECK_LIBS)
