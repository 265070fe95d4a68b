# Unit tests of examples/: check_PROGRAMS and TESTS.
