# shellcheck shell=bash
# Completion of oz0(1) for bash: commands, options, and the names of jobs and
# tools that a running node knows.

_oz0_names() {
	oz0 --json "$@" 2>/dev/null |
		sed -n 's/.*"\(job\|function\|tool\)":"\([^"]*\)".*/\2/p' | sort -u
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
reload cancel trace logs config --socket --json --help --version" ;;
	status | ps | cancel | trace) words="$(_oz0_names job list)" ;;
	functions | restart | logs) words="$(_oz0_names functions | sed 's/\..*//')" ;;
	call) words="--job --session --activity --timeout --progress \
$(_oz0_names functions)" ;;
	job) words="start cancel end forget list --tenant --run --failed" ;;
	session) words="open close" ;;
	run) words="--job --session --tool --workspace --force --" ;;
	config) words="check" ;;
	*) words= ;;
	esac
	case $command in
	cancel) words="$words --no-wait" ;;
	trace | logs) words="$words --follow" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _oz0 oz0
