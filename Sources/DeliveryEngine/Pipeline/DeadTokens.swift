import Kernel
import NotificationContract
import Notifications
import Observability

/// Takes the tokens out of use that a group's pushes found dead, a few at a time.
struct DeadTokens: Sendable {
    /// Each takes several round trips; so many run side by side.
    private static let width = 4

    let tokens: any TokenInvalidating
    let telemetry: Telemetry
    let failures: Counter

    /// Adds what came of it to the conclusions' events.
    ///
    /// After the first failure the rest is left alone: a token that stays is reported dead again by its next push, and a store
    /// that is away must not hold up the group once for each of them.
    func putAway(in batch: [Conclusion]) async -> [Conclusion] {
        let work = batch.indices.flatMap { index in batch[index].invalidations.map { (index, $0) } }
        guard !work.isEmpty else { return batch }
        var batch = batch
        await withTaskGroup(of: (Int, TokenInvalidation, InvalidationResult?).self) { group in
            var next = 0
            var hasFailed = false
            func startOne() {
                guard next < work.count, !hasFailed else { return }
                let (index, token) = work[next]
                next += 1
                group.addTask { (index, token, await invalidate(token)) }
            }
            for _ in 0..<Self.width { startOne() }
            for await (index, token, result) in group {
                guard let result else {
                    hasFailed = true
                    continue
                }
                batch[index].record.events += Self.events(token, result, of: batch[index])
                startOne()
            }
        }
        return batch
    }

    private func invalidate(_ token: TokenInvalidation) async -> InvalidationResult? {
        do {
            return try await tokens.invalidate(token)
        } catch {
            failures.increment()
            telemetry.logger.warning("invalidating a token failed", ["error": .error(error)])
            return nil
        }
    }

    private static func events(
        _ token: TokenInvalidation,
        _ result: InvalidationResult,
        of conclusion: Conclusion
    ) -> [DeliveryEvent] {
        var kinds: [DeliveryEvent.Kind] = []
        if result.tokenRemoved { kinds.append(.tokenInvalidated) }
        if result.permissionRevoked { kinds.append(.permissionRevoked) }
        return kinds.map { kind in
            DeliveryEvent(
                kind: kind,
                messageID: conclusion.record.messageID,
                userID: conclusion.record.userID,
                category: conclusion.record.category?.rawValue,
                jobID: conclusion.job.id,
                attemptsStarted: conclusion.job.attemptsStarted,
                attempt: 0,
                at: conclusion.at,
                reason: token.reason,
                device: "\(token.deviceRowID):\(token.token.prefix(8))…"
            )
        }
    }
}
