# Unit tests of cli/: check_PROGRAMS and TESTS.
