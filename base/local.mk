noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
	base/buf.c base/buf.h \
	base/canon.c base/canon.h \
	base/cleanup.h \
	base/fatal.c base/fatal.h \
	base/fd.c base/fd.h \
	base/json.c base/json.h \
	base/jsonw.c base/jsonw.h \
	base/log.c base/log.h \
	base/mem.c base/mem.h \
	base/str.c base/str.h \
	base/time.c base/time.h
libbase_a_CFLAGS = $(AM_CFLAGS) $(BSD_CFLAGS)
