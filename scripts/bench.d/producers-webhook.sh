# shellcheck shell=bash disable=SC2154
# How fast App Store notifications are verified, on one core: with the chain known, and with a new chain each. Sourced by
# producers.sh.
#   BENCH_SECONDS  how long each of the two is measured (5)

build_for_bench Bench
BENCH_SECONDS=${BENCH_SECONDS:-5} run_child taskset -c 0 "$binaries/Bench" webhook >"$workspace/webhook.figures"
while read -r name value unit; do figure "$name" "$value" "$unit"; done <"$workspace/webhook.figures"
