# shellcheck shell=bash disable=SC2154
# The whole delivery chain on this machine: one worker, Redis, PostgreSQL and the simulator. Sourced by scripts/bench.
# usage: scripts/bench engine [chain] [pgbench] [slow] [backlog] [rss] [two]     (all)
#   BENCH_USERS            users in the database (1000000)
#   BENCH_NOTIFICATIONS    notifications delivered by the parts chain and pgbench (300000)
#   BENCH_RATIO            notifications of each run whose rates are compared: slow, backlog, two (100000)
#   BENCH_BACKLOG_SIZE     jobs that wait in the long backlog (1000000)
#   BENCH_SOAK_SECONDS     how long the worker runs at 2,000/s before its memory is looked at (600)

parts=${*:2}
parts=${parts:-chain pgbench slow backlog rss two}
for part in $parts; do
    case $part in
        chain | pgbench | slow | backlog | rss | two) ;;
        *) die "engine has the parts chain, pgbench, slow, backlog, rss and two" ;;
    esac
done
BENCH_USERS=${BENCH_USERS:-1000000} BENCH_NOTIFICATIONS=${BENCH_NOTIFICATIONS:-300000} BENCH_RATIO=${BENCH_RATIO:-100000}
BENCH_BACKLOG_SIZE=${BENCH_BACKLOG_SIZE:-1000000} BENCH_SOAK_SECONDS=${BENCH_SOAK_SECONDS:-600}
BENCH_BACKLOG=0 BENCH_WORKERS=1 BENCH_GROUPS_FILE="$workspace/groups.sql"

build_for_bench delivery-worker push-simulator varselctl Bench

step "starting Redis (appendonly yes, everysec), PostgreSQL (fsync, synchronous_commit on) and the simulator"
make_stack_keys
start_servers
postgres_programs=$(postgres_binaries)

say_machine engine
say "$("$postgres_programs/postgres" --version)"
say "parts: $parts; $BENCH_USERS users with 1.2 devices each, $BENCH_NOTIFICATIONS notifications"
# shellcheck disable=SC1091
. "$workspace/settings"
export BENCH_USERS BENCH_NOTIFICATIONS BENCH_BACKLOG BENCH_WORKERS BENCH_SOAK_SECONDS BENCH_GROUPS_FILE
export BENCH_WORKER="$binaries/delivery-worker"
export BENCH_REDIS_PID=$redis_pid BENCH_POSTGRES_PID=$postgres_pid BENCH_SIMULATOR_PID=$simulator_pid LOG_LEVEL=warning
figures="$workspace/figures"
: >"$figures"

sql() { "$postgres_programs/psql" -X -q -v ON_ERROR_STOP=1 "$DATABASE_URL" -c "$1" >/dev/null; }

# fresh: users as they were, nothing queued, sent or counted, and nothing left of the run before for autovacuum to do in this one.
fresh() {
    redis-cli -h 127.0.0.1 -p "$REDIS_PORT" flushall >/dev/null
    sql "TRUNCATE notification_messages, notification_events"
    sql "VACUUM (ANALYZE) user_notification_preferences"
    sql "CHECKPOINT"
    curl -fsS -X DELETE "$SIMULATOR_CONTROL_URL/pushes" >/dev/null
}

# measured NAME=VALUE...: one run on fresh tables; its figures are in $workspace/run.
measured() {
    fresh
    run_child env "$@" "$binaries/Bench" engine measure >"$workspace/run"
    say "$(grep -v rss "$workspace/run" | awk '{printf "%s %s  ", $1, $2}')"
}

# figure NAME: a figure of the last run.
figure() { awk -v name="$1" '$1 == name {print $2}' "$workspace/run"; }

# cost: processor time a notification took in the last run, all processes together.
cost() { awk '/_us_per_notification/ {sum += $2} END {print sum}' "$workspace/run"; }

ratio() { awk -v over="$1" -v under="$2" 'BEGIN {printf "%.3f", over / under}'; }

measure_chain() {
    step "chain: $BENCH_NOTIFICATIONS notifications, one worker"
    measured
    cat "$workspace/run" >>"$figures"
}

measure_pgbench() {
    local groups=$((BENCH_NOTIFICATIONS / 256)) rate
    fresh
    run_child "$binaries/Bench" engine groups
    step "pgbench -n -M prepared -c1 -j1 -t $groups -D n=0 -f GROUPS (recipients, insert and record of 256 each)"
    "$postgres_programs/pgbench" -n -M prepared -c1 -j1 -t "$groups" -D n=0 -f "$BENCH_GROUPS_FILE" "$DATABASE_URL" \
        >"$workspace/pgbench" 2>&1 || {
        tail -5 "$workspace/pgbench" >&2
        die "pgbench failed"
    }
    rate=$(awk '/^tps/ {print $3 * 256}' "$workspace/pgbench")
    echo "pgbench_notifications_per_s $rate 1/s" >>"$figures"
    sql "DROP TABLE bench_groups"
}

measure_slow() {
    local plain
    step "slow: 1% of the sends take 5 s"
    # Jobs behind those that are measured, so that the last slow answers are not the measure.
    measured BENCH_NOTIFICATIONS="$BENCH_RATIO" BENCH_BACKLOG="$((BENCH_RATIO / 4))"
    plain=$(figure notifications_per_s)
    curl -fsS -X POST -H 'content-type: application/json' \
        -d '[{"action":"accept","fraction":0.01,"delayMs":5000}]' "$SIMULATOR_CONTROL_URL/faults" >/dev/null
    measured BENCH_NOTIFICATIONS="$BENCH_RATIO" BENCH_BACKLOG="$((BENCH_RATIO / 4))"
    curl -fsS -X DELETE "$SIMULATOR_CONTROL_URL/faults" >/dev/null
    echo "slow1pct_ratio $(ratio "$(figure notifications_per_s)" "$plain") ratio" >>"$figures"
}

measure_backlog() {
    local short
    step "backlog: processor time a notification with 1,000 waiting behind, and with $BENCH_BACKLOG_SIZE"
    measured BENCH_NOTIFICATIONS="$BENCH_RATIO" BENCH_BACKLOG=1000
    short=$(cost)
    measured BENCH_NOTIFICATIONS="$BENCH_RATIO" BENCH_BACKLOG="$BENCH_BACKLOG_SIZE"
    echo "backlog_chain_ratio $(ratio "$(cost)" "$short") ratio" >>"$figures"
}

measure_rss() {
    step "rss: a worker without work, then 2,000 notifications a second for $BENCH_SOAK_SECONDS s"
    fresh
    run_child "$binaries/Bench" engine idle >>"$figures"
    run_child "$binaries/Bench" engine steady >>"$figures"
}

measure_two() {
    local one
    step "two workers beside one"
    measured BENCH_NOTIFICATIONS="$BENCH_RATIO"
    one=$(figure notifications_per_s)
    measured BENCH_NOTIFICATIONS="$BENCH_RATIO" BENCH_WORKERS=2
    echo "two_workers_ratio $(ratio "$(figure notifications_per_s)" "$one") ratio" >>"$figures"
}

run_child "$binaries/Bench" engine seed
for part in $parts; do "measure_$part"; done
echo figures:
cat "$figures"
