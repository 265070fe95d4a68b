# Fuzzers of worker/; tests/local.mk says how one is written.
fuzz_programs += tests/fuzz/fuzz_mcp_line tests/fuzz/fuzz_worker_frames
fuzz_worker_libs = libworker.a libwire.a libbase.a $(EVENT_LIBS) \
	$(BSD_LIBS) $(XXHASH_LIBS)
tests_fuzz_fuzz_mcp_line_SOURCES = tests/fuzz/fuzz_mcp_line.c
tests_fuzz_fuzz_mcp_line_CFLAGS = $(AM_CFLAGS) $(BSD_CFLAGS)
tests_fuzz_fuzz_mcp_line_LDADD = $(FUZZ_DRIVER) $(fuzz_worker_libs)
tests_fuzz_fuzz_mcp_line_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_worker_frames_SOURCES = tests/fuzz/fuzz_worker_frames.c
tests_fuzz_fuzz_worker_frames_CFLAGS = $(AM_CFLAGS)
tests_fuzz_fuzz_worker_frames_LDADD = $(FUZZ_DRIVER) $(fuzz_worker_libs)
tests_fuzz_fuzz_worker_frames_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += tests/fuzz/corpus/mcp_line tests/fuzz/corpus/worker_frames
