# shellcheck shell=bash disable=SC2034,SC2154
# The gateway under wrk, beside pgbench running the gateway's own statements. Sourced by scripts/bench.
#   BENCH_SECONDS      how long each run takes (10)
#   BENCH_ROUNDS       runs of each load and its comparator, by turns; the best counts (2)
#   BENCH_CONNECTIONS  HTTP connections, and as many of pgbench (64)
#   BENCH_POOL         the gateway's connections to PostgreSQL (24)
#   BENCH_USERS        users with access tokens (1000), each with 40 messages in the inbox
#   BENCH_REQUESTS     requests before the memory is looked at (1000000)
#   BENCH_PARTS        which parts to run: "inbox token enqueue bulk hello nginx memory" (all)

seconds=${BENCH_SECONDS:-10} rounds=${BENCH_ROUNDS:-2} connections=${BENCH_CONNECTIONS:-64}
parts=${BENCH_PARTS:-inbox token enqueue bulk hello nginx memory}
export BENCH_USERS=${BENCH_USERS:-1000} BENCH_FOLDER="$workspace/load" BENCH_LOAD SERVICE_TOKEN
command -v wrk >/dev/null || die "install wrk"
pgbench="$(postgres_binaries)/pgbench"

build_for_bench api-gateway push-simulator varselctl Bench

step "starting Redis (appendonly yes, everysec), PostgreSQL (fsync, synchronous_commit on), the simulator and the gateway"
make_stack_keys
start_servers
export GATEWAY_DATABASE_CONNECTIONS=${BENCH_POOL:-24} GATEWAY_REGISTRATIONS_PER_MINUTE=1000000
start_gateway
gateway_pid=$child

mkdir "$BENCH_FOLDER"
BENCH_KEY_FILE="$workspace/keys/jwt.pem" JWT_ISSUER=$JWT_ISSUER JWT_AUDIENCE=$JWT_AUDIENCE \
    run_child "$binaries/Bench" gateway
psql -q -v ON_ERROR_STOP=1 -v users="$BENCH_USERS" "$DATABASE_URL" <<'SQL'
INSERT INTO user_notification_preferences (user_id, ios_permission_status, timezone)
SELECT n::text, 'granted', 'Europe/Oslo' FROM generate_series(1, :users) AS n;
INSERT INTO devices (user_id, device_id, provider, platform, token, environment, topic, permission_status, timezone)
SELECT n::text, 'phone', 'fcm', 'ios', (n * 2)::text, 'production', 'com.example.impulse', 'granted', 'Europe/Oslo'
FROM generate_series(1, :users) AS n;
-- Forty messages a user over the last three weeks, half of them read, in an order without regard to users.
INSERT INTO notification_messages (id, user_id, category, title, body, deeplink_url, metadata, job_id, status, enqueued_at, due_at,
    created_at, sent_at, read_at)
SELECT (left(varsel_uuid_floor(at)::text, 14) || '7' || left(random, 3) || '-8' || substr(random, 4, 3) || '-' ||
        right(random, 12))::uuid, n::text, 'reminder', 'Impulse AI', 'You captured something important. How did it go?',
    'im://home?source=notification', '{"step": 1}', m || '-' || n, 'sent', at, at, at, at, CASE WHEN m % 2 = 0 THEN at END
FROM generate_series(1, 40) AS m, generate_series(1, :users) AS n,
    LATERAL (SELECT now() - m * interval '12 hours' - n * interval '1 second' AS at, md5(m || '/' || n) AS random) AS made;
VACUUM ANALYZE;
SQL

say_machine gateway
say "$("$(postgres_binaries)/postgres" --version); wrk $(wrk -v 2>&1 | sed -n '1s/^wrk \([^ ]*\).*/\1/p')"
say "load: ES256 tokens of $BENCH_USERS users, $connections connections, $GATEWAY_DATABASE_CONNECTIONS of the gateway to PostgreSQL"

figures="$workspace/figures"
: >"$figures"
total=0

# load NAME [URL]: one run of wrk; sets `rate`, `p99` in milliseconds, `total`.
load() {
    local line words
    BENCH_LOAD=$1
    line=$(run_child wrk -t2 -c"$connections" -d"${seconds}s" --timeout 10s --latency -s scripts/bench.d/gateway.lua "${2:-$GATEWAY_URL}" |
        tee -a "$workspace/logs/wrk.log" | grep '^figures')
    read -r -a words <<<"${line#figures }"
    if [ "${words[3]}" != 0 ] || [ "${words[4]}" != 0 ]; then
        tail -n 30 "$workspace/logs/wrk.log" >&2
        show_log api-gateway
        die "$1: ${words[3]} failures and ${words[4]} answers that were no success"
    fi
    rate=$((words[0] * 1000000 / words[1]))
    p99=$(awk "BEGIN {printf \"%.1f\", ${words[2]} / 1000}")
    total=$((total + words[0]))
    say "  wrk $1: $rate/s, p99 $p99 ms"
}

