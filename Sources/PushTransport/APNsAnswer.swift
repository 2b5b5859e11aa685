import HTTP2
import Kernel

/// One of Apple's answers, read tolerantly: a body may be missing, HTML, or carry reasons of tomorrow.
struct APNsAnswer: Sendable {
    /// Longer reasons are cut: they go into logs and rows.
    private static let reasonLimit = 64

    let status: Int
    /// Apple's word; `Status<code>` when the body carries none.
    let reason: String
    let action: AnswerAction
    /// The body's timestamp of a 410.
    let timestamp: Timestamp?
    /// The header `retry-after`, in seconds only.
    let retryAfter: Duration?
    let apnsID: String
    let uniqueID: String?

    init(_ response: HTTP2Response) {
        status = response.status
        apnsID = response.header("apns-id") ?? ""
        uniqueID = response.header("apns-unique-id")
        guard response.status != 200 else {
            reason = ""
            action = .accept
            timestamp = nil
            retryAfter = nil
            return
        }
        let body = Self.object(in: response.body)
        let named = body?["reason"]?.stringValue.map { String($0.prefix(Self.reasonLimit)) } ?? ""
        reason = named.isEmpty ? "Status\(response.status)" : named
        action = APNsReason.action(status: response.status, reason: reason)
        timestamp = body?["timestamp"]?.integerValue.flatMap(Self.timestamp)
        retryAfter = response.header("retry-after").flatMap { Int64($0) }.flatMap { seconds in
            (0...86_400).contains(seconds) ? .seconds(seconds) : nil
        }
    }

    /// The outcome of a push that Apple took.
    static func accepted(_ response: HTTP2Response) -> PushOutcome {
        .accepted(apnsID: response.header("apns-id") ?? "", uniqueID: response.header("apns-unique-id"))
    }

    private static func object(in body: [UInt8]) -> JSONValue? {
        guard body.count <= 4096, body.first == UInt8(ascii: "{") else { return nil }
        do {
            return try JSONValue(parsing: body)
        } catch {
            // Not JSON after all: the status alone decides.
            return nil
        }
    }

    /// Apple documents milliseconds; a number below 10^12 can only be seconds.
    private static func timestamp(_ number: Int64) -> Timestamp? {
        guard number > 0 else { return nil }
        return Timestamp(milliseconds: number < 1_000_000_000_000 ? number * 1000 : number)
    }
}
