# shellcheck shell=bash
# Completion of oz0(1) for bash: commands, options, and the names of jobs and
# tools that a running node knows.

_oz0_names() {
	oz0 --json "$@" 2>/dev/null |
		sed -n 's/.*"\(job\|function\|tool\)":"\([^"]*\)".*/\2/p' | sort -u
}

# Calls that wait for an approval.
_oz0_waiting() {
	oz0 --json status 2>/dev/null |
		sed -n 's/.*"approvals":\[\([^]]*\)\].*/\1/p' |
		grep -o '"call":"c[0-9]*"' | cut -d '"' -f 4
}

_oz0() {
	local cur prev command='' i
	cur=${COMP_WORDS[COMP_CWORD]}
	prev=${COMP_WORDS[COMP_CWORD - 1]}
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--socket) ((i++)) ;;
		-*) ;;
		*)
			command=${COMP_WORDS[i]}
			break
			;;
		esac
	done
	COMPREPLY=()
	case $prev in
	--socket)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--job)
		mapfile -t COMPREPLY < <(compgen -W "$(_oz0_names job list)" -- "$cur")
		return
		;;
	esac
	local words
	case $command in
	'') words="status functions call job session run ps restart drain \
reload cancel approve deny kill unkill policy trace logs config --socket --json --help --version" ;;
	status | ps | cancel | trace) words="$(_oz0_names job list)" ;;
	approve | deny) words="$(_oz0_waiting)" ;;
	functions | restart | logs | kill | unkill) words="$(_oz0_names functions | sed 's/\..*//')" ;;
	call) words="--job --session --activity --timeout --progress \
$(_oz0_names functions)" ;;
	job) words="start cancel end forget list --tenant --run --failed" ;;
	session) words="open close" ;;
	run) words="--job --session --tool --workspace --force --" ;;
	config) words="check" ;;
	policy) words="show check set $(compgen -f -- "$cur")" ;;
	*) words= ;;
	esac
	case $command in
	cancel) words="$words --no-wait" ;;
	kill) words="$words --server" ;;
	trace | logs) words="$words --follow" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _oz0 oz0
