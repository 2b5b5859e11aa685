package import Kernel

/// The state of a message row.
package enum MessageStatus: String, Sendable, CaseIterable {
    /// Written, and not every device has answered for good.
    case pending
    /// At least one device accepted it.
    case sent
    /// No device accepted it, and at least one may have.
    case unknown
    /// No device accepted it.
    case failed
    case expired
    case suppressed
    case cancelled
}

/// What a device answered to a message.
package struct DeviceDelivery: Sendable, Equatable {
    package enum State: String, Sendable, CaseIterable {
        /// The provider took it.
        case accepted
        /// The device will not get this message: its token is gone, or the provider refused for good.
        case dead
        /// To be tried again.
        case retry
        /// It may or may not have been taken; the same id makes trying again harmless.
        case unknown
    }

    package var state: State
    /// Answered attempts so far; outages of ours do not count.
    package var attempts: Int
    /// The provider's reason for anything but acceptance.
    package var reason: String?
    /// Set when the provider said that the token is gone: whatever the device registered before this moment is.
    package var goneBefore: Timestamp?

    package init(state: State, attempts: Int, reason: String? = nil, goneBefore: Timestamp? = nil) {
        self.state = state
        self.attempts = attempts
        self.reason = reason
        self.goneBefore = goneBefore
    }
}

/// What an earlier run left of a message.
package struct StoredMessage: Sendable, Equatable {
    package var userID: String
    package var category: String
    package var status: MessageStatus
    package var reason: String?
    /// The week whose slots the message holds, `nil` when it holds none.
    package var weekKey: String?
    /// Whether it passed the caps uncounted, because they could not be asked.
    package var isCapOpen: Bool
    /// By device row id.
    package var deliveries: [Int64: DeviceDelivery]

    package init(
        userID: String,
        category: String,
        status: MessageStatus,
        reason: String? = nil,
        weekKey: String? = nil,
        isCapOpen: Bool = false,
        deliveries: [Int64: DeviceDelivery] = [:]
    ) {
        self.userID = userID
        self.category = category
        self.status = status
        self.reason = reason
        self.weekKey = weekKey
        self.isCapOpen = isCapOpen
        self.deliveries = deliveries
    }

    /// Whether it has been through gate 4: with a slot, or uncounted.
    package var passedCaps: Bool { weekKey != nil || isCapOpen }

    /// How the message ends when it goes no further: `sent` when a device took it, `unknown` when one may have, `nil` when none did.
    package var arrival: MessageStatus? {
        if deliveries.values.contains(where: { $0.state == .accepted }) { return .sent }
        return deliveries.values.contains { $0.state == .unknown } ? .unknown : nil
    }
}
