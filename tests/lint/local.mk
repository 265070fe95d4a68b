# Lints, run by `make check` too; each is a script that looks at the tree.
lints = \
	tests/lint/layers.py \
	tests/lint/pages.py \
	tests/lint/protocol.py \
	tests/lint/quality.sh \
	tests/lint/shell.sh \
	tests/lint/spelling.sh \
	tests/lint/text.py
TESTS += $(lints)
EXTRA_DIST += $(lints)
