/// What a Live Activity shows, such as an order or a match: 1 to 128 characters of `A–Z a–z 0–9 . _ - | @ : +`.
package struct StreamID: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    /// - Returns: `nil` when the text breaks the rule.
    package init?(_ text: String) {
        // The rule of user ids serves here too: what is safe in a path, a log and a key.
        guard let checked = UserID(text) else { return nil }
        rawValue = checked.rawValue
    }

    /// The rule in words, for error texts.
    package static let rule = UserID.rule

    package var description: String { rawValue }
}

/// One running Live Activity on one device, as its app reports it.
package struct LiveActivitySession: Sendable, Equatable {
    package var streamID: StreamID
    /// The app's own name for the device.
    package var deviceID: String
    /// The activity's own push token.
    package var token: String
    /// The device's name for the activity, kept for the app's own use.
    package var activityID: String?
    /// `nil` for that of the user's device with this id, else the default.
    package var environment: PushEnvironment?
    /// The app's bundle id; `nil` as with the environment.
    package var topic: String?

    package init(
        streamID: StreamID,
        deviceID: String,
        token: String,
        activityID: String? = nil,
        environment: PushEnvironment? = nil,
        topic: String? = nil
    ) {
        self.streamID = streamID
        self.deviceID = deviceID
        self.token = token
        self.activityID = activityID
        self.environment = environment
        self.topic = topic
    }
}
