import Observability
import PostgresClient
import ServiceRuntime
import Store

extension Command {
    /// Does what the command says.
    func run(environment: [String: String]) async throws {
        switch self {
        case .help: Terminal.say(Self.usage)
        case .migrate:
            try await withDatabase(environment) { pool in
                let applied = try await Migrator(pool: pool).migrate()
                Terminal.say(
                    applied.isEmpty ? "the schema is up to date" : "applied: \(applied.joined(separator: ", "))"
                )
            }
        case .maintain: try await maintain(environment)
        case .explain(let subject, let limit):
            try await withDatabase(environment) { pool in
                Terminal.say(try await Explanation(pool: pool).text(subject: subject, limit: limit))
            }
        case .capsRebuild:
            try await withDatabase(environment) { pool in
                let report = try await CapsRebuild.run(pool: pool, environment: environment)
                Terminal.say("messages that hold a slot: \(report.holders)\nslots taken: \(report.taken)")
            }
        case .queue(let command): try await command.run(environment: environment)
        case .configCheck(let service): try ConfigCheck(service: service).run(environment: environment)
        }
    }

    private func maintain(_ environment: [String: String]) async throws {
        let reader = ConfigReader(environment: environment)
        let messages = reader.int("MESSAGE_RETENTION_MONTHS", default: 13, in: 1...120)
        let events = reader.int("EVENT_RETENTION_MONTHS", default: 6, in: 1...120)
        let appStore = reader.int("APP_STORE_RETENTION_MONTHS", default: 13, in: 1...120)
        try reader.finish()
        let retention = Maintenance.Retention(messageMonths: messages, eventMonths: events, appStoreMonths: appStore)
        try await withDatabase(environment) { pool in
            let report = try await Maintenance(pool: pool, retention: retention).run()
            Terminal.say(
                """
                partitions made: \(report.partitionsMade)
                partitions dropped: \(report.partitionsDropped.isEmpty ? "none" : report.partitionsDropped.joined(separator: ", "))
                anonymous devices removed: \(report.anonymousDevicesRemoved)
                idempotency keys removed: \(report.idempotencyKeysRemoved)
                cancellations removed: \(report.cancellationsRemoved)
                schedules removed: \(report.schedulesRemoved)
                live-activity sessions removed: \(report.liveActivitySessionsRemoved)
                old reminder weeks removed: \(report.reminderWeeksRemoved)
                App Store notifications removed: \(report.appStoreNotificationsRemoved)
                subscription links removed: \(report.subscriptionLinksRemoved)
                """
            )
        }
    }

    private func withDatabase(
        _ environment: [String: String],
        _ body: (PostgresPool) async throws -> Void
    ) async throws {
        let reader = ConfigReader(environment: environment)
        let url = reader.required(
            "DATABASE_URL",
            "Set the URL of the database, such as postgresql://varsel@127.0.0.1/varsel."
        ) {
            try PostgresURL(parsing: $0)
        }
        try reader.finish()
        var options = PostgresPool.Options()
        options.size = 1
        options.applicationName = "varselctl"
        options.statementTimeout = .seconds(60)
        let telemetry = Telemetry(logger: Logger(service: "varselctl", level: .error))
        let pool = PostgresPool(url: try url.value, options: options, telemetry: telemetry)
        do {
            try await body(pool)
        } catch {
            await pool.close()
            throw error
        }
        await pool.close()
    }
}
