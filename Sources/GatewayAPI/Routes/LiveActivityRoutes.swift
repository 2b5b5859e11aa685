import HTTPServer
import Kernel
import Notifications
import Observability
import PushTransport

/// Backends start, update and end Live Activities: past bus, engine and caps, because an activity shows what its user asked to
/// follow.
struct LiveActivityRoutes: Sendable {
    let book: any LiveActivityBook
    let sender: DirectSender
    /// Whether there is a credential for APNs.
    let canSend: Bool
    let idempotency: IdempotentRequests
    let clock: any WallClock
    let telemetry: Telemetry

    var endpoints: [Endpoint] {
        [
            endpoint(.start, "Start a Live Activity on the devices of users").described(.startActivity),
            endpoint(.update, "Update a stream's Live Activities, a page at a time").described(.updateActivity),
            endpoint(.end, "End a stream's Live Activities, a page at a time").described(.endActivity),
        ]
    }

    private func endpoint(_ event: LiveActivityOrder.Event, _ summary: String) -> Endpoint {
        .service(
            .post,
            "/api/v1/live-activities/{streamId}/\(event.rawValue)",
            scope: .liveActivitiesWrite,
            summary: summary
        ) { request, credential in
            try await answer(request, credential, event)
        }
    }

    private func answer(
        _ request: HTTPRequest,
        _ credential: ServiceCredential,
        _ event: LiveActivityOrder.Event
    ) async throws -> HTTPResponse {
        guard canSend else { throw Problem.apnsNotConfigured }
        let key = try IdempotencyKey(request.headers)
        let body = try request.json()
        guard let stream = request.parameters["streamId"].flatMap({ StreamID($0) }) else {
            throw Problem.badPathParameter("streamId", "must be \(StreamID.rule)")
        }
        return try await idempotency.run(request, body, credential, key, dues: [nil]) { ids in
            let order = try LiveActivityOrder(reading: body, event: event, now: clock.now)
            guard let id = ids.first else { throw Problem.idempotencyIncomplete }
            return event == .start
                ? try await start(order, stream, id) : try await change(order, event, stream, id)
        }
    }

    private func start(_ order: LiveActivityOrder, _ stream: StreamID, _ id: MessageID) async throws -> HTTPResponse {
        let users = order.users ?? []
        let found = try await book.startTargets(of: users)
        let outcomes = try await sender.send(try order.template(id), to: found.targets, kind: .activityStart) {
            [book] results in
            let spent = Self.spent(results, began: found.now)
            await forget(spent, "push-to-start tokens", kind: .activityStart) {
                try await book.forgetStartTokens(spent)
            }
        }
        try DirectAnswer.check(outcomes)
        let reached = Set(found.targets.map(\.userID))
        return .data(
            .object(
                members(order, .start, stream, id, found.targets, outcomes) + [
                    JSONMember(
                        "usersWithoutToken",
                        .array(users.filter { !reached.contains($0) }.map { .string($0.rawValue) })
                    )
                ]
            )
        )
    }

    private func change(
        _ order: LiveActivityOrder,
        _ event: LiveActivityOrder.Event,
        _ stream: StreamID,
        _ id: MessageID
    ) async throws -> HTTPResponse {
        let page = try await book.sessions(of: stream, users: order.users, after: order.cursor, limit: order.limit)
        let outcomes = try await sender.send(try order.template(id), to: page.targets, kind: event.kind) {
            [book] results in
            var spent = Self.spent(results, began: page.now)
            if event == .end {
                spent += results.compactMap { result in
                    guard case .accepted = result.outcome else { return nil }
                    return SpentTarget(target: result.target, registeredBefore: nil)
                }
            }
            await forget(spent, "sessions", kind: event.kind) { try await book.end(spent, of: stream) }
        }
        try DirectAnswer.check(outcomes)
        var next: String?
        if page.hasMore, let last = page.targets.last {
            next = SessionCursor(user: last.userID.rawValue, device: last.deviceID ?? "").text
        }
        return .data(
            .object(
                members(order, event, stream, id, page.targets, outcomes) + [JSONMember("cursor", .optional(next))]
            )
        )
    }

    private func members(
        _ order: LiveActivityOrder,
        _ event: LiveActivityOrder.Event,
        _ stream: StreamID,
        _ id: MessageID,
        _ targets: [PushTarget],
        _ outcomes: [PushOutcome?]
    ) -> [JSONMember] {
        [
            JSONMember("streamId", .string(stream.rawValue)), JSONMember("event", .string(event.rawValue)),
            JSONMember("messageId", .string(id.description)),
            JSONMember("timestamp", .string(order.push.timestamp.rfc3339)),
            JSONMember("pushes", DirectAnswer.counts(outcomes)),
            JSONMember("failures", DirectAnswer.failures(targets, outcomes)),
        ]
    }

    /// Targets with a dead token. One that was told again after the provider's timestamp, or else after the send began, stays.
    static func spent(
        _ results: [(target: PushTarget, outcome: PushOutcome)],
        began: Timestamp
    ) -> [SpentTarget] {
        results.compactMap { target, outcome in
            guard outcome.spendsToken else { return nil }
            return SpentTarget(target: target, registeredBefore: outcome.deathMoment ?? began)
        }
    }

    private func forget(
        _ spent: [SpentTarget],
        _ what: String,
        kind: DirectKind,
        _ work: () async throws -> Int
    ) async {
        await telemetry.forgetting(spent.count, what, kind, work)
    }
}

extension Telemetry {
    /// Runs the removal of spent tokens, counted and logged. A failure costs one more push to a dead token: the next one says so
    /// again.
    func forgetting(_ count: Int, _ what: String, _ kind: DirectKind, _ work: () async throws -> Int) async {
        guard count > 0 else { return }
        let labels = [("kind", kind.rawValue)]
        do {
            let gone = try await work()
            metrics.counter(
                "gateway_direct_tokens_removed_total",
                help: "Sessions ended and tokens forgotten after Live Activity, background and call pushes.",
                labels: labels
            )
            .increment(by: gone)
            logger.info(
                "spent tokens are gone",
                ["what": .string(what), "kind": .string(kind.rawValue), "count": .integer(gone)]
            )
        } catch {
            metrics.counter(
                "gateway_direct_tokens_kept_total",
                help: "Spent sessions and tokens that could not be removed; the next push tells again.",
                labels: labels
            )
            .increment(by: count)
            logger.warning(
                "spent tokens could not be removed",
                ["what": .string(what), "error": .error(error), "count": .integer(count)]
            )
        }
    }
}
