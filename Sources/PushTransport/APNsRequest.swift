import HTTP2
import Kernel

/// Puts a push into the form of Apple's `POST /3/device/<token>`.
enum APNsRequest {
    static func make(_ order: PendingPush.Order, authority: String, authorization: String?) -> HTTP2Request {
        let request = order.request
        let messageID = request.messageID.description
        var headers: [HTTP2Header] = []
        headers.reserveCapacity(8)
        if let authorization { headers.append(HTTP2Header("authorization", authorization)) }
        headers.append(HTTP2Header("apns-topic", order.topic))
        headers.append(HTTP2Header("apns-push-type", request.pushType.rawValue))
        headers.append(HTTP2Header("apns-priority", priority(request.priority)))
        headers.append(HTTP2Header("content-type", "application/json"))
        if let expiration = request.expiration {
            headers.append(HTTP2Header("apns-expiration", String(max(expiration.seconds, 0))))
        }
        // Values that never come again would only push the useful ones out of HPACK's table.
        headers.append(HTTP2Header("apns-id", messageID, neverIndexed: true))
        switch request.collapse {
        case .message: headers.append(HTTP2Header("apns-collapse-id", messageID, neverIndexed: true))
        case .none: break
        case .id(let text): headers.append(HTTP2Header("apns-collapse-id", text, neverIndexed: true))
        }
        return HTTP2Request(
            method: "POST",
            path: "/3/device/" + order.deviceToken,
            authority: authority,
            headers: headers,
            body: request.payload
        )
    }

    private static func priority(_ priority: PushPriority) -> String {
        switch priority {
        case .immediate: "10"
        case .considerate: "5"
        case .low: "1"
        }
    }
}
