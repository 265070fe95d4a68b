# Unit tests of base/: check_PROGRAMS and TESTS.
