# Unit tests of sandbox/: check_PROGRAMS and TESTS.
