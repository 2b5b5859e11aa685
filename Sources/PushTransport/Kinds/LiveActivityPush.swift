package import Kernel
package import Notifications

/// A push that starts, updates or ends a Live Activity (Apple, "Starting and updating Live Activities with ActivityKit push
/// notifications"). All its times are seconds.
package struct LiveActivityPush: Sendable {
    /// What the device is told.
    package enum Event: Sendable, Equatable {
        /// Sent to a push-to-start token (iOS 17.2 and later). The alert is mandatory: the device announces the activity.
        case start(Start)
        /// Sent to the activity's own token.
        case update(alert: JSONValue?)
        /// Sent to the activity's own token. After `dismissal` it leaves the lock screen, by default within four hours; a past
        /// moment removes it now.
        case end(dismissal: Timestamp?)

        var name: String {
            switch self {
            case .start: "start"
            case .update: "update"
            case .end: "end"
            }
        }
    }

    /// What a new activity begins with.
    package struct Start: Sendable, Equatable {
        /// The Swift name of the app's `ActivityAttributes` type.
        package var attributesType: String
        package var attributes: JSONValue
        /// `title` and `body`, each a text or a `loc-key` object, and perhaps `sound`.
        package var alert: JSONValue
        /// Where later updates of the activity come from.
        package var input: Input

        package init(attributesType: String, attributes: JSONValue, alert: JSONValue, input: Input = .token) {
            self.attributesType = attributesType
            self.attributes = attributes
            self.alert = alert
            self.input = input
        }
    }

    /// Where a started activity takes its updates from.
    package enum Input: Sendable, Equatable {
        /// What the app asks for itself.
        case unspecified
        /// A token of its own (iOS 18), which the app reports.
        case token
        /// A broadcast channel in base64 (iOS 18); older systems do not start the activity at all.
        case channel(String)
    }

    package var event: Event
    /// Must decode with Swift's default `Codable` strategies on the device. Recommended, not demanded, at the end.
    package var contentState: JSONValue?
    /// When this was so: the device ignores what is older than what it shows.
    package var timestamp: Timestamp
    /// From when on the device shows the content as outdated.
    package var staleDate: Timestamp?
    /// The highest of an app's activities gets the Dynamic Island.
    package var relevance: Double?

    package init(
        event: Event,
        contentState: JSONValue?,
        timestamp: Timestamp,
        staleDate: Timestamp? = nil,
        relevance: Double? = nil
    ) {
        self.event = event
        self.contentState = contentState
        self.timestamp = timestamp
        self.staleDate = staleDate
        self.relevance = relevance
    }

    /// The body as it is sent.
    /// - Throws: `missing` and `invalid` for what the device would ignore silently, `tooLarge` above 4,096 bytes.
    package func payload() throws(PushKindError) -> [UInt8] {
        let body = JSONValue.object([JSONMember("aps", .object(try members()))]).utf8
        try PushKindError.checkSize(body, .liveActivity)
        return body
    }

    private func members() throws(PushKindError) -> [JSONMember] {
        var aps = [
            JSONMember("timestamp", .integer(timestamp.seconds)),
            JSONMember("event", .string(event.name)),
        ]
        switch (event, contentState) {
        case (.end, nil): break
        case (_, .object?): aps.append(JSONMember("content-state", contentState ?? .null))
        case (_, nil): throw PushKindError(.missing, "\(event.name) needs a content-state")
        default: throw PushKindError(.invalid, "content-state is an object")
        }
        if let staleDate { aps.append(JSONMember("stale-date", .integer(staleDate.seconds))) }
        if let relevance {
            guard relevance.isFinite else { throw PushKindError(.invalid, "relevance-score is a finite number") }
            aps.append(JSONMember("relevance-score", .number(JSONNumber(text: "\(relevance)"))))
        }
        switch event {
        case .start(let start): aps += try start.members()
        case .update(let alert?): aps.append(JSONMember("alert", try Self.checked(alert)))
        case .update(nil): break
        case .end(let dismissal?): aps.append(JSONMember("dismissal-date", .integer(dismissal.seconds)))
        case .end(nil): break
        }
        return aps
    }

    fileprivate static func checked(_ alert: JSONValue) throws(PushKindError) -> JSONValue {
        guard alert.members != nil, alert["title"] != nil || alert["body"] != nil else {
            throw PushKindError(.invalid, "alert is an object with a title or a body")
        }
        return alert
    }

    /// The push for one token: the push-to-start token for a start, the activity's own otherwise.
    /// - Parameter priority: 10 counts against an hourly budget of the device, 5 does not.
    package func request(
        deviceToken: String,
        environment: PushEnvironment,
        topic: String,
        messageID: UUIDBits,
        priority: PushPriority = .immediate,
        expiration: Timestamp? = nil
    ) throws(PushKindError) -> PushRequest {
        guard priority != .low else { throw PushKindError(.invalid, "a Live Activity has priority 5 or 10") }
        var request = PushRequest(
            deviceToken: deviceToken,
            environment: environment,
            topic: topic,
            messageID: messageID,
            payload: try payload(),
            priority: priority,
            expiration: expiration,
            pushType: .liveActivity
        )
        // The activity itself is what is replaced; the timestamp decides.
        request.collapse = .none
        return request
    }

    /// A token of Live Activities that Apple calls dead.
    package enum DeadToken: Sendable, Equatable {
        /// The activity's session is over.
        case session
        /// No activity can be started with it any more.
        case pushToStart
    }

    /// What an outcome of this push says about its token, `nil` when the token lives.
    package func deadToken(_ outcome: PushOutcome) -> DeadToken? {
        guard case .dead = outcome else { return nil }
        if case .start = event { return .pushToStart }
        return .session
    }
}

extension LiveActivityPush.Start {
    fileprivate func members() throws(PushKindError) -> [JSONMember] {
        guard !attributesType.isEmpty else { throw PushKindError(.missing, "start needs an attributes-type") }
        guard attributes.members != nil else { throw PushKindError(.invalid, "attributes is an object") }
        var members = [
            JSONMember("attributes-type", .string(attributesType)),
            JSONMember("attributes", attributes),
            JSONMember("alert", try LiveActivityPush.checked(alert)),
        ]
        switch input {
        case .unspecified: break
        case .token: members.append(JSONMember("input-push-token", 1))
        case .channel(let channel):
            guard !channel.isEmpty else { throw PushKindError(.missing, "a channel has an id") }
            members.append(JSONMember("input-push-channel", .string(channel)))
        }
        return members
    }
}
