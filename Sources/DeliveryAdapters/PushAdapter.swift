package import DeliveryEngine
import Kernel
import Notifications
package import PushTransport

/// The engine's push port over the transport.
package struct PushAdapter: PushSending {
    private let transport: PushTransport

    package init(transport: PushTransport) {
        self.transport = transport
    }

    package func send(_ push: DevicePush, completion: @escaping @Sendable (SendResult) -> Void) {
        let request = PushRequest(
            deviceToken: push.device.token,
            environment: push.device.environment,
            topic: push.device.topic,
            messageID: push.messageID.bits,
            payload: push.payload,
            priority: PushPriority(rawValue: push.priority) ?? .immediate,
            expiration: push.expiration,
            pushType: .alert,
            provider: push.device.provider
        )
        transport.send(request) { completion(SendResult($0)) }
    }
}

extension SendResult {
    /// The engine's word for the transport's outcome.
    init(_ outcome: PushOutcome) {
        self =
            switch outcome {
            case .accepted: .accepted
            case .dead(let reason, let at): .dead(reason: reason, at: at)
            case .rejected(let reason, _): .rejected(reason: reason)
            case .retry(let reason, _, let after): .retry(reason: reason, after: after)
            case .throttled(let reason, let after): .throttled(reason: reason, after: after)
            case .unknown(let reason): .unknown(reason: reason)
            case .notSent(let reason, let after): .notSent(reason: reason, after: after)
            }
    }
}
