package import JobQueue
package import Kernel
package import Notifications

extension NotificationBus {
    /// Takes a notification out of the queue that no worker has taken up.
    /// - Parameter ids: the ids that it may have, at most 500.
    package func takeBack(_ ids: [MessageID]) async throws(JobQueueError) -> TakingBack {
        try await queue.takeBack(ids.map(\.description))
    }

    /// Gives a notification that no worker has taken up another id and due time, in one step. What cancels by the time of
    /// creation still reaches it, because that stays.
    package func move(
        _ ids: [MessageID],
        to newID: MessageID,
        due: Timestamp
    ) async throws(JobQueueError) -> TakingBack {
        try await queue.move(ids.map(\.description), to: newID.description, due: due)
    }
}
