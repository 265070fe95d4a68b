#!/bin/sh
# run.sh PROGRAM CORPUS FOUND SECONDS: one libFuzzer program for some seconds
# from its corpus; what it finds new goes to FOUND, a crash ends it non-zero.
set -eu
mkdir -p "$3"
exec "$1" -max_total_time="$4" -timeout=10 -rss_limit_mb=2048 \
	-print_final_stats=1 -artifact_prefix="$3/crash-" "$3" "$2"
