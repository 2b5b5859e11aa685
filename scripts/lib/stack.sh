# shellcheck shell=bash disable=SC2034,SC2154
# The whole platform in a temporary folder: Redis, PostgreSQL, simulated APNs and FCM, gateway, worker and the producers that run all
# the time. Needs common.sh, servers.sh
# and keys.sh.

# build_stack: builds the processes and sets `binaries`. The debug build is the quickest to come by.
build_stack() {
    local log="$workspace/logs/build.log"
    run_child swift build >"$log" 2>&1 || {
        grep -E 'error:' "$log" | sort -u | head -20 >&2 || true
        show_log build
        die "the build failed"
    }
    binaries=$(swift build --show-bin-path </dev/null)
}

# make_stack_keys: what Apple, an app's sign-in service and an operator would provide.
make_stack_keys() {
    local keys="$workspace/keys" id=demo
    mkdir -m 700 "$keys"
    make_p256_key "$keys/apns.p8"
    make_service_account "$keys/fcm.json" varsel-dev
    make_p256_key "$keys/jwt.pem"
    openssl pkey -in "$keys/jwt.pem" -pubout -out "$keys/jwt-public.pem"
    SERVICE_TOKEN="vsk_${id}_$(random_text 32)"
    DEV_API_TOKEN=$(random_text 32)
    printf '[{"id":"%s","sha256":"%s","scopes":[%s]}]\n' "$id" \
        "$(printf '%s' "$SERVICE_TOKEN" | openssl dgst -sha256 -r | cut -d' ' -f1)" \
        "$(printf '"%s",' notifications:write notifications:literal notifications:cancel activity:write lifecycle:write \
            live-activities:write pushes:raw explain:read users:erase campaigns:admin | sed 's/,$//')" \
        >"$keys/service-credentials.json"
    JWT_ISSUER=https://id.example.test JWT_AUDIENCE=varsel-dev
    APNS_KEY_ID=DEVKEY0001 APNS_TEAM_ID=DEVTEAM001 APNS_TOPIC=com.example.impulse
}

# start_servers: what the platform stands on, ready and migrated: Redis, PostgreSQL and the simulator, whose processes are then in
# redis_pid, postgres_pid and simulator_pid. Sets the addresses. Needs the keys.
start_servers() {
    start_redis
    redis_pid=$child
    start_postgres
    postgres_pid=$child
    REDIS_URL="redis://127.0.0.1:$REDIS_PORT"
    DATABASE_URL="postgresql://varsel@127.0.0.1:$POSTGRES_PORT/postgres"
    start_simulator
    simulator_pid=$child
    write_settings
    migrate
}

# start_stack: starts everything and waits until it is ready. Sets the addresses.
start_stack() {
    start_servers
    start_gateway
    start_worker
    start_campaign_producer
    start_lifecycle_producer
}

start_simulator() {
    local ports="$workspace/simulator.json"
    start_child "$workspace/logs/push-simulator.log" env \
        SIMULATOR_LISTEN=127.0.0.1:0 SIMULATOR_CONTROL_LISTEN=127.0.0.1:0 SIMULATOR_PORT_FILE="$ports" \
        SIMULATOR_CERT_FILE="$workspace/keys/simulator-cert.pem" SIMULATOR_KEY_FILE="$workspace/keys/simulator-key.pem" \
        APNS_KEY_FILE="$workspace/keys/apns.p8" APNS_KEY_ID="$APNS_KEY_ID" APNS_TEAM_ID="$APNS_TEAM_ID" \
        APNS_TOPIC="$APNS_TOPIC" FCM_CREDENTIALS_FILE="$workspace/keys/fcm.json" "$binaries/push-simulator"
    wait_for 20 "$child" test -s "$ports" || stack_failed push-simulator "the simulator did not start"
    SIMULATOR_PORT=$(jq -r .port "$ports")
    SIMULATOR_URL="https://127.0.0.1:$SIMULATOR_PORT"
    SIMULATOR_CONTROL_URL="http://127.0.0.1:$(jq -r .controlPort "$ports")"
    FCM_PORT=$(jq -r .fcmPort "$ports")
    sed -i "s|\"token_uri\": .*|\"token_uri\": \"$SIMULATOR_CONTROL_URL/token\"|" "$workspace/keys/fcm.json"
}

