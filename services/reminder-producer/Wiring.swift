import DeliveryAdapters
import Glibc
import NotificationContract
import Notifications
import Producers
import ServiceRuntime
import Store

/// Joins the producer to its servers.
struct Wiring: Sendable {
    /// One that reads ahead, and one for each page that is written.
    private static let databaseConnections = 4

    private let platform: Platform
    private let store: ReminderStore
    private let producer: ReminderProducer

    init(_ config: ReminderConfig, service: Service) async throws {
        platform = try await Platform(
            settings: config.platform,
            processName: service.name,
            databaseConnections: Self.databaseConnections,
            hasLargeStatements: true,
            telemetry: service.telemetry
        )
        store = ReminderStore(pool: platform.pool)
        producer = ReminderProducer(
            store: store,
            bus: platform.bus,
            identity: platform.identity,
            category: try platform.registry.category(.reminder),
            telemetry: service.telemetry
        )
    }

    func run(until stop: StopSignal) async throws {
        _ = try await producer.run { stop.isRequested }
    }

    /// Prints what a run would do.
    func rehearse() async throws {
        let rehearsal = ReminderRehearsal(
            producer: producer,
            store: store,
            catalog: platform.settings.catalog,
            now: try await store.now()
        )
        try await rehearsal.tell { line in
            var rest = Array("\(line)\n".utf8)[...]
            while !rest.isEmpty {
                let written = rest.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
                guard written > 0 else { return }
                rest = rest.dropFirst(written)
            }
        }
    }

    func close() async {
        await platform.close()
    }
}
