import Kernel

/// What Apple would refuse anyway. Every refusal by Apple slows the connection down, so these pushes never leave.
enum PushRules {
    /// The longest `apns-collapse-id`, in bytes of UTF-8.
    static let collapseLimit = 64

    /// Apple's reason to refuse the request, `nil` for one that may leave.
    static func refusal(_ request: PushRequest) -> String? {
        if request.payload.isEmpty { return "PayloadEmpty" }
        if request.payload.count > request.pushType.payloadLimit { return "PayloadTooLarge" }
        if request.topic.isEmpty { return "MissingTopic" }
        if case .id(let text) = request.collapse, text.utf8.count > collapseLimit || text.isEmpty {
            return "BadCollapseId"
        }
        if let expiration = request.expiration, expiration.milliseconds < 0 { return "BadExpirationDate" }
        // Only these two types bind the priority, so the others pay nothing for it.
        if request.pushType == .background {
            if request.priority != .considerate { return "BadPriority" }
            if !BackgroundPush.isSilent(request.payload) { return "BackgroundPushShowsSomething" }
        }
        if request.pushType == .liveActivity, request.priority == .low { return "BadPriority" }
        return nil
    }
}
