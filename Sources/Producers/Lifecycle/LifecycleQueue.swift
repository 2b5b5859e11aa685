package import JobQueue
import Kernel
package import Store

/// The queue that carries what stands in the outbox to the lifecycle producer.
package struct LifecycleQueue: Sendable {
    package static let name = "app-store-events"
    static let notificationJob = "notification"
    static let linkJob = "link"

    package let queue: JobQueue

    package init(queue: JobQueue) {
        self.queue = queue
    }

    /// Puts references on the queue. What is there already is not put there twice.
    package func add(_ waiting: [AppStoreOutbox.Waiting]) async throws(JobQueueError) {
        guard !waiting.isEmpty else { return }
        _ = try await queue.addBulk(waiting.map(Self.job))
    }

    private static func job(_ waiting: AppStoreOutbox.Waiting) -> NewJob {
        // A settled job leaves: a row that is not settled can always be put on the queue again.
        let options = { (id: String) in
            JobOptions(
                jobID: id,
                attempts: 5,
                backoff: .exponential(.seconds(1)),
                removeOnComplete: .removeAtOnce,
                removeOnFail: .keep(count: 1000, age: .seconds(86_400))
            )
        }
        switch waiting {
        case .notification(let environment, let uuid):
            let data: JSONValue = [
                "notificationUUID": .string(uuid.description), "environment": .string(environment),
            ]
            return NewJob(name: notificationJob, data: data.text, options: options("asn-\(environment)-\(uuid)"))
        case .link(let environment, let id, let user):
            let data: JSONValue = [
                "originalTransactionId": .string(id), "userId": .string(user), "environment": .string(environment),
            ]
            // User ids hold colons, which job ids must not.
            let name = Hex.encode(Array("\(id)\u{0}\(user)".utf8))
            return NewJob(name: linkJob, data: data.text, options: options("link-\(environment)-\(name)"))
        }
    }
}
