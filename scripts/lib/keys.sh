# shellcheck shell=bash disable=SC2034,SC2154
# Keys and tokens for a development stack, made with openssl. Needs common.sh.

base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

# random_text BYTES: random bytes as base64url.
random_text() { openssl rand "$1" | base64url; }

# make_p256_key FILE: a private key on P-256 in PKCS#8, the form of Apple's .p8 files.
make_p256_key() {
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null
    chmod 600 "$1"
}

# make_service_account FILE PROJECT: a service account as Google hands it out; `token_uri` is set once the simulator runs.
make_service_account() {
    openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$1.key" 2>/dev/null
    jq -n --arg project "$2" --rawfile key "$1.key" '{type: "service_account", project_id: $project,
        private_key_id: "devkey01", private_key: $key, client_email: "push@\($project).iam.gserviceaccount.com",
        token_uri: "https://oauth2.googleapis.com/token"}' >"$1"
    rm "$1.key"
    chmod 600 "$1"
}

# make_access_token KEY USER SECONDS: a signed access token (JWT, ES256) as an app's sign-in service would issue it.
make_access_token() {
    local now signed r s
    now=$(date +%s)
    signed=$(printf '{"alg":"ES256","typ":"JWT"}' | base64url)
    signed+=.$(printf '{"iss":"%s","aud":"%s","sub":"%s","iat":%d,"exp":%d}' \
        "$JWT_ISSUER" "$JWT_AUDIENCE" "$2" "$now" "$((now + $3))" | base64url)
    # openssl writes the signature as DER; a JWT wants the two numbers, 32 bytes each.
    read -r r s < <(printf '%s' "$signed" | openssl dgst -sha256 -sign "$1" | openssl asn1parse -inform DER |
        awk -F: '/INTEGER/ {printf "%s ", $NF} END {print ""}')
    printf '%s.%s' "$signed" "$(hex_to_bytes "$(printf '%64s%64s' "$r" "$s" | tr ' ' 0)" | base64url)"
}

hex_to_bytes() { printf '%b' "$(sed 's/../\\x&/g' <<<"$1")"; }
