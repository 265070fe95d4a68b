# Fuzzers of base/; tests/local.mk says how one is written.
