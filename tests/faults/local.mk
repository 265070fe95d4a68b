# Faults of the disk, injected: preloaded into oz0d, linked into a stand-in
# for oz0-journal.  Used by tests/system/test_faults_disk.py.
check_PROGRAMS += tests/faults/shim.so tests/faults/faulty_journal

tests_faults_shim_so_SOURCES = tests/faults/shim.c
tests_faults_shim_so_CFLAGS = $(PLAIN_CFLAGS) -fPIC
tests_faults_shim_so_LDFLAGS = -shared

tests_faults_faulty_journal_SOURCES = $(oz0_journal_SOURCES) \
	tests/faults/shim.c
tests_faults_faulty_journal_CFLAGS = $(oz0_journal_CFLAGS)
tests_faults_faulty_journal_LDADD = $(oz0_journal_LDADD)
