# shellcheck shell=bash disable=SC2154
# The push transport on one connection, beside h2load and aioapns on the same servers. Sourced by scripts/bench.
#   BENCH_PUSHES       pushes of each throughput run (300000)
#   BENCH_SOAK         pushes of the soak (1000000)
#   BENCH_SOAK_BREAK   one push in so many breaks its connection off, and somewhat more end it with GOAWAY (50000)
#   BENCH_PARTS        which parts to run: "throughput rtt80 aioapns soak" (all)

BENCH_PUSHES=${BENCH_PUSHES:-300000} BENCH_SOAK=${BENCH_SOAK:-1000000} BENCH_SOAK_BREAK=${BENCH_SOAK_BREAK:-50000}
parts=${BENCH_PARTS:-throughput rtt80 aioapns soak}
command -v h2load >/dev/null && command -v nghttpd >/dev/null || die "install nghttp2-client and nghttp2-server"

build_for_bench push-simulator Bench
make_stack_keys
say_machine push
figures="$workspace/figures"
: >"$figures"

# Device tokens, and for nghttpd an empty file for each, so that it answers 200 as Apple does.
documents="$workspace/documents"
mkdir -p "$documents/3/device"
python3 - "$workspace/tokens" "$documents/3/device" <<'PYTHON'
import hashlib, sys
tokens = [hashlib.sha256(f"device {number}".encode()).hexdigest() for number in range(10_000)]
with open(sys.argv[1], "w") as file:
    file.write("\n".join(tokens) + "\n")
for token in tokens:
    open(f"{sys.argv[2]}/{token}", "w").close()
PYTHON

export BENCH_KEY_FILE="$workspace/keys/apns.p8" BENCH_KEY_ID="$APNS_KEY_ID" BENCH_TEAM_ID="$APNS_TEAM_ID"
export BENCH_TOKENS="$workspace/tokens" BENCH_PORT BENCH_CA_FILE BENCH_COUNT

# control METHOD PATH [BODY]: talks to the simulator's control interface.
control() {
    curl -fsS -X "$1" -H 'content-type: application/json' ${3:+-d "$3"} "$SIMULATOR_CONTROL_URL$2"
}

# fresh_simulator: one without memory of earlier parts. It keeps no pushes, only counts.
fresh_simulator() {
    if [ -n "${simulator_pid:-}" ]; then stop_child "$simulator_pid"; fi
    rm -f "$workspace/simulator.json"
    SIMULATOR_RECORD_LIMIT=0 start_simulator
    simulator_pid=$child BENCH_PORT=$SIMULATOR_PORT BENCH_CA_FILE="$workspace/keys/simulator-cert.pem"
}

