# Fuzzers of sandbox/; tests/local.mk says how one is written.
