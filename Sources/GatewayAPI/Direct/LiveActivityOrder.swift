import HTTPServer
import Kernel
import Notifications
import PushTransport

/// What a backend asks to be sent to Live Activities.
struct LiveActivityOrder: Sendable {
    /// What the last part of the path says.
    enum Event: String, Sendable, CaseIterable {
        case start, update, end

        var kind: DirectKind {
            switch self {
            case .start: .activityStart
            case .update: .activityUpdate
            case .end: .activityEnd
            }
        }
    }

    /// Users that one call may name.
    static let userLimit = 200
    /// Sessions that one call reaches; the answer says where the next one goes on.
    static let pageLimit = 1000
    /// How far ahead of our clock a state may say it was so. The device would ignore honest later ones.
    static let clockTolerance = Duration.seconds(60)

    let push: LiveActivityPush
    let priority: PushPriority
    /// When Apple should stop trying.
    let expiration: Timestamp?
    /// `nil` for everybody with a session of the stream; a start names its users.
    let users: [UserID]?
    let cursor: SessionCursor?
    let limit: Int

    /// - Throws: 415 and 400 for a body that is no JSON, 422 with every fault.
    init(reading body: JSONValue, event: Event, now: Timestamp) throws(Problem) {
        var body = try BodyReader(body)
        let timestamp = body.moment("timestamp") ?? now
        if timestamp > now + Self.clockTolerance { body.report("timestamp", "must not lie in the future") }
        let contentState = body.object("contentState", isRequired: event != .end)
        let staleDate = body.moment("staleDate")
        let relevance = body.number("relevanceScore")
        let said = Self.event(event, &body)
        expiration = body.moment("expiresAt")
        priority = body.priority("priority") ?? .immediate
        users = body.users(isRequired: event == .start, limit: Self.userLimit)
        cursor = event == .start ? nil : body.cursor("cursor")
        limit = body.count("limit", in: 1...Self.pageLimit) ?? Self.pageLimit
        try body.finish()
        guard let said else { throw .unacceptable([]) }
        push = LiveActivityPush(
            event: said,
            contentState: contentState,
            timestamp: timestamp,
            staleDate: staleDate,
            relevance: relevance
        )
        do {
            _ = try push.payload()
        } catch {
            throw .unacceptable(error)
        }
    }

    /// The push without an addressee.
    func template(_ id: MessageID) throws(Problem) -> PushRequest {
        do {
            return try push.request(
                deviceToken: "",
                environment: .production,
                topic: "",
                messageID: id.bits,
                priority: priority,
                expiration: expiration
            )
        } catch {
            throw .unacceptable(error)
        }
    }

    private static func event(_ event: Event, _ body: inout BodyReader) -> LiveActivityPush.Event? {
        switch event {
        case .start: start(&body).map { .start($0) }
        case .update: .update(alert: body.alert("alert", isRequired: false))
        case .end: .end(dismissal: body.moment("dismissalDate"))
        }
    }

    private static func start(_ body: inout BodyReader) -> LiveActivityPush.Start? {
        let type = body.requiredText("attributesType", limit: 128)
        let attributes = body.object("attributes", isRequired: true)
        let alert = body.alert("alert", isRequired: true)
        let input = input(&body)
        guard let type, let attributes, let alert else { return nil }
        return LiveActivityPush.Start(attributesType: type, attributes: attributes, alert: alert, input: input)
    }

    /// `"token"` (the default), `"none"` or `{"channel": "<base64>"}`.
    private static func input(_ body: inout BodyReader) -> LiveActivityPush.Input {
        guard let member = body.member("input") else { return .token }
        if let channel = member["channel"]?.stringValue, (1...256).contains(channel.utf8.count) {
            return .channel(channel)
        }
        switch member.stringValue {
        case "token": return .token
        case "none": return .unspecified
        default:
            body.report("input", #"must be "token", "none" or {"channel": "<base64>"}"#)
            return .token
        }
    }
}

extension BodyReader {
    fileprivate mutating func object(_ name: String, isRequired: Bool) -> JSONValue? {
        guard let member = member(name) else {
            if isRequired { report(name, "is missing") }
            return nil
        }
        guard member.members != nil else {
            report(name, "must be an object, not \(member.kind)")
            return nil
        }
        return member
    }

    fileprivate mutating func alert(_ name: String, isRequired: Bool) -> JSONValue? {
        guard let alert = object(name, isRequired: isRequired) else { return nil }
        if alert["title"] == nil && alert["body"] == nil { report(name, "needs a title or a body") }
        return alert
    }

    fileprivate mutating func number(_ name: String) -> Double? {
        guard let member = member(name) else { return nil }
        guard case .number(let number) = member, let value = number.double, value.isFinite else {
            report(name, "must be a finite number")
            return nil
        }
        return value
    }

    fileprivate mutating func count(_ name: String, in range: ClosedRange<Int>) -> Int? {
        guard let member = member(name) else { return nil }
        guard let number = member.integerValue.flatMap({ Int(exactly: $0) }), range.contains(number) else {
            report(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    fileprivate mutating func priority(_ name: String) -> PushPriority? {
        guard let member = member(name) else { return nil }
        switch member.integerValue {
        case 5: return .considerate
        case 10: return .immediate
        default:
            report(name, "must be 5 or 10")
            return nil
        }
    }

    fileprivate mutating func users(isRequired: Bool, limit: Int) -> [UserID]? {
        guard let member = member("userIds") else {
            if isRequired { report("userIds", "is missing") }
            return nil
        }
        guard let elements = member.arrayValue, (1...limit).contains(elements.count) else {
            report("userIds", "must be an array of 1 to \(limit) user ids")
            return nil
        }
        var users: [UserID] = []
        for (index, element) in elements.enumerated() {
            guard let user = element.stringValue.flatMap({ UserID($0) }) else {
                report("userIds/\(index)", "must be \(UserID.rule)")
                continue
            }
            if !users.contains(user) { users.append(user) }
        }
        return users
    }

    fileprivate mutating func cursor(_ name: String) -> SessionCursor? {
        guard let text = text(name, limit: SessionCursor.textLimit) else { return nil }
        let cursor = SessionCursor(text)
        if cursor == nil { report(name, "is no cursor of an earlier answer") }
        return cursor
    }
}

extension Problem {
    /// 422 for a push that Apple would refuse or the device ignore.
    static func unacceptable(_ error: PushKindError) -> Problem {
        Problem(
            status: 422,
            slug: error.code == .tooLarge ? "payload-too-large" : "invalid-request",
            title: "Unprocessable request",
            detail: "\(error.message.prefix(1).uppercased() + error.message.dropFirst())."
        )
    }
}
