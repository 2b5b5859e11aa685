# shellcheck shell=bash
# What the producers cost, each part beside the bare SQL of the same work. Sourced by scripts/bench.
#   BENCH_PARTS  the parts to run, files producers-*.sh in this folder (all)

parts=${BENCH_PARTS:-$(cd scripts/bench.d && ls -- producers-*.sh | sed 's/^producers-//; s/\.sh$//')}
producer_figures=()

# figure NAME VALUE UNIT: a figure of a part, printed at the end.
figure() { producer_figures+=("$1 $2 $3"); }

say_machine producers
for part in $parts; do
    step "producers: $part"
    # shellcheck source=/dev/null
    . "scripts/bench.d/producers-$part.sh"
done
echo "figures:"
printf '%s\n' "${producer_figures[@]}"
