import Kernel

/// A refusal as Google words it (Firebase, "ErrorCode" of the HTTP v1 API; google.rpc's error details).
struct FCMRefusal: Error, Equatable {
    let status: Int
    /// FCM's code or the general one; also `FIELD_VIOLATION` and `DEVICE_QUOTA_EXCEEDED`, which stand for their details.
    let reason: String
    /// Names the field for `FIELD_VIOLATION`.
    var field = "message"
    var message = "Simulated."

    /// Codes that stand in FCM's own detail.
    private static let codes: Set<String> = [
        "INVALID_ARGUMENT", "UNREGISTERED", "SENDER_ID_MISMATCH", "QUOTA_EXCEEDED", "UNAVAILABLE", "INTERNAL",
        "THIRD_PARTY_AUTH_ERROR", "UNSPECIFIED_ERROR",
    ]

    static let unauthenticated = FCMRefusal(
        status: 401,
        reason: "UNAUTHENTICATED",
        message: "Request had invalid authentication credentials."
    )
    static let notFound = FCMRefusal(status: 404, reason: "NOT_FOUND", message: "Requested entity was not found.")
    static let malformedToken = FCMRefusal(
        status: 400,
        reason: "INVALID_ARGUMENT",
        message: "The registration token is not a valid FCM registration token"
    )
    static let quotaExceeded = FCMRefusal(status: 429, reason: "QUOTA_EXCEEDED", message: "Project quota exceeded.")

    static func field(_ field: String, _ message: String) -> FCMRefusal {
        FCMRefusal(status: 400, reason: "FIELD_VIOLATION", field: field, message: message)
    }

    var body: [UInt8] {
        var details: [JSONValue] = []
        if let code {
            details.append([
                "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": .string(code),
            ])
        }
        if reason == "FIELD_VIOLATION" {
            details.append([
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [["field": .string(field), "description": .string(message)]],
            ])
        }
        if reason == "DEVICE_QUOTA_EXCEEDED" {
            details.append([
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [["subject": "device", "description": "Device message rate exceeded."]],
            ])
        }
        var error: [JSONMember] = [
            JSONMember("code", .integer(status)), JSONMember("message", .string(message)),
            JSONMember("status", .string(word)),
        ]
        if !details.isEmpty { error.append(JSONMember("details", .array(details))) }
        return JSONValue.object([JSONMember("error", .object(error))]).utf8
    }

    private var code: String? {
        if reason == "DEVICE_QUOTA_EXCEEDED" { return "QUOTA_EXCEEDED" }
        return Self.codes.contains(reason) ? reason : nil
    }

    /// The general word for the status, unless the reason is one.
    private var word: String {
        guard code != nil || reason == "FIELD_VIOLATION" else { return reason }
        return switch status {
        case 400: "INVALID_ARGUMENT"
        case 401: "UNAUTHENTICATED"
        case 403: "PERMISSION_DENIED"
        case 404: "NOT_FOUND"
        case 429: "RESOURCE_EXHAUSTED"
        case 503: "UNAVAILABLE"
        default: "INTERNAL"
        }
    }
}