measure_throughput() {
    local port streams best run rate options
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1 \
        -addext subjectAltName=IP:127.0.0.1 -keyout "$workspace/keys/nghttpd.pem" -out "$workspace/keys/nghttpd-cert.pem" \
        2>/dev/null
    port=$(random_port)
    step "nghttpd -a 127.0.0.1 -m 1000 -d DOCUMENTS $port KEY CERTIFICATE (10,000 empty files, one for each token)"
    start_child "$workspace/logs/nghttpd.log" nghttpd -a 127.0.0.1 -m 1000 -d "$documents" "$port" \
        "$workspace/keys/nghttpd.pem" "$workspace/keys/nghttpd-cert.pem"
    wait_for 20 "$child" curl -fsSk --http2 "https://127.0.0.1:$port/3/device/$(head -1 "$BENCH_TOKENS")" ||
        die "nghttpd did not start"
    BENCH_PORT=$port BENCH_CA_FILE="$workspace/keys/nghttpd-cert.pem" BENCH_COUNT=$BENCH_PUSHES
    # As long as the transport's own: 287 bytes of body, and the headers of a push.
    head -c 287 /dev/zero | tr '\0' x >"$workspace/body"
    sed "s|^|https://127.0.0.1:$port/3/device/|" "$BENCH_TOKENS" >"$workspace/uris"
    options=(-d "$workspace/body" -i "$workspace/uris" -H "authorization: bearer $(random_text 150)"
        -H 'apns-topic: com.example.impulse' -H 'apns-push-type: alert' -H 'apns-priority: 5'
        -H 'apns-expiration: 1900000000' -H 'content-type: application/json'
        -H 'apns-id: 01920000-0000-7000-8000-000000000000' -H 'apns-collapse-id: 01920000-0000-7000-8000-000000000000')
    for streams in 100 1000; do
        step "h2load -n $BENCH_PUSHES -c 1 -m $streams -d BODY -i URIS -H (8 headers of a push), the best of three"
        best=0
        for run in 1 2 3; do
            rate=$(h2load -n "$BENCH_PUSHES" -c 1 -m "$streams" "${options[@]}" |
                sed -n 's/^finished in .*, \([0-9]*\)\.[0-9]* req.*/\1/p')
            say "run $run: $rate/s"
            if [ "${rate:-0}" -gt "$best" ]; then best=$rate; fi
        done
        echo "h2load_req_per_s_$streams $best 1/s" >>"$figures"
    done
    step "the transport: $BENCH_PUSHES pushes, one connection, 100 and 1,000 in flight, the best of three"
    run_child "$binaries/Bench" push throughput >>"$figures"
    stop_child "$child"
}

measure_rtt80() {
    step "the transport against the simulator, each answer after 80 ms, 1,000 streams"
    fresh_simulator
    control POST /faults '{"action":"accept","delayMs":80}' >/dev/null
    BENCH_COUNT=$((BENCH_PUSHES / 3)) run_child "$binaries/Bench" push rtt80 >>"$figures"
}

measure_aioapns() {
    local peers
    peers=$(scripts/peers | tail -1)
    step "aioapns 4.0: one connection, 100 tasks at once, against the simulator answering at once"
    fresh_simulator
    run_child "$peers/aioapns-4.0/bin/python" scripts/bench.d/push_aioapns.py "$SIMULATOR_PORT" "$BENCH_CA_FILE" \
        "$BENCH_KEY_FILE" "$BENCH_KEY_ID" "$BENCH_TEAM_ID" "$APNS_TOPIC" 20000 >>"$figures"
}

measure_soak() {
    local drops ends counts accepted duplicates
    step "soak: $BENCH_SOAK pushes; one in $BENCH_SOAK_BREAK breaks its connection off, one in three quarters of that ends it with GOAWAY"
    fresh_simulator
    # Another rhythm for each, so that they do not meet on the same connection.
    drops=$(awk "BEGIN {print 1 / $BENCH_SOAK_BREAK}") ends=$(awk "BEGIN {print 4 / 3 / $BENCH_SOAK_BREAK}")
    control POST /faults '[{"action":"drop","fraction":'"$drops"'},{"action":"goaway","reason":"Shutdown","fraction":'"$ends"'}]' \
        >/dev/null
    BENCH_COUNT=$BENCH_SOAK run_child "$binaries/Bench" push soak >"$workspace/soak"
    counts=$(control GET /stats)
    say "the simulator: $counts"
    accepted=$(jq .accepted <<<"$counts") duplicates=$(jq .duplicates <<<"$counts")
    grep '^soak_rss' "$workspace/soak" >>"$figures"
    # Every push under its id at least once, and more often only where nobody could know.
    echo "soak_lost $((BENCH_SOAK - accepted + duplicates)) pushes" >>"$figures"
    awk -v duplicates="$duplicates" '/^soak_repeated/ {
        more = duplicates - $2
        if (more < 0) more = 0
        print "soak_unexplained_duplicates", more, "pushes"
    }' "$workspace/soak" >>"$figures"
}

for part in $parts; do "measure_$part"; done
echo figures:
cat "$figures"
