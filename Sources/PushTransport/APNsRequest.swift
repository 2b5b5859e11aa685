import HTTP2
import Kernel

/// Puts a push into the form of Apple's `POST /3/device/<token>`.
///
/// What most pushes of a connection have in common is laid out once, as `Shared`; the rest of each is one piece of memory.
enum APNsRequest {
    /// The headers that Apple reads from the answer side.
    static let answerHeaders = ["apns-id", "apns-unique-id", "retry-after"]

    /// What pushes must have in common to share a header group.
    struct Kind: Hashable {
        let topic: String
        let pushType: PushType
        let priority: PushPriority
    }

    /// The header groups of one connection and one provider token.
    struct Shared {
        private static let limit = 64

        private let authority: String
        private let authorization: String?
        private var newest: (kind: Kind, group: HTTP2HeaderGroup)?
        private var groups: [Kind: HTTP2HeaderGroup] = [:]

        init(authority: String, authorization: String?) {
            self.authority = authority
            self.authorization = authorization
        }

        /// The group for a push.
        /// - Throws: `invalidRequest` for a topic that HTTP/2 cannot carry, such as one with a line break.
        mutating func group(for order: PendingPush.Order) throws(HTTP2Error) -> HTTP2HeaderGroup {
            let request = order.request
            if let newest, newest.kind.topic == order.topic, newest.kind.priority == request.priority,
                newest.kind.pushType == request.pushType
            {
                return newest.group
            }
            let kind = Kind(topic: order.topic, pushType: request.pushType, priority: request.priority)
            if let known = groups[kind] {
                newest = (kind, known)
                return known
            }
            var headers: [HTTP2Header] = []
            if let authorization { headers.append(HTTP2Header("authorization", authorization)) }
            headers.append(HTTP2Header("apns-topic", kind.topic))
            headers.append(HTTP2Header("apns-push-type", kind.pushType.rawValue))
            headers.append(HTTP2Header("apns-priority", String(kind.priority.rawValue)))
            headers.append(HTTP2Header("content-type", "application/json"))
            let made = try HTTP2HeaderGroup(method: "POST", authority: authority, headers: headers)
            if groups.count >= Self.limit { groups = [:] }
            groups[kind] = made
            newest = (kind, made)
            return made
        }
    }

    static func make(_ order: PendingPush.Order, shared: HTTP2HeaderGroup) -> HTTP2PreparedRequest {
        let request = order.request
        var own = HTTP2Fields(path: "/3/device/", order.deviceToken)
        if let expiration = request.expiration { own.append("apns-expiration", String(max(expiration.seconds, 0))) }
        // Values that never come again would only push the useful ones out of HPACK's table.
        request.messageID.withText { text in
            own.append("apns-id", text, neverIndexed: true)
            if request.collapse == .message { own.append("apns-collapse-id", text, neverIndexed: true) }
        }
        if case .id(let text) = request.collapse { own.append("apns-collapse-id", text, neverIndexed: true) }
        return HTTP2PreparedRequest(shared: shared, own: own, body: request.payload)
    }
}
