import HTTP2
import Kernel

/// One of Google's answers, read tolerantly: a body may be missing, HTML, or carry codes of tomorrow.
struct FCMAnswer: Sendable {
    /// Longer reasons are cut: they go into logs and rows.
    private static let reasonLimit = 64

    let status: Int
    /// FCM's code, else the general one, else `Status<code>`.
    let reason: String
    let action: FCMAction
    /// The header `retry-after`, in seconds only.
    let retryAfter: Duration?
    /// Whether an exceeded quota is one of this device or topic, not of the project.
    let isQuotaOfTarget: Bool
    /// `projects/<p>/messages/<id>` of an accepted push.
    let name: String

    init(_ response: HTTP2Response) {
        status = response.status
        retryAfter = response.header("retry-after").flatMap { Int64($0) }.flatMap { seconds in
            (0...86_400).contains(seconds) ? .seconds(seconds) : nil
        }
        let body = Self.object(in: response.body)
        name = body?["name"]?.stringValue ?? ""
        guard response.status != 200 else {
            reason = ""
            action = .accept
            isQuotaOfTarget = false
            return
        }
        let error = body?["error"]
        let details = error?["details"]?.arrayValue ?? []
        let code = Self.detail("google.firebase.fcm.v1.FcmError", in: details)?["errorCode"]?.stringValue
        let violations = Self.detail("google.rpc.BadRequest", in: details)?["fieldViolations"]?.arrayValue ?? []
        let word = (code ?? error?["status"]?.stringValue).map { String($0.prefix(Self.reasonLimit)) } ?? ""
        reason = word.isEmpty ? "Status\(response.status)" : word
        // Violations say that the message is at fault, unless the one field is the token itself.
        let isAboutToken = violations.allSatisfy { $0["field"]?.stringValue == "message.token" }
        let kind: FCMReason.Detail = !isAboutToken ? .fields : code != nil ? .code : .none
        action = FCMReason.action(status: response.status, reason: reason, detail: kind)
        let subjects = Self.detail("google.rpc.QuotaFailure", in: details)?["violations"]?.arrayValue ?? []
        isQuotaOfTarget = subjects.contains { violation in
            let text = (violation["subject"]?.stringValue ?? "") + " " + (violation["description"]?.stringValue ?? "")
            return ["device", "topic"].contains { text.lowercased().contains($0) }
        }
    }

    /// The detail whose type ends so.
    private static func detail(_ type: String, in details: [JSONValue]) -> JSONValue? {
        details.first { $0["@type"]?.stringValue?.hasSuffix("/" + type) ?? false }
    }

    private static func object(in body: [UInt8]) -> JSONValue? {
        guard body.count <= 16_384, let first = body.first(where: { $0 > 0x20 }), first == UInt8(ascii: "{") else {
            return nil
        }
        do {
            return try JSONValue(parsing: body)
        } catch {
            // Not JSON after all: the status alone decides.
            return nil
        }
    }
}
