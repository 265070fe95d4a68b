# Fuzzers of sandbox/; tests/local.mk says how one is written.
fuzz_programs += tests/fuzz/fuzz_plan
EXTRA_DIST += tests/fuzz/corpus/plan

tests_fuzz_fuzz_plan_SOURCES = tests/fuzz/fuzz_plan.c
tests_fuzz_fuzz_plan_LDADD = $(FUZZ_DRIVER) libsandbox.a libbase.a
tests_fuzz_fuzz_plan_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
