import HTTPServer
import Kernel
import Notifications
import Producers

/// `notifyLifecycleEvent` for backends that keep subscriptions themselves (P7).
struct LifecycleRoutes: Sendable {
    let ports: LifecyclePorts
    let door: any NotificationDoor
    let idempotency: IdempotentRequests
    let clock: any WallClock

    var endpoints: [Endpoint] {
        [
            .service(
                .post,
                "/api/v1/lifecycle-events",
                scope: .lifecycleWrite,
                summary: "Tell a user about an event of a subscription"
            ) { request, credential in
                try await notify(request, credential)
            }
            .described(.lifecycleEvent)
        ]
    }

    private func notify(_ request: HTTPRequest, _ credential: ServiceCredential) async throws -> HTTPResponse {
        let key = try IdempotencyKey(request.headers)
        let body = try request.json()
        return try await idempotency.run(request, body, credential, key, dues: [nil]) { ids in
            let moment = clock.now
            let order = try Self.read(body, now: moment)
            let audience = try await ports.audience.audience(of: order.user, at: order.subject.periodEnd)
            // Without a period there is nothing to tell one event from the next by, except the request itself.
            let id =
                order.subject.periodEnd == nil
                ? ids.first : ports.notices.messageID(order.user, order.event, order.subject, at: moment)
            guard let id else { throw Problem.idempotencyIncomplete }
            let receipts = try await door.enqueue([
                NotificationOrder(
                    job: ports.notices.job(order.user, order.event, order.subject, audience),
                    messageID: id
                )
            ])
            return .data(receipts.first?.json ?? .null, status: 202)
        }
    }

    private struct Order {
        let user: UserID
        let event: LifecycleEvent
        let subject: LifecycleNotices.Subject
    }

    private static func read(_ value: JSONValue, now: Timestamp) throws(Problem) -> Order {
        var body = try BodyReader(value)
        let user = body.requiredText("userId", limit: 128).flatMap { UserID($0) }
        if user == nil, body.faults.isEmpty { body.report("userId", "must be \(UserID.rule)") }
        if body.member("event") == nil { body.report("event", "is missing") }
        let event = body.choice("event", LifecycleEvent.self)
        var subject = LifecycleNotices.Subject()
        subject.originalTransactionID = body.text("originalTransactionId", limit: 60)
        subject.productID = body.text("productId", limit: 256)
        subject.periodEnd = body.moment("periodEnd")
        if let id = subject.originalTransactionID, !id.utf8.allSatisfy(isHandle) || id.isEmpty {
            body.report("originalTransactionId", "must be 1 to 60 characters of A-Z a-z 0-9 . _ -")
        }
        if body.faults.isEmpty, let event,
            let fault = LifecycleNotices.fault(of: subject.periodEnd, for: event, at: now)
        {
            body.report("periodEnd", fault)
        }
        try body.finish()
        guard let user, let event else { throw .unacceptable([]) }
        return Order(user: user, event: event, subject: subject)
    }

    private static func isHandle(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
