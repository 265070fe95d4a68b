# journal: its parts as a library for the tests, and the program
noinst_LIBRARIES += libjournal.a
libjournal_a_SOURCES = \
	journal/aside.c journal/aside.h \
	journal/batch.c journal/batch.h \
	journal/call_row.h \
	journal/db.c journal/db.h \
	journal/follow.c journal/follow.h \
	journal/logdir.c journal/logdir.h \
	journal/query.c journal/query.h \
	journal/recover.c journal/recover.h \
	journal/retain.c journal/retain.h \
	journal/rows.c journal/rows.h \
	journal/sql.c journal/sql.h \
	journal/steps.c journal/steps.h \
	journal/store.c journal/store.h \
	journal/supply.c journal/supply.h
libjournal_a_CFLAGS = $(AM_CFLAGS) $(BSD_CFLAGS) $(SQLITE_CFLAGS)

pkglibexec_PROGRAMS += oz0-journal
oz0_journal_SOURCES = \
	journal/intake.c journal/journal.h \
	journal/main.c \
	journal/serve.c \
	journal/turn.c
oz0_journal_CFLAGS = $(AM_CFLAGS) $(BSD_CFLAGS)
oz0_journal_LDADD = libjournal.a libwire.a libsandbox.a libbase.a \
	$(SQLITE_LIBS) $(XXHASH_LIBS) $(SECCOMP_LIBS) $(BSD_LIBS)
dist_man_MANS += man/oz0-journal.8
