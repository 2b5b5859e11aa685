import HTTPServer
import Kernel
import Notifications

/// The door for backends: one notification or many at a time (G10, B1).
struct EnqueueRoutes: Sendable {
    /// The largest bulk.
    static let bulkLimit = 1000
    private static let path = "/api/v1/notifications"

    let door: any NotificationDoor
    let schedules: any ScheduleBook
    let reader: OrderReader
    let clock: any WallClock
    let idempotency: IdempotentRequests
    /// A thousand notifications as values take some megabytes. Four at once were hardly faster than two, and the process grew to
    /// twice the size.
    let bulkTurnstile = Turnstile(places: 2)

    var endpoints: [Endpoint] {
        [
            .service(
                .post,
                Self.path,
                scope: .notificationsWrite,
                summary: "Enqueue one notification",
                limits: RouteLimits(bodyBytes: 64 * 1024)
            ) { request, credential in
                try await enqueue(request, credential, single)
            }
            .described(.enqueueOne),
            .service(
                .post,
                Self.path + "/bulk",
                scope: .notificationsWrite,
                summary: "Enqueue up to \(Self.bulkLimit) notifications, all or none",
                limits: RouteLimits(bodyBytes: 8 * 1024 * 1024)
            ) { request, credential in
                try await bulkTurnstile.pass { try await enqueue(request, credential, bulk) }
            }
            .described(.enqueueMany),
        ]
    }

    /// What a body asks for, and how the answer is put together.
    private struct Batch {
        let drafts: Result<[OrderDraft], Problem>
        let answer: @Sendable ([NotificationReceipt]) -> JSONValue
    }

    private func enqueue(
        _ request: HTTPRequest,
        _ credential: ServiceCredential,
        _ read: (JSONValue) -> Batch
    ) async throws -> HTTPResponse {
        let key = try IdempotencyKey(request.headers)
        let body = try request.json()
        let batch = read(body)
        if case .success(let drafts) = batch.drafts, !credential.scopes.contains(.notificationsLiteral),
            drafts.contains(where: \.isLiteral)
        {
            throw Problem.insufficientScope(.notificationsLiteral)
        }
        let dues = if case .success(let drafts) = batch.drafts { drafts.map(\.scheduledFor) } else { [Timestamp?]() }
        return try await idempotency.run(request, body, credential, key, dues: dues) { ids in
            let drafts = try batch.drafts.get()
            // A key whose first try was refused holds no ids. When that answer got lost and the request is acceptable by now,
            // nothing must be called accepted without an id: the key is freed and the caller told to come again with a new one.
            guard ids.count == drafts.count else { throw Problem.idempotencyIncomplete }
            let orders = zip(drafts, ids).map { $0.order($1) }
            let later = orders.filter { $0.scheduledFor.map { $0 > clock.now } ?? false }
            if !later.isEmpty { try await schedules.record(later, credential: credential.id) }
            let receipts = try await door.enqueue(orders)
            return .data(batch.answer(receipts), status: 202)
        }
    }

    private func single(_ body: JSONValue) -> Batch {
        Batch(drafts: Result { try reader.read(body) }.map { [$0] }.mapError(problem)) { receipts in
            receipts.first?.json ?? .null
        }
    }

    private func bulk(_ body: JSONValue) -> Batch {
        Batch(drafts: Result { try readAll(body) }.mapError(problem)) { receipts in
            ["notifications": .array(receipts.map(\.json))]
        }
    }

    private func readAll(_ body: JSONValue) throws -> [OrderDraft] {
        guard let entries = body["notifications"]?.arrayValue else {
            throw Problem.unacceptable([.init(pointer: "/notifications", detail: "must be an array of notifications")])
        }
        guard (1...Self.bulkLimit).contains(entries.count) else {
            let detail = "must hold 1 to \(Self.bulkLimit) notifications, not \(entries.count)"
            throw Problem.unacceptable([.init(pointer: "/notifications", detail: detail)])
        }
        var drafts: [OrderDraft] = []
        var problems: [FieldProblem] = []
        for (index, entry) in entries.enumerated() {
            do throws(FieldProblems) {
                drafts.append(try reader.read(entry, at: "/notifications/\(index)"))
            } catch {
                problems += error.problems
            }
        }
        guard problems.isEmpty else { throw FieldProblems(problems) }
        return drafts
    }

    private func problem(_ error: any Error) -> Problem {
        switch error {
        case let problem as Problem: problem
        case let fields as FieldProblems: Problem(fields.problems)
        default: .unacceptable([])
        }
    }
}

extension NotificationReceipt {
    var json: JSONValue {
        [
            "messageId": .string(messageID.description), "jobId": .string(jobID), "duplicate": .bool(isDuplicate),
        ]
    }
}
