package import DeliveryEngine
import Kernel
import NotificationContract
import Notifications
package import Observability
package import Store

/// The engine's recording port over the store.
package struct OutcomeAdapter: OutcomeRecording {
    private let store: OutcomeStore
    private let telemetry: Telemetry
    private let refusals: Counter

    package init(store: OutcomeStore, telemetry: Telemetry) {
        self.store = store
        self.telemetry = telemetry
        refusals = telemetry.metrics.counter(
            "delivery_records_refused_total",
            help: "Outcomes that the database refused for their contents"
        )
    }

    package func record(_ records: [DeliveryRecord], isRepeat: Bool) async throws {
        let refused = try await store.record(
            records.map { record in
                OutcomeStore.Record(
                    messageID: record.messageID,
                    userID: record.userID,
                    category: record.category?.rawValue,
                    status: record.status,
                    reason: record.reason,
                    deliveries: record.deliveries,
                    acceptedAt: record.acceptedAt,
                    clearsWeek: record.clearsWeek,
                    events: record.events
                )
            },
            isRepeat: isRepeat
        )
        for (messageID, sqlState) in refused {
            refusals.increment()
            telemetry.logger.error(
                "an outcome was refused by the database",
                ["message_id": .string(messageID.description), "sqlstate": .string(sqlState)]
            )
        }
    }
}
