/// The environment variables of all Varsel processes. `docs/configuration.md` explains each one; a test holds the two together.
package enum VariableNames {
    /// What our variables begin with: a variable of this kind that is not in `all` is probably misspelt.
    package static let prefixes = [
        "APNS_", "APPSTORE_", "APP_NAME", "CAMPAIGN_", "CAPS_", "DATABASE_", "DEV_API_", "FCM_", "GATEWAY_",
        "GLOBAL_WEEKLY_",
        "JWT_",
        "JWKS_", "LIFECYCLE_", "MESSAGE_RETENTION_", "METRICS_", "PUSH_BADGE", "QUEUE_", "REDIS_", "SERVICE_CRED",
        "SIMULATOR_", "STOP_DEAD", "TRUSTED_PROX",
        "WORKER_",
    ]

    package static let all: Set<String> = [
        // Every process
        "LOG_LEVEL", "STOP_DEADLINE", "METRICS_LISTEN", "METRICS_TEXTFILE",
        // Servers
        "DATABASE_URL", "DATABASE_PREPARE", "REDIS_URL", "CAPS_REDIS_URL", "QUEUE_PREFIX", "QUEUE_NAME",
        // Push
        "APNS_KEY_FILE", "APNS_KEY_ID", "APNS_TEAM_ID", "APNS_TOPIC", "APNS_ENVIRONMENT", "APNS_HOST", "APNS_PORT",
        "APNS_CA_FILE", "APNS_CERT_FILE", "APNS_CERT_PASSWORD", "APNS_CONNECTIONS", "APNS_PACE", "APNS_SHARE_TOKEN",
        "FCM_CREDENTIALS_FILE", "FCM_TOKEN_COMMAND", "FCM_PROJECT_ID", "FCM_HOST", "FCM_PORT", "FCM_CA_FILE",
        "FCM_MESSAGES_PER_MINUTE",
        // Rules
        "APP_NAME", "GLOBAL_WEEKLY_CAP", "DEEPLINK_SCHEMES", "ACCEPT_LITERAL_JOBS", "PUSH_BADGE",
        // Gateway
        "GATEWAY_LISTEN", "GATEWAY_DATABASE_CONNECTIONS", "GATEWAY_REGISTRATIONS_PER_MINUTE", "GATEWAY_ACCESS_LOG",
        "JWT_PUBLIC_KEY_FILE", "JWT_JWKS_URL", "JWKS_ALLOW_PRIVATE", "JWKS_CA_FILE", "JWT_HS256_SECRET", "JWT_ISSUER",
        "JWT_AUDIENCE", "JWT_LEEWAY", "JWT_TYPE",
        "SERVICE_CREDENTIALS_FILE", "DEV_API_TOKEN", "TRUSTED_PROXIES",
        // App Store
        "APPSTORE_ROOT_CA_FILE", "APPSTORE_BUNDLE_ID", "APPSTORE_APP_ID", "APPSTORE_OCSP", "OCSP_HOSTS",
        "APPSTORE_KEY_FILE", "APPSTORE_KEY_ID", "APPSTORE_ISSUER_ID", "APPSTORE_API_URL", "PRODUCT_TIERS_FILE",
        "LIFECYCLE_SWEEP_INTERVAL",
        // Producers
        "DEFAULT_TIMEZONE",
        // Worker
        "MAX_IN_FLIGHT", "QUEUE_LOCK_DURATION", "WORKER_NAME",
        // Campaigns
        "CAMPAIGN_HIGH_WATER",
        // Maintenance
        "MESSAGE_RETENTION_MONTHS", "EVENT_RETENTION_MONTHS", "APP_STORE_RETENTION_MONTHS",
        // Simulator
        "SIMULATOR_LISTEN", "SIMULATOR_CONTROL_LISTEN", "SIMULATOR_CERT_FILE", "SIMULATOR_KEY_FILE",
        "SIMULATOR_PORT_FILE", "SIMULATOR_RECORD_LIMIT", "SIMULATOR_FCM_PORT", "APNS_PUBLIC_KEY_FILE",
    ]
}
