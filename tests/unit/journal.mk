# Unit tests of journal/: check_PROGRAMS and TESTS.
