# shellcheck shell=bash disable=SC2154
# A campaign to everybody: how long until all of it is queued, what account notices feel of it, and how soon a stop is felt. Sourced
# by producers.sh.
#   BENCH_USERS              users in the database, all of whom it is for (1000000)
#   BENCH_LIFECYCLE_SECONDS  how long account notices, 100 a second, come while the campaign is delivered (30)

campaign_users=${BENCH_USERS:-1000000} lifecycle_seconds=${BENCH_LIFECYCLE_SECONDS:-30}
for product in campaign-producer api-gateway delivery-worker push-simulator varselctl; do build_for_bench "$product"; done
step "starting Redis (appendonly yes, everysec), PostgreSQL (fsync, synchronous_commit on), the simulator and the gateway"
export LOG_LEVEL=warning
make_stack_keys
start_servers
campaign_sql() { psql -X -q -v ON_ERROR_STOP=1 -At "$DATABASE_URL" "$@"; }

step "seeding $campaign_users users with campaigns on, in up to 40 zones where it is day"
campaign_sql <<SQL
CREATE TABLE bench_zones AS SELECT name, row_number() OVER () AS n FROM (
    SELECT name FROM time_zones WHERE extract(hour FROM now() AT TIME ZONE name) BETWEEN 9 AND 18 ORDER BY md5(name) LIMIT 40) z;
INSERT INTO user_notification_preferences (user_id, ios_permission_status, timezone, language, categories)
SELECT 'user-' || u.n, 'granted', z.name, (ARRAY['en','nb','de','ja'])[u.n % 4 + 1], '{"campaign": {"enabled": true}}'
FROM generate_series(1, $campaign_users) AS u(n), (SELECT count(*) AS n FROM bench_zones) AS c, bench_zones z
WHERE z.n = u.n % c.n + 1;
INSERT INTO devices (user_id, device_id, provider, platform, token, environment, topic, permission_status, registered_at)
SELECT 'user-' || n, 'd', 'apns', 'ios', md5(n::text) || md5((-n)::text), 'production', '$APNS_TOPIC', 'granted', now() - interval '30 days'
FROM generate_series(1, $campaign_users) AS u(n);
VACUUM (ANALYZE);
CHECKPOINT;
SQL

start_gateway
# All of it is to be queued before anything is delivered.
export CAMPAIGN_HIGH_WATER=10000000
start_campaign_producer
campaign_producer=$child

# admin METHOD PATH [JSON]: what the admin API answers.
admin() {
    curl -fsS -m 60 -X "$1" "$GATEWAY_URL$2" -H "Authorization: Bearer $SERVICE_TOKEN" -H 'Content-Type: application/json' \
        ${3:+-d "$3"} || stack_failed api-gateway "$1 $2 failed"
}
campaign_state() { campaign_sql -c "SELECT state FROM campaigns WHERE id = '$campaign'"; }
campaign_is_queued() { [ "$(campaign_state)" = sent ]; }
queued() { redis-cli -p "$REDIS_PORT" zcard bull:notification-deliver:prioritized; }
# accepted: pushes that the simulator has accepted.
accepted() { curl -fsS -m 5 "$SIMULATOR_CONTROL_URL/pushes/count" | jq '.accepted // .count'; }

