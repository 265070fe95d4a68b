# shellcheck shell=bash
# Completion of oz0(1) for bash: commands, options, and the names of jobs and
# tools that a running node knows.

_oz0_names() {
	oz0 --json "$@" 2>/dev/null |
		sed -n 's/.*"\(job\|function\|tool\)":"\([^"]*\)".*/\2/p' | sort -u
}

_oz0_tools() {
	_oz0_names functions | sed 's/\..*//' | sort -u
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
		case $command,${COMP_WORDS[i]} in
		,--socket) ((i++)) ;;
		*,-*) ;;
		,* | job,* | session,* | policy,* | config,*)
			command="${command:+$command }${COMP_WORDS[i]}"
			;;
		esac
	done
	COMPREPLY=()
	case $prev in
	--socket)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--workspace)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--tool)
		mapfile -t COMPREPLY < <(compgen -W "$(_oz0_tools)" -- "$cur")
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
	status | ps) words="$(_oz0_names job list)" ;;
	trace) words="--follow $(_oz0_names job list)" ;;
	cancel | 'job cancel') words="--no-wait $(_oz0_names job list)" ;;
	approve | deny) words="$(_oz0_waiting)" ;;
	functions | restart | unkill) words="$(_oz0_tools)" ;;
	logs) words="--follow $(_oz0_tools)" ;;
	kill) words="--server $(_oz0_tools)" ;;
	call) words="--job --session --activity --timeout --progress \
$(_oz0_names functions)" ;;
	job) words="start cancel end forget list" ;;
	'job start') words="--tenant --run $(_oz0_names job list)" ;;
	'job end') words="--failed --no-wait $(_oz0_names job list)" ;;
	'job forget') words="$(_oz0_names job list)" ;;
	session) words="open close" ;;
	'session open') words="--tool --workspace --force \
$(_oz0_names job list)" ;;
	'session close') words="--no-wait $(_oz0_names job list)" ;;
	run) words="--job --session --tenant --tool --workspace --cwd --env \
--force --" ;;
	config) words="check" ;;
	policy) words="show check set" ;;
	'config check' | 'policy check' | 'policy set')
		words=$(compgen -f -- "$cur")
		;;
	*) words= ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _oz0 oz0
