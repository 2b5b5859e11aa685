/// What a provider does about one of Google's answers.
enum FCMAction: Sendable, Equatable {
    case accept
    /// The token is gone.
    case dead
    /// As `dead`, and a sign of a wrong project when it comes in numbers.
    case deadOrMisconfigured
    /// The content is at fault, the token stays.
    case reject
    /// A credential that was uploaded to Firebase is at fault: nothing here mends it, others are not concerned.
    case rejectLoudly
    case retry
    /// The project's quota is used up: nothing is sent until it fills again.
    case quota
    /// Another access token, then again, one time.
    case renewToken
    /// Our account or configuration is at fault: nothing is sent until the pause is over or somebody mends it.
    case stop
}

/// Every answer that Google documents, with its meaning (Firebase, "ErrorCode" of the HTTP v1 API, and the general errors of
/// Google's APIs). The code in the error's details decides, not the status alone.
enum FCMReason {
    /// What the details of an error hold.
    enum Detail: Sendable, Equatable {
        /// FCM's own code.
        case code
        /// The fields that were wrong.
        case fields
        /// Neither.
        case none
    }

    struct Row: Sendable {
        let status: Int
        let reason: String
        let detail: Detail
        let action: FCMAction
    }

    static let table: [Row] = [
        // The payload was checked before it was sent, so what is wrong is the token.
        Row(status: 400, reason: "INVALID_ARGUMENT", detail: .code, action: .deadOrMisconfigured),
        Row(status: 400, reason: "INVALID_ARGUMENT", detail: .fields, action: .reject),
        Row(status: 400, reason: "INVALID_ARGUMENT", detail: .none, action: .reject),
        Row(status: 401, reason: "THIRD_PARTY_AUTH_ERROR", detail: .code, action: .rejectLoudly),
        Row(status: 401, reason: "UNAUTHENTICATED", detail: .none, action: .renewToken),
        Row(status: 403, reason: "SENDER_ID_MISMATCH", detail: .code, action: .deadOrMisconfigured),
        Row(status: 403, reason: "PERMISSION_DENIED", detail: .none, action: .stop),
        Row(status: 404, reason: "UNREGISTERED", detail: .code, action: .dead),
        Row(status: 404, reason: "NOT_FOUND", detail: .none, action: .stop),
        Row(status: 429, reason: "QUOTA_EXCEEDED", detail: .code, action: .quota),
        Row(status: 429, reason: "RESOURCE_EXHAUSTED", detail: .none, action: .quota),
        Row(status: 500, reason: "INTERNAL", detail: .code, action: .retry),
        Row(status: 500, reason: "INTERNAL", detail: .none, action: .retry),
        Row(status: 500, reason: "UNSPECIFIED_ERROR", detail: .code, action: .retry),
        Row(status: 503, reason: "UNAVAILABLE", detail: .code, action: .retry),
        Row(status: 503, reason: "UNAVAILABLE", detail: .none, action: .retry),
    ]

    /// The reasons by name, whose set bounds the metric's label.
    static let names = Set(table.map(\.reason))

    /// What to do about an answer. One that Google does not document is judged by its status.
    static func action(status: Int, reason: String, detail: Detail) -> FCMAction {
        if let row = table.first(where: { $0.status == status && $0.reason == reason && $0.detail == detail }) {
            return row.action
        }
        // Google's own words for it; the status beside them varies.
        if reason == "UNSPECIFIED_ERROR" { return .retry }
        return switch status {
        case 200: .accept
        case 401: .renewToken
        case 403, 404: .stop
        case 429: .quota
        case 400..<500: .reject
        default: .retry
        }
    }
}
