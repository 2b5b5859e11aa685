# shellcheck shell=bash disable=SC2034,SC2154
# Shared by the scripts in the folder above: messages, long-running children, the folder for temporary files.
# To be sourced by bash under `set -euo pipefail`, with `repository` being set to the root of the checkout.

say() { printf '%s\n' "$*" >&2; }

step() { printf '\n== %s\n' "$*" >&2; }

die() {
    printf '\n%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# The children that were started, oldest first; each leads a session and a process group of its own.
children=()
# The folder for everything temporary, made by make_workspace.
workspace=""

# make_workspace NAME: makes the folder. Readable for others, because PostgreSQL may run as another user.
make_workspace() {
    workspace=$(mktemp -d "${TMPDIR:-/tmp}/varsel-$1.XXXXXX")
    chmod 755 "$workspace"
    mkdir "$workspace/logs"
}

# start_child LOG COMMAND...: starts a command in the background and sets `child` to its process id.
start_child() {
    local log=$1
    shift
    setsid "$@" </dev/null >>"$log" 2>&1 &
    child=$!
    children+=("$child")
}

# run_child COMMAND...: runs a command to its end, so that a signal to this script is answered at once.
run_child() {
    setsid "$@" </dev/null &
    local pid=$! status=0
    children+=("$pid")
    wait "$pid" || status=$?
    unset 'children[-1]'
    end_session "$pid"
    return "$status"
}

is_running() { kill -0 "$1" 2>/dev/null; }

# stop_child PID: asks the process group to end, and insists after ten seconds.
stop_child() {
    is_running "$1" || return 0
    kill -TERM -- "-$1" 2>/dev/null || kill -TERM "$1" 2>/dev/null || true
    local tries=0
    # bash 5.2 may print "No record of process" when a child ends during the sleep.
    while is_running "$1" && [ $((tries += 1)) -le 200 ]; do { sleep 0.05 || true; } 2>/dev/null; done
    if is_running "$1"; then kill -KILL -- "-$1" 2>/dev/null || true; fi
    wait "$1" 2>/dev/null || true
    end_session "$1"
}

# end_session PID: ends what a child that has ended left behind, in whatever process group.
end_session() {
    local file line fields
    for file in /proc/[0-9]*/stat; do
        # It may end while we look.
        { read -r line <"$file"; } 2>/dev/null || continue
        # After the command in parentheses: state, parent, process group, session.
        read -r -a fields <<<"${line##*) }"
        if [ "${fields[3]:-}" = "$1" ]; then kill -KILL "${line%% *}" 2>/dev/null || true; fi
    done
}

# Ends everything that was started, the youngest first, and removes the temporary folder. A script that has more to tidy
# defines on_clean_up.
clean_up() {
    local status=$? index
    trap '' INT TERM HUP
    trap - EXIT
    set +e
    if declare -F on_clean_up >/dev/null; then on_clean_up; fi
    for ((index = ${#children[@]} - 1; index >= 0; index--)); do stop_child "${children[index]}"; done
    if [ -n "$workspace" ]; then rm -rf "$workspace"; fi
    exit "$status"
}

# clean_up_at_the_end: also when interrupted.
clean_up_at_the_end() {
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
}

# random_port: a TCP port of 127.0.0.1 that nobody listens on now. Callers try again when another process was faster.
random_port() {
    local port tries=0
    while [ $((tries += 1)) -le 100 ]; do
        port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port"
            return
        fi
    done
    die "found no free port on 127.0.0.1"
}

# wait_for SECONDS PID COMMAND...: waits until the command succeeds; fails when the time or the process has ended.
wait_for() {
    local limit=$((SECONDS + $1)) pid=$2
    shift 2
    while ! "$@" >/dev/null 2>&1; do
        if [ "$SECONDS" -ge "$limit" ] || ! is_running "$pid"; then return 1; fi
        sleep 0.05
    done
}

require_swift() {
    command -v swift >/dev/null || die "swift is not on the PATH. Install Swift 6.3 from https://www.swift.org/install/linux/"
}
