# Rules of LIFECYCLE against the trace of any run, and a run that breaks all.
# make chaos [CHAOS_SEED=N] [CHAOS_CALLS=N]
TESTS += tests/chaos/test_check_trace.py
EXTRA_DIST += tests/chaos/check_trace.py tests/chaos/test_check_trace.py \
	tests/chaos/chaos.py

CHAOS_CALLS = 20000
CHAOS_SEED =
CHAOS_SUPERVISOR = 40
chaos: all
	$(AM_TESTS_ENVIRONMENT) CHAOS_CALLS='$(CHAOS_CALLS)' \
		CHAOS_SEED='$(CHAOS_SEED)' \
		CHAOS_SUPERVISOR='$(CHAOS_SUPERVISOR)' \
		$(PYTHON3) $(srcdir)/tests/chaos/chaos.py
.PHONY: chaos
