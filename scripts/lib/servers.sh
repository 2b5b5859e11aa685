# shellcheck shell=bash disable=SC2034,SC2154
# Private Redis and PostgreSQL servers in the temporary folder. Needs common.sh.

# start_redis: starts Redis and sets REDIS_PORT. Settings as in production: nothing is evicted, every write is logged to disk.
start_redis() {
    local try
    for try in 1 2 3; do
        REDIS_PORT=$(random_port)
        mkdir -p "$workspace/redis"
        start_child "$workspace/logs/redis.log" redis-server --port "$REDIS_PORT" --bind 127.0.0.1 \
            --dir "$workspace/redis" --save '' --appendonly yes --appendfsync everysec --maxmemory-policy noeviction
        if wait_for 10 "$child" redis_answers; then return; fi
    done
    show_log redis
    die "Redis did not start"
}

redis_answers() { [ "$(redis-cli -h 127.0.0.1 -p "$REDIS_PORT" ping 2>/dev/null)" = PONG ]; }

# start_postgres: starts PostgreSQL and sets POSTGRES_PORT. Its superuser is `varsel`, from 127.0.0.1 without a password.
start_postgres() {
    local binaries try data="$workspace/postgres" run=()
    binaries=$(postgres_binaries)
    if [ "$(id -u)" = 0 ]; then
        # PostgreSQL refuses to run as root.
        run=(setpriv --reuid=postgres --regid=postgres --init-groups --)
        install -d -o postgres -g postgres -m 700 "$data"
    else
        install -d -m 700 "$data"
    fi
    (cd / && "${run[@]}" "$binaries/initdb" --pgdata="$data" --username=varsel --auth=trust --encoding=UTF8 \
        --locale=C.UTF-8 --no-sync) >"$workspace/logs/initdb.log" 2>&1 || {
        show_log initdb
        die "initdb failed"
    }
    for try in 1 2 3; do
        POSTGRES_PORT=$(random_port)
        start_child "$workspace/logs/postgres.log" "${run[@]}" "$binaries/postgres" -D "$data" -p "$POSTGRES_PORT" \
            -c listen_addresses=127.0.0.1 -c unix_socket_directories="$data" -c max_connections=200
        if wait_for 30 "$child" postgres_answers "$binaries"; then return; fi
    done
    show_log postgres
    die "PostgreSQL did not start"
}

postgres_answers() { "$1/pg_isready" -q -h 127.0.0.1 -p "$POSTGRES_PORT" -U varsel -d postgres; }

# postgres_binaries: the folder of PostgreSQL's programs, version 15 or newer.
postgres_binaries() {
    local folder
    for folder in /usr/lib/postgresql/15/bin $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV); do
        if [ -x "$folder/initdb" ]; then
            echo "$folder"
            return
        fi
    done
    die "PostgreSQL is not installed; run scripts/setup"
}

# show_log NAME [LINES]: the end of a log in the temporary folder.
show_log() {
    local log="$workspace/logs/$1.log"
    [ -s "$log" ] || return 0
    say "--- the end of $1.log"
    tail -n "${2:-20}" "$log" >&2
    say "---"
}
