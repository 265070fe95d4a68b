# Fuzzers of supervisor/; tests/local.mk says how one is written.
