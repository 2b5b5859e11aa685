# shellcheck shell=bash disable=SC2154
# The whole delivery chain on this machine: one worker, Redis, PostgreSQL and the simulator. Sourced by scripts/bench.
#   BENCH_USERS          users in the database (1000000)
#   BENCH_NOTIFICATIONS  notifications delivered (300000)

build_for_bench delivery-worker push-simulator varselctl Bench

step "starting Redis (appendonly yes, everysec), PostgreSQL (fsync, synchronous_commit on) and the simulator"
make_stack_keys
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

say_machine engine
say "$("$(postgres_binaries)/postgres" --version)"
say "load: ${BENCH_USERS:-1000000} users with 1.2 devices each, ${BENCH_NOTIFICATIONS:-300000} notifications, one worker"
# shellcheck disable=SC1091
. "$workspace/settings"
export BENCH_USERS=${BENCH_USERS:-1000000} BENCH_NOTIFICATIONS=${BENCH_NOTIFICATIONS:-300000}
export BENCH_WORKER="$binaries/delivery-worker"
export BENCH_REDIS_PID=$redis_pid BENCH_POSTGRES_PID=$postgres_pid BENCH_SIMULATOR_PID=$simulator_pid LOG_LEVEL=warning
run_child "$binaries/Bench" engine