# compare SCRIPT: one run of pgbench; sets `reference`.
compare() {
    reference=$(PGOPTIONS='-c jit=off' run_child "$pgbench" -n -M prepared -c "$connections" -j 2 -T "$seconds" \
        -f "$BENCH_FOLDER/$1" "$DATABASE_URL" 2>"$workspace/logs/pgbench.log" | sed -n 's/^tps = \([0-9]*\).*/\1/p') || {
        show_log pgbench
        die "pgbench failed"
    }
    say "  pgbench $1: $reference/s"
}

# best LOAD FIGURE [SCRIPT FIGURE]: the best of all rounds, by turns with pgbench.
best() {
    local round most=0 beside=0
    best_p99=""
    step "wrk -t2 -c$connections -d${seconds}s --timeout 10s --latency -s scripts/bench.d/gateway.lua ($1)${3:+ beside
   PGOPTIONS='-c jit=off' pgbench -n -M prepared -c $connections -j 2 -T $seconds -f $3}"
    for ((round = 0; round < rounds; round++)); do
        load "$1"
        if [ "$rate" -gt "$most" ]; then most=$rate best_p99=$p99; fi
        [ -n "${3:-}" ] || continue
        compare "$3"
        if [ "$reference" -gt "$beside" ]; then beside=$reference; fi
    done
    echo "$2 $most 1/s" >>"$figures"
    if [ -n "${3:-}" ]; then echo "$4 $beside 1/s" >>"$figures"; fi
}

measure_inbox() {
    best inbox inbox_req_per_s inbox.sql inbox_pgbench_per_s
    echo "inbox_p99_ms $best_p99 ms" >>"$figures"
}

measure_token() { best token token_write_req_per_s token.sql token_write_pgbench_per_s; }

measure_enqueue() {
    best enqueue enqueue_req_per_s
    redis-cli -p "$REDIS_PORT" flushall >/dev/null
}

measure_bulk() {
    local round most=0
    step "the same with 1,000 notifications in each request"
    for ((round = 0; round < rounds; round++)); do
        load bulk
        redis-cli -p "$REDIS_PORT" flushall >/dev/null
        if [ "$rate" -gt "$most" ]; then most=$rate; fi
    done
    echo "bulk_enqueue_jobs_per_s $((most * 1000)) 1/s" >>"$figures"
}

measure_hello() { best hello hello_req_per_s; }

# The same route through nginx: TLS and HTTP/2 with h2load, over the configuration in deploy/.
measure_nginx() {
    local port round most=0 options
    command -v nginx >/dev/null && command -v h2load >/dev/null || die "install nginx-light and nghttp2-client"
    port=$(random_port)
    make_nginx_configuration "$workspace/nginx" "$port" "${GATEWAY_URL#http://}"
    start_child "$workspace/logs/nginx.log" nginx -c "$workspace/nginx/nginx.conf" -g 'daemon off;'
    wait_for 10 "$child" curl -sk -o /dev/null "https://127.0.0.1:$port/" || { show_log nginx; die "nginx did not start"; }
    # nginx ends a connection after its thousandth request, and h2load makes no new one: with a duration instead of a number the rest of
    # the time would count as if nothing came.
    options=(-t2 -c"$connections" -m1 -n $((connections * 900)) -H ':method: DELETE')
    step "h2load ${options[*]} https://127.0.0.1:$port/api/v1/notifications/device-token/unknown"
    for ((round = 0; round < rounds; round++)); do
        rate=$(run_child h2load "${options[@]}" "https://127.0.0.1:$port/api/v1/notifications/device-token/unknown" |
            tee -a "$workspace/logs/h2load.log" | sed -n 's/^finished in .*, \([0-9]*\)\.[0-9]* req.*/\1/p')
        grep -q ' 0 failed, 0 errored' "$workspace/logs/h2load.log" || die "requests failed: $(tail -8 "$workspace/logs/h2load.log")"
        say "  h2load: $rate/s"
        if [ "${rate:-0}" -gt "$most" ]; then most=$rate; fi
    done
    echo "nginx_hello_req_per_s $most 1/s" >>"$figures"
    stop_child "$child"
}

resident() { awk '/^VmRSS/ {printf "%.1f", $2 / 1024}' "/proc/$gateway_pid/status"; }

measure_memory() {
    local first
    first=$(resident)
    step "requests until ${BENCH_REQUESTS:-1000000} were answered; resident memory before: $first MB"
    total=0
    while [ "$total" -lt "${BENCH_REQUESTS:-1000000}" ]; do
        load mixed
        say "  resident: $(resident) MB after $total"
    done
    echo "rss_mb_after_million $(resident) MB" >>"$figures"
}

for part in $parts; do "measure_$part"; done
echo figures:
cat "$figures"
