# shellcheck shell=bash
# What the producers cost, each part beside the bare SQL of the same work. Sourced by scripts/bench.
#   BENCH_PARTS  the parts to run, files producers-*.sh in this folder (all)

parts=${BENCH_PARTS:-$(cd scripts/bench.d && ls -- producers-*.sh | sed 's/^producers-//; s/\.sh$//')}
producer_figures=()

# figure NAME VALUE UNIT: a figure of a part, printed at the end.
figure() { producer_figures+=("$1 $2 $3"); }

say_machine producers
whole_workspace=$workspace
on_clean_up() { workspace=$whole_workspace; }
for part in $parts; do
    step "producers: $part"
    # Servers of its own, which end with it.
    workspace=$whole_workspace/$part
    mkdir -p "$workspace/logs"
    # shellcheck source=/dev/null
    . "scripts/bench.d/producers-$part.sh"
    while [ ${#children[@]} -gt 0 ]; do
        stop_child "${children[-1]}"
        unset 'children[-1]'
    done
    workspace=$whole_workspace
done
echo "figures:"
printf '%s\n' "${producer_figures[@]}"
