# shellcheck shell=bash disable=SC2154
# What an app embeds: planning after a move, and sun times beside PyPI astral. No servers. Sourced by scripts/bench.
#   BENCH_PLANS  plans that are timed (1000)

build_for_bench Bench
step "fetching the peer: PyPI astral 3.2 and ephem 4.2.1"
peers=$(scripts/peers | tail -1)
export BENCH_PLANS=${BENCH_PLANS:-1000} BENCH_PYTHON="$peers/astral-3.2+ephem-4.2.1/bin/python"
export BENCH_PEER="$repository/Tests/VarselKitTests/Peers/sun.py"
say_machine kit
say "comparator: $BENCH_PYTHON $BENCH_PEER < places-and-dates"
run_child "$binaries/Bench" kit
