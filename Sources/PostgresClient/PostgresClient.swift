// PostgresClient: see docs/modules.md
