# Fuzzers of journal/; tests/local.mk says how one is written.
