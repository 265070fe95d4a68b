# Unit tests of examples/: oz0-demo, driven over its pipes.
TESTS += tests/unit/test_demo.py
EXTRA_DIST += tests/unit/test_demo.py
