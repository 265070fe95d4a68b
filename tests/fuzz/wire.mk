# Fuzzers of wire/; tests/local.mk says how one is written.
