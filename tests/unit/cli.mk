# Unit tests of cli/: oz0 with a node that is none.
cli_tests = \
	tests/unit/test_cli_call.py \
	tests/unit/test_cli_run.py \
	tests/unit/test_cli_show.py
TESTS += $(cli_tests)
EXTRA_DIST += $(cli_tests) tests/unit/cli_fake.py
