# A whole node with real servers: make check-system [SYSTEM_TESTS="cancel L9"].
# OZ0_TEST_SERVERS is what tests/servers/fetch.sh brought; without it the
# tests that need a real server are skipped.
EXTRA_DIST += \
	tests/servers/fetch.sh \
	tests/servers/package.json tests/servers/package-lock.json \
	tests/servers/requirements.txt \
	tests/servers/py_server.py tests/servers/ts_server.mjs \
	tests/servers/rawjson.py tests/servers/rogue.py \
	tests/system/run.py \
	tests/system/oz0test/__init__.py \
	tests/system/oz0test/case.py \
	tests/system/oz0test/control.py \
	tests/system/oz0test/ledger.py \
	tests/system/oz0test/faults.py \
	tests/system/oz0test/node.py \
	tests/system/oz0test/procs.py \
	tests/system/oz0test/servers.py \
	tests/system/oz0test/steps.py \
	tests/system/test_attack.py \
	tests/system/test_approval.py \
	tests/system/test_busy.py \
	tests/system/test_call.py \
	tests/system/test_cancel.py \
	tests/system/test_cli.py \
	tests/system/test_control.py \
	tests/system/test_daemon.py \
	tests/system/test_example.py \
	tests/system/test_faults.py \
	tests/system/test_faults_disk.py \
	tests/system/test_faults_fork.py \
	tests/system/test_hostile.py \
	tests/system/test_keys.py \
	tests/system/test_kill.py \
	tests/system/test_limits.py \
	tests/system/test_load.py \
	tests/system/test_many.py \
	tests/system/test_options.py \
	tests/system/test_outcome.py \
	tests/system/test_policy.py \
	tests/system/test_power.py \
	tests/system/test_progress.py \
	tests/system/test_real.py \
	tests/system/test_recovery.py \
	tests/system/test_retry.py \
	tests/system/test_server.py \
	tests/system/test_session.py \
	tests/system/test_undying.py

check_PROGRAMS += tests/system/hostile_worker
tests_system_hostile_worker_SOURCES = tests/system/hostile_worker.c
tests_system_hostile_worker_LDADD = libwire.a libbase.a $(XXHASH_LIBS)

check-system: all tests/system/hostile_worker tests/faults/shim.so \
		tests/faults/faulty_journal
	$(AM_TESTS_ENVIRONMENT) $(PYTHON3) $(srcdir)/tests/system/run.py \
		$(SYSTEM_TESTS)
.PHONY: check-system
