import DeliveryAdapters
import Glibc
import Kernel
import NotificationContract
import Notifications
import Observability
import Producers
import ServiceRuntime
import Store

/// Joins the producer to its servers.
struct Wiring: Sendable {
    private let platform: Platform
    private let store: ReminderStore
    private let producer: ReminderProducer
    private let metricsFile: String?
    private let logger: Logger

    init(_ config: ReminderConfig, service: Service) async throws {
        platform = try await Platform(
            settings: config.platform,
            processName: service.name,
            databaseConnections: ReminderProducer.connections,
            hasLargeStatements: true,
            telemetry: service.telemetry
        )
        metricsFile = config.metricsFile
        logger = service.telemetry.logger
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
        let began = ContinuousClock.now
        do {
            tell(try await producer.run { stop.isRequested }, since: began)
        } catch {
            tell(nil, since: began)
            throw error
        }
    }

    /// Leaves the run's metrics. That they cannot be left is no reason to call the run failed.
    private func tell(_ report: ReminderReport?, since began: ContinuousClock.Instant) {
        guard let metricsFile else { return }
        let metrics = ReminderRunMetrics(report, endedAt: SystemWallClock().now, took: began.duration(to: .now))
        do {
            try MetricsTextfile.write(metrics.registry.render(), to: metricsFile)
        } catch {
            logger.warning("the run's metrics could not be left", ["error": .error(error)])
        }
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
