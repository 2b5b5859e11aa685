package import Kernel

/// Where a push outside the categories goes: a Live Activity, a start of one, background work, a call.
package struct PushTarget: Sendable, Equatable {
    package var userID: UserID
    /// The row in `devices`; 0 for a session of a Live Activity.
    package var deviceRowID: Int64
    /// The app's own name for the device.
    package var deviceID: String?
    package var provider: PushProvider
    package var token: String
    package var environment: PushEnvironment
    /// The app's bundle id.
    package var topic: String

    package init(
        userID: UserID,
        deviceRowID: Int64 = 0,
        deviceID: String?,
        provider: PushProvider = .apns,
        token: String,
        environment: PushEnvironment,
        topic: String
    ) {
        self.userID = userID
        self.deviceRowID = deviceRowID
        self.deviceID = deviceID
        self.provider = provider
        self.token = token
        self.environment = environment
        self.topic = topic
    }
}

/// Targets as they stood at one moment of the database's clock.
package struct PushTargets: Sendable, Equatable {
    package var now: Timestamp
    package var targets: [PushTarget]
    /// Whether more stand behind the last one.
    package var hasMore: Bool

    package init(now: Timestamp, targets: [PushTarget], hasMore: Bool = false) {
        self.now = now
        self.targets = targets
        self.hasMore = hasMore
    }
}

/// A target whose token is to be forgotten.
package struct SpentTarget: Sendable, Equatable {
    package var target: PushTarget
    /// The token goes only when it was registered before: the provider's timestamp, else the moment the send began; `nil` for a
    /// token that goes in any case.
    package var registeredBefore: Timestamp?

    package init(target: PushTarget, registeredBefore: Timestamp?) {
        self.target = target
        self.registeredBefore = registeredBefore
    }
}
