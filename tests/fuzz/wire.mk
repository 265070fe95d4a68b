# Fuzzers of wire/; tests/local.mk says how one is written.
fuzz_programs += tests/fuzz/fuzz_frame tests/fuzz/fuzz_record
EXTRA_DIST += tests/fuzz/corpus/frame tests/fuzz/corpus/record

tests_fuzz_fuzz_frame_SOURCES = tests/fuzz/fuzz_frame.c
tests_fuzz_fuzz_frame_LDADD = $(FUZZ_DRIVER) libwire.a libbase.a $(XXHASH_LIBS)
tests_fuzz_fuzz_frame_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

tests_fuzz_fuzz_record_SOURCES = tests/fuzz/fuzz_record.c
tests_fuzz_fuzz_record_LDADD = $(FUZZ_DRIVER) libwire.a libbase.a \
	$(XXHASH_LIBS)
tests_fuzz_fuzz_record_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
