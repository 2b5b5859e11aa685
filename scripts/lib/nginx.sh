# shellcheck shell=bash disable=SC2154
# The nginx configuration of deploy/, set up to run from a temporary folder. Needs common.sh.

# make_nginx_configuration FOLDER PORT UPSTREAM...: writes FOLDER/nginx.conf, with TLS on 127.0.0.1:PORT under a certificate of its
# own, in front of the gateways at the addresses (host:port).
make_nginx_configuration() {
    local folder=$1 port=$2 address upstreams=""
    shift 2
    for address in "$@"; do upstreams+="    server $address max_fails=0;"$'\n'; done
    mkdir -p "$folder/temporary"
    # nginx started by root works as another user.
    chmod 777 "$folder" "$folder/temporary"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1 \
        -addext subjectAltName=IP:127.0.0.1 -keyout "$folder/key.pem" -out "$folder/cert.pem" 2>/dev/null
    awk -v upstreams="$upstreams" '
        /^ *server 127\.0\.0\.1:/ { if (!written) printf "%s", upstreams; written = 1; next }
        { print }
    ' "$repository/deploy/nginx/varsel.conf" | sed \
        -e "s|listen 443 |listen 127.0.0.1:$port |" -e '/listen \[::\]/d' -e 's|server_name .*|server_name _;|' \
        -e "s|/etc/letsencrypt/live/[^/]*/fullchain.pem|$folder/cert.pem|" \
        -e "s|/etc/letsencrypt/live/[^/]*/privkey.pem|$folder/key.pem|" \
        -e "s|/var/log/nginx/|$folder/|" >"$folder/varsel.conf"
    {
        printf 'pid %s/nginx.pid;\nerror_log %s/error.log;\nworker_processes 2;\n' "$folder" "$folder"
        printf 'events { worker_connections 1024; }\nhttp {\n'
        local kind
        for kind in client_body proxy fastcgi uwsgi scgi; do printf '%s_temp_path %s/temporary/%s;\n' "$kind" "$folder" "$kind"; done
        printf 'include %s/varsel.conf;\n}\n' "$folder"
    } >"$folder/nginx.conf"
}
