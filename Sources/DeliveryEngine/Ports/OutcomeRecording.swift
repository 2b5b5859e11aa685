package import Kernel
package import NotificationContract
package import Notifications

/// What is to be remembered of one run of a job.
package struct DeliveryRecord: Sendable {
    package let messageID: MessageID
    package let userID: String
    package let category: CategoryID?
    /// The row's new status; `nil` leaves the row alone, or says that there is none.
    package var status: MessageStatus?
    package var reason: String?
    /// What devices answered in this run. An `accepted` that the row already holds is never overwritten.
    package var deliveries: [Int64: DeviceDelivery]
    /// Set when a device accepted in this run: becomes the row's `sent_at` and the category's `lastSentAt`.
    package var acceptedAt: Timestamp?
    package var events: [DeliveryEvent]
    /// Whether the row's `week_key` is to be cleared, because its slot is given back.
    package var clearsWeek: Bool

    package init(
        messageID: MessageID,
        userID: String,
        category: CategoryID?,
        status: MessageStatus? = nil,
        reason: String? = nil,
        deliveries: [Int64: DeviceDelivery] = [:],
        acceptedAt: Timestamp? = nil,
        events: [DeliveryEvent] = [],
        clearsWeek: Bool = false
    ) {
        self.messageID = messageID
        self.userID = userID
        self.category = category
        self.status = status
        self.reason = reason
        self.deliveries = deliveries
        self.acceptedAt = acceptedAt
        self.events = events
        self.clearsWeek = clearsWeek
    }

    /// Whether there is nothing to remember.
    package var isEmpty: Bool {
        status == nil && deliveries.isEmpty && acceptedAt == nil && events.isEmpty && !clearsWeek
    }
}

/// Records outcomes in groups: rows, `lastSentAt` and events in one statement.
package protocol OutcomeRecording: Sendable {
    /// - Throws: when the store cannot be reached. A record that the database refuses alone is dropped, counted and logged.
    /// - Parameter isRepeat: whether the same records were tried before, with nobody knowing what became of them.
    func record(_ records: [DeliveryRecord], isRepeat: Bool) async throws
}

/// A token that the provider says is gone.
package struct TokenInvalidation: Sendable, Equatable {
    package let deviceRowID: Int64
    package let userID: UserID
    package let token: String
    /// The token goes only when the device registered it before this moment: the provider's timestamp for 410, else the
    /// moment the send began.
    package let registeredBefore: Timestamp
    package let reason: String

    package init(deviceRowID: Int64, userID: UserID, token: String, registeredBefore: Timestamp, reason: String) {
        self.deviceRowID = deviceRowID
        self.userID = userID
        self.token = token
        self.registeredBefore = registeredBefore
        self.reason = reason
    }
}

/// What an invalidation changed.
package struct InvalidationResult: Sendable, Equatable {
    package let tokenRemoved: Bool
    /// Whether it was the user's last usable device.
    package let permissionRevoked: Bool

    package init(tokenRemoved: Bool, permissionRevoked: Bool) {
        self.tokenRemoved = tokenRemoved
        self.permissionRevoked = permissionRevoked
    }
}

/// Takes dead tokens out of use.
package protocol TokenInvalidating: Sendable {
    func invalidate(_ token: TokenInvalidation) async throws -> InvalidationResult
}