# queued_users: how many different users the queued jobs are for.
queued_users() {
    local from script
    script="local users = {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[1] + 19999)) do
    users[#users + 1] = string.match(redis.call('HGET', 'bull:notification-deliver:' .. id, 'data'), '\"userId\":\"([^\"]+)\"')
end
return users"
    for ((from = 0; from < $(queued); from += 20000)); do
        redis-cli -p "$REDIS_PORT" --raw eval "$script" 1 bull:notification-deliver:prioritized "$from"
    done | LC_ALL=C sort -u | wc -l
}

step "a campaign to $campaign_users users, from the order to start until every notification is queued"
campaign=$(admin POST /api/v1/campaigns '{"name":"bench","texts":{"en":{"title":"News","body":"There is something new."}},"fallbackLanguage":"en"}' |
    jq -r .data.id)
campaign_began=$EPOCHREALTIME
admin POST "/api/v1/campaigns/$campaign/start" '{}' >/dev/null
wait_for 900 "$campaign_producer" campaign_is_queued || stack_failed campaign-producer "the campaign was not queued"
campaign_took=$(campaign_sql -c "SELECT round(extract(epoch FROM ended_at) - $campaign_began, 2) FROM campaigns WHERE id = '$campaign'")
campaign_peak=$(awk '/^VmHWM/ {print int($2 / 1024) + 1}' "/proc/$campaign_producer/status")
jobs=$(queued) users=$(queued_users)
[ "$jobs" = "$campaign_users" ] && [ "$users" = "$campaign_users" ] ||
    die "$campaign_users users are to get it once; $jobs jobs for $users users are queued"
say "$campaign_took s; $jobs jobs for $users users"

step "a worker delivers it, and 100 account notices a second come for $lifecycle_seconds s"
start_worker
campaign_worker=$child
delivers() { [ "$(accepted)" -gt 0 ]; }
wait_for 60 "$campaign_worker" delivers || stack_failed delivery-worker "nothing was delivered"
notices=0
began=$EPOCHREALTIME
for ((turn = 0; turn < lifecycle_seconds * 20; turn++)); do
    # So late is this turn, should the gateway be slow: then the next one follows at once.
    pause=$(awk -v now="$EPOCHREALTIME" -v due="$began" -v turn="$turn" 'BEGIN {p = due + turn * 0.05 - now; print (p > 0 ? p : 0)}')
    sleep "$pause"
    body=""
    for ((place = 0; place < 5; place++)); do
        body+=",{\"userId\":\"user-$((notices++ % campaign_users + 1))\",\"category\":\"lifecycle\",\"text\":{\"key\":\"lifecycle.subscription_expired\",\"variables\":{}}}"
    done
    admin POST /api/v1/notifications/bulk "{\"notifications\":[${body:1}]}" >/dev/null
done
waiting=$(queued)
[ "$waiting" -gt 0 ] || die "the campaign was delivered before the notices ended; set more BENCH_USERS or fewer BENCH_LIFECYCLE_SECONDS"
notices_sent() { [ "$(campaign_sql -c "SELECT count(*) FROM notification_messages WHERE category = 'lifecycle' AND status = 'sent'")" = "$notices" ]; }
wait_for 30 "$campaign_worker" notices_sent || stack_failed delivery-worker "not all of $notices notices were sent"

step "an operator stops it while the worker sends"
waiting=$(queued)
[ "$waiting" -gt 0 ] || die "the campaign was delivered before it was stopped; set more BENCH_USERS"
stop_ordered=$EPOCHREALTIME
admin POST "/api/v1/campaigns/$campaign/stop" >/dev/null
# Recorded are they a moment after they were sent: until all that Apple's stand-in took are, and nothing came for three seconds.
settled() {
    local before
    before=$(accepted)
    sleep 3
    [ "$(accepted)" = "$before" ] &&
        [ "$(campaign_sql -c "SELECT count(*) FROM notification_messages WHERE status = 'sent'")" = "$before" ]
}
wait_for 120 "$campaign_worker" settled || stack_failed delivery-worker "pushes do not end after the stop"
read -r sent after stopped < <(campaign_sql -F ' ' -c "SELECT count(*), count(*) FILTER (WHERE sent_at > to_timestamp($stop_ordered)),
    round(greatest(extract(epoch FROM max(sent_at)) - $stop_ordered, 0), 2) FROM notification_messages WHERE batch_ref = 'cmp:$campaign'")
say "$waiting waited at the order; of $sent pushes $after were sent after it"

figure campaign_million_s "$campaign_took" s
figure campaign_rss_mb "$campaign_peak" MB
# From the door to the row, which is written when the gates are passed, and from there to Apple's answer.
for percent in 50 99; do
    figure "lifecycle_taken_ms_p${percent}_during_campaign" "$(campaign_sql -c "SELECT round(extract(epoch FROM
        percentile_disc(0.$percent) WITHIN GROUP (ORDER BY created_at - enqueued_at)) * 1000, 1) FROM notification_messages WHERE category = 'lifecycle'")" ms
    figure "lifecycle_wait_ms_p${percent}_during_campaign" "$(campaign_sql -c "SELECT round(extract(epoch FROM
        percentile_disc(0.$percent) WITHIN GROUP (ORDER BY sent_at - enqueued_at)) * 1000, 1) FROM notification_messages WHERE category = 'lifecycle'")" ms
done
figure campaign_stop_s "$stopped" s
