# Fuzzers of worker/; tests/local.mk says how one is written.
