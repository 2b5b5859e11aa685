import HTTPServer
import Kernel
import Notifications

/// Calling back and moving a notification that was handed in with a time ahead (G10).
///
/// What a worker has taken up stays as it is. A notification that is moved gets a new id, because the id carries the moment it
/// is due: the inbox is ordered by it and partitions prune by it. The old ids keep leading here.
struct ScheduleRoutes: Sendable {
    private static let path = "/api/v1/notifications/{messageId}/schedule"
    /// Jobs are made with other clocks than this one, and a repeated request may enqueue an old id again within a day.
    private static let grace = Duration.seconds(2 * 86_400)
    /// More moves of one notification are refused.
    private static let mostMoves = 100

    let book: any ScheduleBook
    let door: any NotificationDoor
    let clock: any WallClock
    let ids: MessageIDGenerator

    var endpoints: [Endpoint] {
        [
            .service(
                .delete,
                Self.path,
                scope: .notificationsCancel,
                summary: "Call back a scheduled notification"
            ) { request, credential in
                try await cancel(try await scheduled(request, credential), credential)
                return .noContent
            }
            .described(.cancelSchedule),
            .service(
                .patch,
                Self.path,
                scope: .notificationsCancel,
                summary: "Move a scheduled notification to another time"
            ) { request, credential in
                let due = try due(request)
                return try await move(try await scheduled(request, credential), credential, to: due)
            }
            .described(.moveSchedule),
        ]
    }

    /// What the path names, as the credential may see it.
    private func scheduled(_ request: HTTPRequest, _ credential: ServiceCredential) async throws
        -> ScheduledNotification
    {
        guard let id = request.parameters["messageId"].flatMap({ MessageID($0.lowercased()) }),
            let found = try await book.schedule(of: id, credential: credential.id)
        else { throw Problem.noSuchNotification }
        return found
    }

    private func due(_ request: HTTPRequest) throws(Problem) -> Timestamp {
        var body = try BodyReader(request)
        let moment = body.moment("scheduledFor")
        if moment == nil && body.faults.isEmpty { body.report("scheduledFor", "is missing") }
        if let moment, moment > clock.now + NotificationLimits.horizon {
            body.report(
                "scheduledFor",
                "must lie within \(NotificationLimits.horizon.components.seconds / 86_400) days"
            )
        }
        try body.finish()
        return max(moment ?? clock.now, clock.now)
    }

    /// Takes the job out of the queue and leaves word at gate 0, for a job that comes back with an older copy of Redis.
    private func cancel(_ found: ScheduledNotification, _ credential: ServiceCredential) async throws {
        if found.isCancelled { return }
        let taken = try await door.takeBack(found.ids)
        if taken == .missing, let moved = try await moved(found, credential) {
            return try await cancel(moved, credential)
        }
        switch taken {
        case .active: throw Problem.alreadyDelivering
        case .done: break
        case .missing, .waitingAgain:
            // Nothing is there that could be taken out. What was put off without being written ends at gate 0; a job that is
            // gone either ran, or was taken out by a request that got no further.
            if try await book.hasBegun(found.ids) { throw Problem.alreadyDelivering }
        }
        // Of what waits to be run again the engine tells itself.
        let event =
            taken == .waitingAgain ? nil : event(found, id: found.ids.first, reason: "cancelled", movedTo: nil)
        try await book.callBack(
            found.ids,
            before: clock.now + Self.grace,
            reason: "cancelled",
            isFinal: true,
            event: event
        )
    }

    /// The notification under the ids that it has now, `nil` when nobody moved it since it was read. Its job may be gone from under
    /// the ids that were known because another request gave it a new one.
    private func moved(_ found: ScheduledNotification, _ credential: ServiceCredential) async throws
        -> ScheduledNotification?
    {
        guard let id = found.ids.last, let now = try await book.schedule(of: id, credential: credential.id),
            now.ids.count > found.ids.count
        else { return nil }
        return now
    }

    private func move(
        _ found: ScheduledNotification,
        _ credential: ServiceCredential,
        to due: Timestamp
    ) async throws -> HTTPResponse {
        guard !found.isCancelled, let current = found.ids.first else { throw Problem.alreadyCancelled }
        guard found.ids.count <= Self.mostMoves else { throw Problem.movedTooOften(Self.mostMoves) }
        let newID = ids.next(due: due)
        // First remembered, then moved: a crash in between leaves an id without a job, never a job that nobody can find.
        guard try await book.addMove(of: current, to: newID, due: due) else { throw Problem.alreadyCancelled }
        let old = try await rename(found, credential, to: newID, due: due)
        try await book.callBack(
            [old],
            before: clock.now + Self.grace,
            reason: "moved",
            isFinal: false,
            event: event(found, id: old, reason: "moved", movedTo: newID)
        )
        return .data([
            "messageId": .string(newID.description), "jobId": .string(newID.description),
            "scheduledFor": .string(due.rfc3339),
        ])
    }

    /// Gives the job its new id, under whichever of the others it is found.
    /// - Returns: the id that it had.
    private func rename(
        _ found: ScheduledNotification,
        _ credential: ServiceCredential,
        to newID: MessageID,
        due: Timestamp
    ) async throws -> MessageID {
        var known = found
        while true {
            let outcome = try await door.move(known.ids, to: newID, due: due)
            if case .done(let old) = outcome { return old }
            guard outcome == .missing, var moved = try await moved(known, credential) else {
                throw Problem.alreadyDelivering
            }
            moved.ids.removeAll { $0 == newID }
            guard moved.ids.count > known.ids.count else { throw Problem.alreadyDelivering }
            known = moved
        }
    }

    private func event(_ found: ScheduledNotification, id: MessageID?, reason: String, movedTo newID: MessageID?)
        -> DeliveryEvent?
    {
        guard let id else { return nil }
        return DeliveryEvent(
            kind: .cancelled,
            messageID: id,
            userID: found.userID,
            category: found.category,
            jobID: id.description,
            attemptsStarted: 0,
            attempt: 0,
            at: clock.now,
            reason: reason,
            detail: newID.map { ["movedTo": .string($0.description)] }
        )
    }
}

extension Problem {
    static let alreadyDelivering = Problem(
        status: 409,
        slug: "already-delivering",
        title: "Conflict",
        detail: "The notification is being delivered or has ended."
    )

    static let alreadyCancelled = Problem(
        status: 409,
        slug: "already-cancelled",
        title: "Conflict",
        detail: "The notification was called back."
    )

    static func movedTooOften(_ limit: Int) -> Problem {
        Problem(
            status: 409,
            slug: "moved-too-often",
            title: "Conflict",
            detail: "A notification can be moved \(limit) times. Call it back and hand in a new one."
        )
    }
}
