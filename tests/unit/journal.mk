# Unit tests of journal/: check_PROGRAMS and TESTS.
check_PROGRAMS += tests/unit/test_journal_parts tests/unit/test_journal_steps
journal_scripts = \
	tests/unit/test_journal_damage.py \
	tests/unit/test_journal_full_disk.py \
	tests/unit/test_journal_process.py
TESTS += tests/unit/test_journal_parts tests/unit/test_journal_steps \
	$(journal_scripts)
EXTRA_DIST += tests/unit/journal_driver.py $(journal_scripts)

tests_unit_test_journal_parts_SOURCES = tests/unit/test_journal_parts.c
tests_unit_test_journal_parts_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_journal_parts_LDADD = libjournal.a libwire.a libbase.a \
	$(SQLITE_LIBS) $(XXHASH_LIBS) $(CHECK_LIBS)

tests_unit_test_journal_steps_SOURCES = tests/unit/test_journal_steps.c
tests_unit_test_journal_steps_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_journal_steps_LDADD = libjournal.a libwire.a libbase.a \
	$(SQLITE_LIBS) $(XXHASH_LIBS) $(CHECK_LIBS)
