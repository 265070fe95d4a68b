noinst_LIBRARIES += libwire.a
libwire_a_SOURCES = \
	wire/chan.c wire/chan.h \
	wire/frame.c wire/frame.h \
	wire/log.c wire/log.h \
	wire/message.c wire/message.h \
	wire/record.c wire/record.h
libwire_a_CFLAGS = $(AM_CFLAGS) $(XXHASH_CFLAGS)
