# shellcheck shell=bash disable=SC2154
# One run of reminder-producer beside the bare SQL. Sourced by producers.sh.
#   BENCH_USERS   users in the database (1000000), a fifth of them away for 3 to 28 days
#   BENCH_ROUNDS  how often each is run, by turns; the figures are medians (3)

reminder_users=${BENCH_USERS:-1000000} reminder_rounds=${BENCH_ROUNDS:-3}
build_for_bench reminder-producer
build_for_bench varselctl
step "starting Redis (appendonly yes, everysec), PostgreSQL (fsync, synchronous_commit on)"
start_redis
start_postgres
export REDIS_URL="redis://127.0.0.1:$REDIS_PORT"
export DATABASE_URL="postgresql://varsel@127.0.0.1:$POSTGRES_PORT/postgres"
run_child "$binaries/varselctl" migrate >"$workspace/logs/migrate.log" 2>&1 || die "the migration failed"

reminder_sql() { psql -X -q -v ON_ERROR_STOP=1 -At "$DATABASE_URL" "$@"; }

step "seeding $reminder_users users in 40 zones where it is day: three fifths active, a fifth away, a fifth gone for good"
reminder_sql <<SQL
CREATE TABLE bench_zones AS SELECT name, row_number() OVER () AS n FROM (
    SELECT name FROM time_zones WHERE extract(hour FROM now() AT TIME ZONE name) BETWEEN 9 AND 18 ORDER BY md5(name) LIMIT 40) z;
INSERT INTO user_notification_preferences (user_id, ios_permission_status, timezone, language)
SELECT 'user-' || u.n, 'granted', z.name, (ARRAY['en','nb','de','ja'])[u.n % 4 + 1]
FROM generate_series(1, $reminder_users) AS u(n), (SELECT count(*) AS n FROM bench_zones) AS c, bench_zones z
WHERE z.n = u.n % c.n + 1;
INSERT INTO devices (user_id, device_id, provider, platform, token, environment, topic, permission_status)
SELECT 'user-' || n, 'd', 'apns', 'ios', md5(n::text) || md5((-n)::text), 'production', 'app', 'granted'
FROM generate_series(1, $reminder_users) AS u(n);
INSERT INTO user_activity (user_id, last_activity_at, timezone)
SELECT user_id, now() - CASE WHEN h % 5 < 3 THEN interval '2 days' * (h % 1000) / 1000.0
    WHEN h % 5 = 3 THEN interval '3 days 1 hour' + interval '24 days 20 hours' * (h / 5 % 1000) / 1000.0
    ELSE interval '40 days' + interval '1 hour' * (h % 1000) END, timezone
FROM (SELECT user_id, timezone, abs(hashtext(user_id)::bigint) AS h FROM user_notification_preferences) AS u;
CREATE TABLE bench_away AS
SELECT user_id, row_number() OVER (ORDER BY md5(user_id)) AS n, to_char(now() AT TIME ZONE timezone, 'IYYY-"W"IW') AS week
FROM user_activity WHERE last_activity_at BETWEEN now() - interval '28 days' AND now() - interval '3 days';
VACUUM (ANALYZE);
SQL
reminder_away=$(reminder_sql -c 'SELECT count(*) FROM bench_away')

# What one run does to the database, without a producer, a queue or chunks.
cat >"$workspace/bare.sql" <<'SQL'
-- Whole tables are joined; left to its estimates, PostgreSQL looked 200,000 users up one by one in a table it took for empty.
SET enable_nestloop = off;
INSERT INTO reminder_weeks (user_id, week_key, message_id, step, state, claimed_at)
SELECT a.user_id, to_char(now() AT TIME ZONE z.name, 'IYYY-"W"IW'), gen_random_uuid(), 1, 'claimed', now()
FROM user_activity a
JOIN time_zones z ON z.name = a.timezone AND extract(hour FROM now() AT TIME ZONE z.name) BETWEEN 8 AND 20
JOIN user_notification_preferences p ON p.user_id = a.user_id AND p.ios_permission_status = 'granted'
    AND (p.silence_until IS NULL OR p.silence_until <= now())
    AND coalesce(p.categories -> 'reminder' ->> 'enabled', 'true') <> 'false'
