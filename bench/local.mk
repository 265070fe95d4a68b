# bench: what oz0 costs against a floor measured in the same run (README.md).
# make bench [BENCH_FLAGS="-q -o calls"]
noinst_PROGRAMS += bench/oz0-bench bench/oz0-bench-server
bench_oz0_bench_SOURCES = \
	bench/calls.c \
	bench/client.c bench/client.h \
	bench/floor.c bench/floor.h \
	bench/launcher.c bench/launcher.h \
	bench/layers.c bench/layers.h \
	bench/load.c bench/load.h \
	bench/main.c \
	bench/measure.h \
	bench/node.c bench/node.h \
	bench/proc.c bench/proc.h \
	bench/row.c bench/row.h \
	bench/sample.c bench/sample.h \
	bench/server.h \
	bench/sessions.c
bench_oz0_bench_LDADD = libbase.a -lm
bench_oz0_bench_server_SOURCES = bench/server.c bench/server.h
bench_oz0_bench_server_CFLAGS = $(STATIC_CFLAGS)
bench_oz0_bench_server_LDFLAGS = $(AM_LDFLAGS) -static
EXTRA_DIST += bench/README.md

# As root a second time, with a node of an ordinary user.
bench: all
	./bench/oz0-bench $(BENCH_FLAGS)
	if [ "$$(id -u)" = 0 ]; then \
		./bench/oz0-bench -u nobody $(BENCH_FLAGS); \
	fi
.PHONY: bench
