# Completion of oz0(1) for fish.

function __oz0_names
    oz0 --json $argv[2..] 2>/dev/null |
        string match -rg '"'$argv[1]'":"([^"]*)"' | sort -u
end

set -l commands status functions call job session run ps restart drain reload \
    cancel approve deny kill unkill policy trace logs config
complete -c oz0 -f
complete -c oz0 -l socket -r -F -d 'the control socket'
complete -c oz0 -l json -d 'one JSON object a line'
complete -c oz0 -n "not __fish_seen_subcommand_from $commands" -a "$commands"
complete -c oz0 -n '__fish_seen_subcommand_from status ps cancel trace' \
    -a '(__oz0_names job job list)'
complete -c oz0 -n '__fish_seen_subcommand_from functions restart logs kill unkill' \
    -a '(__oz0_names tool functions)'
complete -c oz0 -n '__fish_seen_subcommand_from call' \
    -a '(__oz0_names function functions)'
complete -c oz0 -n '__fish_seen_subcommand_from job' \
    -a 'start cancel end forget list'
complete -c oz0 -n '__fish_seen_subcommand_from session' -a 'open close'
complete -c oz0 -n '__fish_seen_subcommand_from config' -a 'check'
complete -c oz0 -n '__fish_seen_subcommand_from approve deny' \
    -a '(oz0 --json status 2>/dev/null | string match -rg \'"approvals":\[([^]]*)\' | string match -rag \'"call":"(c[0-9]+)"\')'
complete -c oz0 -n '__fish_seen_subcommand_from policy' \
    -F -a 'show check set'
complete -c oz0 -n '__fish_seen_subcommand_from kill' -l server
complete -c oz0 -n '__fish_seen_subcommand_from call run' -l job -x \
    -a '(__oz0_names job job list)'
complete -c oz0 -n '__fish_seen_subcommand_from call run' -l session -x
complete -c oz0 -n '__fish_seen_subcommand_from trace logs' -l follow
complete -c oz0 -n '__fish_seen_subcommand_from cancel' -l no-wait
complete -c oz0 -n '__fish_seen_subcommand_from job session' -l no-wait
complete -c oz0 -n '__fish_seen_subcommand_from call' -l activity -x
complete -c oz0 -n '__fish_seen_subcommand_from call' -l timeout -x
complete -c oz0 -n '__fish_seen_subcommand_from call' -l progress
complete -c oz0 -n '__fish_seen_subcommand_from job run' -l tenant -x
complete -c oz0 -n '__fish_seen_subcommand_from job' -l run -x
complete -c oz0 -n '__fish_seen_subcommand_from job' -l failed
complete -c oz0 -n '__fish_seen_subcommand_from session run' -l tool -x \
    -a '(__oz0_names tool functions)'
complete -c oz0 -n '__fish_seen_subcommand_from session run' -l workspace -r -F
complete -c oz0 -n '__fish_seen_subcommand_from session run' -l force
complete -c oz0 -n '__fish_seen_subcommand_from run' -l cwd -x
complete -c oz0 -n '__fish_seen_subcommand_from run' -l env -x
