# shellcheck shell=bash disable=SC2154
# The queue alone: jobs whose handlers do nothing, beside BullMQ's Python client on the same server. Sourced by scripts/bench.
#   BENCH_JOBS     jobs for the runs of ours (200000)
#   BENCH_BACKLOG  jobs that wait in the runs with a backlog (1000000)

build_for_bench Bench
step "fetching the peer: PyPI bullmq 3.4.4"
peers=$(scripts/peers | tail -1)

step "starting Redis: appendonly yes, appendfsync everysec, save '', noeviction"
start_redis
redis_pid=$child
export BENCH_JOBS=${BENCH_JOBS:-200000} BENCH_BACKLOG=${BENCH_BACKLOG:-1000000}
export BENCH_REDIS_PID=$redis_pid REDIS_URL="redis://127.0.0.1:$REDIS_PORT"
export BENCH_PYTHON="$peers/bullmq-3.4.4/bin/python" BENCH_PEER="$repository/scripts/bench.d/bullmq_peer.py"
say_machine queue
run_child "$binaries/Bench" queue
