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
	tests/system/oz0test/node.py \
	tests/system/oz0test/procs.py \
	tests/system/oz0test/servers.py

check-system: all
	$(AM_TESTS_ENVIRONMENT) $(PYTHON3) $(srcdir)/tests/system/run.py \
		$(SYSTEM_TESTS)
.PHONY: check-system
