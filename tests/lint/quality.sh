#!/bin/sh
# cppcheck over the rooms: what the compilers' warnings do not see.
command -v cppcheck >/dev/null || { echo "cppcheck is not installed"; exit 77; }
cd "${OZ0_SRCDIR:-.}" || exit 99
exec cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 -j 2 \
	--enable=warning,portability -I . -D_GNU_SOURCE \
	--include=/usr/include/bsd/sys/queue.h \
	--include=/usr/include/bsd/sys/tree.h \
	--suppress=nullPointerRedundantCheck \
	--suppress=uninitvar:base/buf.h \
	base wire sandbox supervisor worker journal cli examples
