import HTTPServer
import Kernel
import Notifications
import PushTransport

/// What a backend asks to be sent outside the categories.
struct RawPushOrder: Sendable {
    enum Kind: String, Sendable, CaseIterable {
        case background, voip

        var direct: DirectKind {
            switch self {
            case .background: .background
            case .voip: .voip
            }
        }
    }

    let user: UserID
    /// `nil` for every device of the user.
    let deviceID: String?
    let kind: Kind
    private let data: [JSONMember]
    private let expiration: Timestamp?

    /// - Throws: 422 with every fault.
    init(reading body: JSONValue) throws(Problem) {
        var body = try BodyReader(body)
        let user = body.requiredText("userId", limit: 128).flatMap { text -> UserID? in
            let user = UserID(text)
            if user == nil, !text.isEmpty { body.report("userId", "must be \(UserID.rule)") }
            return user
        }
        deviceID = body.text("deviceId", limit: 256).nonEmpty
        let kind = body.choice("type", Kind.self)
        if body.member("type") == nil { body.report("type", "is missing: background or voip") }
        let data = body.member("data")
        if let data, data.members == nil { body.report("data", "must be an object, not \(data.kind)") }
        if kind == .voip, data == nil { body.report("data", "is missing: a call needs data, such as the caller's") }
        expiration = body.moment("expiresAt")
        try body.finish()
        guard let user, let kind else { throw .unacceptable([]) }
        self.user = user
        self.kind = kind
        self.data = data?.members ?? []
        do {
            _ = try Self.request(kind, self.data, expiration, UUIDBits(high: 0, low: 0))
        } catch {
            throw .unacceptable(error)
        }
    }

    /// The push without an addressee.
    func template(_ id: MessageID) throws(Problem) -> PushRequest {
        do {
            return try Self.request(kind, data, expiration, id.bits)
        } catch {
            throw .unacceptable(error)
        }
    }

    private static func request(
        _ kind: Kind,
        _ data: [JSONMember],
        _ expiration: Timestamp?,
        _ id: UUIDBits
    ) throws(PushKindError) -> PushRequest {
        switch kind {
        case .background:
            try BackgroundPush(data: data).request(
                deviceToken: "",
                environment: .production,
                topic: "",
                messageID: id,
                expiration: expiration
            )
        case .voip:
            // Without another wish Apple tries once: a call that rang out is none any more.
            try VoIPPush(data: data).request(
                deviceToken: "",
                environment: .production,
                topic: "",
                messageID: id,
                expiration: expiration ?? Timestamp(milliseconds: 0)
            )
        }
    }
}
