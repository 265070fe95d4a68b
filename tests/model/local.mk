# The life of a call as a model, checked with spin (skipped without it).
TESTS += tests/model/run.sh
EXTRA_DIST += tests/model/run.sh tests/model/call.pml
