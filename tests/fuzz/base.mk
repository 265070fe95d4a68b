# Fuzzers of base/; tests/local.mk says how one is written.
fuzz_programs += \
	tests/fuzz/fuzz_canon \
	tests/fuzz/fuzz_json \
	tests/fuzz/fuzz_json_pick
EXTRA_DIST += tests/fuzz/corpus/canon tests/fuzz/corpus/json \
	tests/fuzz/corpus/json_pick

tests_fuzz_fuzz_canon_SOURCES = tests/fuzz/fuzz_canon.c
tests_fuzz_fuzz_canon_LDADD = $(FUZZ_DRIVER) libbase.a $(BSD_LIBS)
tests_fuzz_fuzz_canon_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

tests_fuzz_fuzz_json_SOURCES = tests/fuzz/fuzz_json.c
tests_fuzz_fuzz_json_LDADD = $(FUZZ_DRIVER) libbase.a
tests_fuzz_fuzz_json_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

tests_fuzz_fuzz_json_pick_SOURCES = tests/fuzz/fuzz_json_pick.c
tests_fuzz_fuzz_json_pick_LDADD = $(FUZZ_DRIVER) libbase.a
tests_fuzz_fuzz_json_pick_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