WHERE a.last_activity_at > now() - interval '28 days' AND a.last_activity_at <= now() - interval '3 days'
    AND NOT EXISTS (SELECT FROM reminder_weeks r WHERE r.user_id = a.user_id
        AND r.week_key = to_char(now() AT TIME ZONE z.name, 'IYYY-"W"IW'))
    AND EXISTS (SELECT FROM devices d WHERE d.user_id = a.user_id AND d.token IS NOT NULL AND d.invalidated_at IS NULL
        AND d.permission_status IN ('granted', 'provisional', 'ephemeral'))
ON CONFLICT DO NOTHING;
UPDATE reminder_weeks SET state = 'enqueued' WHERE state = 'claimed';
SQL

# reminder_reset DUE: so many users are due, the others that are away had their reminder this week. The queue is empty.
reminder_reset() {
    reminder_sql <<SQL
TRUNCATE reminder_weeks;
INSERT INTO reminder_weeks SELECT user_id, week, gen_random_uuid(), 1, 'enqueued', now() FROM bench_away WHERE n > $1;
VACUUM (ANALYZE) reminder_weeks;
CHECKPOINT;
SQL
    redis-cli -p "$REDIS_PORT" flushall >/dev/null
}

# reminder_timed COMMAND...: sets `took` in seconds and `peak`, the most memory the process had, in MB.
reminder_timed() {
    local began ended pid high
    peak=0
    began=$EPOCHREALTIME
    "$@" >>"$workspace/logs/reminder-producer.log" 2>&1 &
    pid=$!
    while high=$(awk '/^VmHWM/ {print int($2 / 1024) + 1}' "/proc/$pid/status" 2>/dev/null) && [ -n "$high" ]; do
        peak=$high
        sleep 0.02
    done
    wait "$pid" || { show_log reminder-producer; die "$1 failed"; }
    ended=$EPOCHREALTIME
    took=$(awk -v a="$began" -v b="$ended" 'BEGIN {printf "%.2f", b - a}')
}

# reminder_median NUMBER...
reminder_median() { printf '%s\n' "$@" | sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

say "comparator: psql -X -q -v ON_ERROR_STOP=1 -At \$DATABASE_URL -f bare.sql, with bare.sql:"
sed 's/^/    /' "$workspace/bare.sql" >&2
reminder_peak=0
for due in $((reminder_users / 100)) "$reminder_away"; do
    ours=() bare=()
    for ((round = 1; round <= reminder_rounds; round++)); do
        reminder_reset "$due"
        reminder_timed env LOG_LEVEL=info "$binaries/reminder-producer"
        ours+=("$took")
        [ "$peak" -le "$reminder_peak" ] || reminder_peak=$peak
        jobs=$(redis-cli -p "$REDIS_PORT" zcard bull:notification-deliver:prioritized)
        rows=$(reminder_sql -c "SELECT count(*) FROM reminder_weeks WHERE state = 'enqueued'")
        [ "$jobs" = "$due" ] && [ "$rows" = "$reminder_away" ] || die "$due were due, $jobs jobs and $rows rows of $reminder_away came of it"
        reminder_reset "$due"
        reminder_timed psql -X -q -v ON_ERROR_STOP=1 -At "$DATABASE_URL" -f "$workspace/bare.sql"
        bare+=("$took")
        say "$due due: producer ${ours[-1]} s, bare SQL ${bare[-1]} s"
    done
    suffix=
    [ "$due" = $((reminder_users / 100)) ] || suffix=_all
    figure "reminder_run${suffix}_s" "$(reminder_median "${ours[@]}")" s
    figure "reminder_bare_sql${suffix}_s" "$(reminder_median "${bare[@]}")" s
    figure "reminder_ratio$suffix" \
        "$(awk -v a="$(reminder_median "${ours[@]}")" -v b="$(reminder_median "${bare[@]}")" 'BEGIN {printf "%.2f", a / b}')" ratio
done
figure reminder_rss_mb "$reminder_peak" MB