migrate() {
    run_child bash -c '. "$0"; exec "$@"' "$workspace/settings" "$binaries/varselctl" migrate \
        >"$workspace/logs/migrate.log" 2>&1 || stack_failed migrate "the migration failed"
}

start_campaign_producer() { start_process campaign-producer "the campaign producer did not become ready"; }

start_lifecycle_producer() { start_process lifecycle-producer "the lifecycle producer did not become ready"; }

start_gateway() {
    local try port metrics
    for try in 1 2 3; do
        port=$(random_port) metrics=$(random_port)
        GATEWAY_URL="http://127.0.0.1:$port"
        start_child "$workspace/logs/api-gateway.log" env GATEWAY_LISTEN="127.0.0.1:$port" \
            METRICS_LISTEN="127.0.0.1:$metrics" bash -c '. "$0"; exec "$@"' "$workspace/settings" "$binaries/api-gateway"
        if wait_for 20 "$child" curl -fsS -m 2 "http://127.0.0.1:$metrics/readyz"; then return; fi
    done
    stack_failed api-gateway "the gateway did not become ready"
}

start_worker() { start_process delivery-worker "the worker did not become ready"; }

# start_process NAME PROBLEM: starts a process that serves nobody but operators.
start_process() {
    local try metrics
    for try in 1 2 3; do
        metrics=$(random_port)
        start_child "$workspace/logs/$1.log" env METRICS_LISTEN="127.0.0.1:$metrics" \
            bash -c '. "$0"; exec "$@"' "$workspace/settings" "$binaries/$1"
        if wait_for 20 "$child" curl -fsS -m 2 "http://127.0.0.1:$metrics/readyz"; then return; fi
    done
    stack_failed "$1" "$2"
}

# write_settings: the settings of gateway, worker and varselctl, as shell exports.
write_settings() {
    local name
    APNS_HOST=127.0.0.1 APNS_PORT=$SIMULATOR_PORT APNS_ENVIRONMENT=production
    APNS_KEY_FILE="$workspace/keys/apns.p8" APNS_CA_FILE="$workspace/keys/simulator-cert.pem"
    FCM_CREDENTIALS_FILE="$workspace/keys/fcm.json" FCM_HOST=127.0.0.1 FCM_CA_FILE=$APNS_CA_FILE
    JWT_PUBLIC_KEY_FILE="$workspace/keys/jwt-public.pem"
    SERVICE_CREDENTIALS_FILE="$workspace/keys/service-credentials.json"
    install -m 600 /dev/null "$workspace/settings"
    for name in DATABASE_URL REDIS_URL APNS_HOST APNS_PORT APNS_ENVIRONMENT APNS_KEY_FILE APNS_KEY_ID APNS_TEAM_ID \
        APNS_TOPIC APNS_CA_FILE FCM_CREDENTIALS_FILE FCM_HOST FCM_PORT FCM_CA_FILE JWT_PUBLIC_KEY_FILE JWT_ISSUER JWT_AUDIENCE SERVICE_CREDENTIALS_FILE DEV_API_TOKEN; do
        printf 'export %s=%q\n' "$name" "${!name}"
    done >"$workspace/settings"
}

# stack_failed LOG MESSAGE
stack_failed() {
    show_log "$1" 25
    die "$2"
}

# daytime_zone: a time zone where it is between 9 and 19 o'clock now, so that every category may be shown.
daytime_zone() {
    local zone hour
    for zone in Europe/Oslo America/New_York Asia/Tokyo Pacific/Honolulu Asia/Kolkata Australia/Sydney \
        America/Los_Angeles; do
        hour=$(TZ=$zone date +%-H)
        if [ "$hour" -ge 9 ] && [ "$hour" -lt 19 ]; then
            echo "$zone"
            return
        fi
    done
    die "found no time zone in which it is day; is tzdata installed?"
}
