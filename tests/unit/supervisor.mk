# Unit tests of supervisor/: check_PROGRAMS and TESTS.
