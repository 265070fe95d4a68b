#!/bin/sh
# A harness: the program that `oz0 run` starts inside a session.
#
#   oz0 job start j1
#   oz0 run --job j1 --session 1 --workspace "$PWD" -- ./harness.sh
#
# It counts the words of the texts in a folder (the session's, by default) and
# leaves report.txt there.  Its exit code is the one `oz0 run` ends with: 0, or
# 3 when there was nothing to count.
set -eu

folder=${1:-$PWD}
trap 'echo "harness: stopped" >&2; exit 143' TERM

total=0
found=0
: >"$folder/report.txt"
for text in "$folder"/*.txt; do
	case $text in
	*/report.txt) continue ;;
	esac
	[ -f "$text" ] || continue
	words=$(wc -w <"$text")
	printf '%s: %d words\n' "${text##*/}" "$words" >>"$folder/report.txt"
	total=$((total + words))
	found=$((found + 1))
done
printf 'all: %d words in %d texts\n' "$total" "$found" |
	tee -a "$folder/report.txt"
[ "$found" -gt 0 ] || exit 3
