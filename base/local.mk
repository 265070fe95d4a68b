noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
	base/blob.c base/blob.h \
	base/buf.c base/buf.h \
	base/canon.c base/canon.h \
	base/chain.c base/chain.h \
	base/cleanup.h \
	base/fatal.c base/fatal.h \
	base/fd.c base/fd.h \
	base/json.c base/json.h \
	base/json_number.c base/json_number.h \
	base/json_scan.c \
	base/json_text.c base/json_text.h \
	base/json_value.c \
	base/jsonw.c base/jsonw.h \
	base/log.c base/log.h \
	base/mem.c base/mem.h \
	base/str.c base/str.h \
	base/time.c base/time.h
libbase_a_CFLAGS = $(AM_CFLAGS) $(BSD_CFLAGS)
