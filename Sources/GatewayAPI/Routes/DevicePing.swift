package import DeliveryEngine
import HTTPServer
import Kernel
import NotificationContract
package import Notifications

/// Sends a test push to a user's devices and tells what the provider said to each, past bus, engine and caps.
package struct DevicePing: Sendable {
    private let diagnosis: ConsentDiagnosis
    private let push: any PushSending
    private let registry: CategoryRegistry
    private let catalog: Catalog
    private let ids: MessageIDGenerator

    package init(
        diagnosis: ConsentDiagnosis,
        push: any PushSending,
        registry: CategoryRegistry,
        catalog: Catalog,
        ids: MessageIDGenerator
    ) {
        self.diagnosis = diagnosis
        self.push = push
        self.registry = registry
        self.catalog = catalog
        self.ids = ids
    }

    func send(to user: UserID) async throws -> JSONValue {
        // Lifecycle has no window and no switch, so its recipient is the plainest one.
        let category = try registry.category(.lifecycle)
        let (recipient, now) = try await diagnosis.recipient(user, category)
        guard !recipient.devices.isEmpty else { throw Problem.noDevice }
        let id = ids.next()
        let payload = try PushPayload.alert(
            text: catalog.pushText(
                .literal(body: "Ping"),
                title: catalog.appTitle,
                category: category,
                locale: .english
            ),
            category: category,
            messageID: id,
            deeplinkURL: category.defaultDeeplink,
            entityID: nil
        )
        var answers: [JSONValue] = []
        for device in recipient.devices {
            let result = await send(
                DevicePush(
                    device: device,
                    messageID: id,
                    payload: payload,
                    priority: 10,
                    expiration: now + .seconds(300)
                )
            )
            answers.append([
                "device": .integer(device.id), "provider": .string(device.provider.rawValue),
                "environment": .string(device.environment.rawValue), "result": .string(result.word),
                "reason": .optional(result.reason),
            ])
        }
        return [
            "messageId": .string(id.description), "permission": .bool(recipient.isPermissionGranted),
            "devices": .array(answers),
        ]
    }

    private func send(_ push: DevicePush) async -> SendResult {
        await withCheckedContinuation { continuation in
            self.push.send(push) { continuation.resume(returning: $0) }
        }
    }
}

extension SendResult {
    /// The result in one word.
    fileprivate var word: String {
        switch self {
        case .accepted: "accepted"
        case .dead: "dead"
        case .rejected: "rejected"
        case .retry: "retry"
        case .throttled: "throttled"
        case .unknown: "unknown"
        case .notSent: "not_sent"
        }
    }

    fileprivate var reason: String? {
        switch self {
        case .accepted: nil
        case .dead(let reason, _), .rejected(let reason), .retry(let reason, _), .throttled(let reason, _),
            .unknown(let reason), .notSent(let reason, _):
            reason
        }
    }
}

extension Problem {
    static let noDevice = Problem(
        status: 409,
        slug: "no-device",
        title: "Conflict",
        detail: "The user has no device with a usable token."
    )
}
