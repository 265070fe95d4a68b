#!/bin/sh
# Checks the model of a call's life (call.pml) with spin, and that each of its
# mutations is caught.  Without spin: 77, skipped.
#
#	run.sh			what CI runs, a minute or two
#	MODEL_LONG=1 run.sh	one fault more in each check
#	run.sh -v		also what of the model was never reached
set -u
here=$(cd "$(dirname "$0")" && pwd)
model=$here/call.pml
CC=${CC:-cc}
extra=${MODEL_LONG:+1}
extra=${extra:-0}
verbose=${1:-}

command -v spin >/dev/null 2>&1 || {
	echo "spin is not installed"
	exit 77
}
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 99' INT TERM
cd "$work" || exit 99
spin -a "$model" >spin.out 2>&1 || {
	cat spin.out
	exit 99
}
# shellcheck disable=SC2086 # CC may have options
$CC -O1 -w -DCOLLAPSE -DMEMLIM=4096 -DSAFETY -DNOCLAIM -o safety pan.c &
# shellcheck disable=SC2086
$CC -O1 -w -DCOLLAPSE -DMEMLIM=4096 -DNFAIR=3 -o live pan.c &
wait
[ -x safety ] && [ -x live ] || exit 99

# search CLAIM FAULTS MUTATION: what pan says, in a folder of its own.  CLAIM
# is "safety", or the name of a formula, checked under weak fairness.
search() {
	mkdir -p "$work/$1-$2-$3" && cd "$work/$1-$2-$3" || exit 99
	if [ "$1" = safety ]; then
		FAULTS=$2 MUTATION=$3 ../safety -m200000 >out 2>&1
	else
		FAULTS=$2 MUTATION=$3 ../live -m200000 -a -f -N "$1" >out 2>&1
	fi
}

# holds CLAIM FAULTS: no error, and the search was complete.
holds() {
	search "$1" "$2" 0
	if grep -q 'errors: 0$' out &&
		! grep -qi 'search not completed\|search depth too small' out
	then
		echo "ok - $1, $2 faults: $(sed -n \
			's/^ *\([0-9.e+]*\) states, stored.*/\1/p' out) states"
	else
		echo "not ok - $1, $2 faults"
		sed '/^unreached/,$d' out
		program=../live
		[ "$1" != safety ] || program=../safety
		FAULTS=$2 MUTATION=0 $program -r ./*.trail |
			grep -v '\[else\]' | tail -n 150
		echo failed >>"$work/failed"
	fi
	[ "$verbose" != -v ] || sed -n '/^unreached/,$p' out
}

# bites MUTATION CLAIM FAULTS: it is found out.
bites() {
	search "$2" "$3" "$1"
	if grep -q 'errors: 1$' out; then
		echo "ok - mutation $1: $(grep -m 1 '^pan:1' out)"
	else
		echo "not ok - mutation $1 was not noticed"
		sed '/^unreached/,$d' out
		echo failed >>"$work/failed"
	fi
}

# Two lanes: what must hold, and what must not.
(
	holds safety $((2 + extra))
	holds ends $((1 + extra))
	holds jobs $((1 + extra))
) &
(
	for mutation in 1 2 3 4 5 6 8 9 10 11; do
		bites $mutation safety 1
	done
	bites 13 safety 2
	bites 7 ends 0
	bites 12 ends 1
) &
wait
[ ! -e "$work/failed" ]
