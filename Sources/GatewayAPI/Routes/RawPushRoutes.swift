import DeliveryEngine
import HTTPServer
import Kernel
import Notifications
import Observability
import PushTransport

/// Backends wake an app or ring a phone: background and call pushes, outside the categories and their caps.
struct RawPushRoutes: Sendable {
    private static let path = "/api/v1/pushes"

    let directory: any RawPushDirectory
    let tokens: any TokenInvalidating
    let sender: DirectSender
    let providers: Set<PushProvider>
    let idempotency: IdempotentRequests
    let telemetry: Telemetry

    var endpoints: [Endpoint] {
        [
            .service(
                .post,
                Self.path,
                scope: .pushesRaw,
                summary: "Send a background or call push to a user's devices",
                limits: RouteLimits(bodyBytes: 16 * 1024)
            ) { request, credential in
                try await answer(request, credential)
            }
            .described(.rawPush)
        ]
    }

    private func answer(_ request: HTTPRequest, _ credential: ServiceCredential) async throws -> HTTPResponse {
        guard !providers.isEmpty else { throw Problem.apnsNotConfigured }
        let key = try IdempotencyKey(request.headers)
        let body = try request.json()
        return try await idempotency.run(request, body, credential, key, dues: [nil]) { ids in
            let order = try RawPushOrder(reading: body)
            // Calls are Apple's alone.
            guard order.kind == .background || providers.contains(.apns) else { throw Problem.apnsNotConfigured }
            guard let id = ids.first else { throw Problem.idempotencyIncomplete }
            return try await send(order, id)
        }
    }

    private func send(_ order: RawPushOrder, _ id: MessageID) async throws -> HTTPResponse {
        let found =
            order.kind == .voip
            ? try await directory.callable(of: order.user, device: order.deviceID)
            : try await directory.wakeable(of: order.user, device: order.deviceID)
        guard !found.targets.isEmpty else { throw Problem.noDevice }
        let template = try order.template(id)
        let outcomes = try await sender.send(template, to: found.targets, kind: order.kind.direct) { results in
            await settle(LiveActivityRoutes.spent(results, began: found.now), order.kind, results)
        }
        try DirectAnswer.check(outcomes)
        return .data([
            "messageId": .string(id.description), "type": .string(order.kind.rawValue),
            "pushes": DirectAnswer.counts(outcomes),
            "devices": .array(zip(found.targets, outcomes).map { DirectAnswer.entry($0, $1) }),
        ])
    }

    private func settle(
        _ spent: [SpentTarget],
        _ kind: RawPushOrder.Kind,
        _ results: [(target: PushTarget, outcome: PushOutcome)]
    ) async {
        switch kind {
        case .voip:
            await telemetry.forgetting(spent.count, "call tokens", .voip) {
                try await directory.forgetCallTokens(spent)
            }
        case .background:
            await telemetry.forgetting(spent.count, "device tokens", .background) {
                var removed = 0
                for (target, outcome) in results {
                    guard let one = spent.first(where: { $0.target == target }),
                        let before = one.registeredBefore
                    else { continue }
                    let result = try await tokens.invalidate(
                        TokenInvalidation(
                            deviceRowID: target.deviceRowID,
                            userID: target.userID,
                            token: target.token,
                            registeredBefore: before,
                            reason: outcome.reason ?? "dead"
                        )
                    )
                    if result.tokenRemoved { removed += 1 }
                    if result.permissionRevoked {
                        telemetry.logger.info(
                            "the user's last device is gone",
                            ["userId": .string(target.userID.rawValue)]
                        )
                    }
                }
                return removed
            }
        }
    }
}
