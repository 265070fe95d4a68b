# Unit tests of wire/: check_PROGRAMS and TESTS.
