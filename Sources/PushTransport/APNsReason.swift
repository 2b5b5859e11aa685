import Kernel

/// What a provider does about one of Apple's answers.
enum AnswerAction: Sendable, Equatable {
    case accept
    /// The token is gone. Ends it for good, unless too many tokens die at once.
    case dead
    /// As `dead`, and a sign of a wrong environment or app when it comes in numbers.
    case deadOrMisconfigured
    /// The content is at fault, the token stays.
    case reject
    case retry
    /// Retry, on a new connection.
    case retryElsewhere
    /// This device token alone slows down.
    case throttle
    /// Nothing was delivered: send again at once on a new connection, one time.
    case resendElsewhere
    /// The connection serves other topics or keys: as `resendElsewhere`, and when that does not help either, the topic is not this
    /// key's.
    case resendElsewhereOrStopTopic
    /// Mint a provider token if the current one is old enough, then send again on a new connection, one time.
    case renewToken
    /// Our account, key or clock is at fault: nothing is sent until the pause is over or somebody mends it.
    case stop
    /// The topic is not ours to send to: nothing is sent to it until the pause is over.
    case stopTopic
}

/// Every answer that Apple documents, with its meaning (Apple, "Handling notification responses from APNs").
enum APNsReason {
    struct Row: Sendable {
        let status: Int
        let reason: String
        let action: AnswerAction
        /// What an operator should look at, where the answer stops more than one push.
        var hint: String?
    }

    static let table: [Row] = [
        Row(status: 400, reason: "BadCollapseId", action: .reject),
        Row(status: 400, reason: "BadDeviceToken", action: .deadOrMisconfigured),
        Row(status: 400, reason: "BadExpirationDate", action: .reject),
        Row(status: 400, reason: "BadMessageId", action: .reject),
        Row(status: 400, reason: "BadPriority", action: .reject),
        Row(status: 400, reason: "BadTopic", action: .reject),
        Row(status: 400, reason: "DeviceTokenNotForTopic", action: .deadOrMisconfigured),
        Row(status: 400, reason: "DuplicateHeaders", action: .reject),
        Row(status: 400, reason: "IdleTimeout", action: .resendElsewhere),
        Row(status: 400, reason: "InvalidPushType", action: .reject),
        Row(status: 400, reason: "MissingDeviceToken", action: .reject),
        Row(status: 400, reason: "MissingTopic", action: .stopTopic, hint: "name the app's bundle id as APNS_TOPIC"),
        Row(status: 400, reason: "PayloadEmpty", action: .reject),
        Row(
            status: 400,
            reason: "TopicDisallowed",
            action: .stopTopic,
            hint: "the key or certificate may not send to this topic: compare it with the app's bundle id"
        ),
        Row(
            status: 403,
            reason: "BadCertificate",
            action: .stop,
            hint: "the certificate is revoked, ended or no APNs certificate: make a new one"
        ),
        Row(
            status: 403,
            reason: "BadCertificateEnvironment",
            action: .stop,
            hint: "the certificate belongs to the other environment: compare it with APNS_ENVIRONMENT"
        ),
        Row(status: 403, reason: "BadEnvironmentKeyIdInToken", action: .stop, hint: otherEnvironment),
        // The spelling that the server has been seen to use.
        Row(status: 403, reason: "BadEnvironmentKeyInToken", action: .stop, hint: otherEnvironment),
        Row(
            status: 403,
            reason: "ExpiredProviderToken",
            action: .renewToken,
            hint: "the provider token was fresh, so this machine's clock differs from Apple's by more than an hour"
        ),
        Row(status: 403, reason: "Forbidden", action: .stop, hint: "Apple forbids this account to send"),
        Row(
            status: 403,
            reason: "InvalidProviderToken",
            action: .stop,
            hint: "key id and team id may be swapped, or the key is revoked or another team's"
        ),
        Row(status: 403, reason: "MissingProviderToken", action: .stop, hint: "Apple wants a provider token here"),
        Row(status: 403, reason: "TopicMismatch", action: .stopTopic, hint: "the channel belongs to another topic"),
        Row(status: 403, reason: "UnrelatedKeyIdInToken", action: .resendElsewhereOrStopTopic, hint: unrelatedKey),
        Row(status: 404, reason: "BadPath", action: .reject),
        Row(status: 405, reason: "MethodNotAllowed", action: .reject),
        Row(status: 410, reason: "ExpiredToken", action: .dead),
        Row(status: 410, reason: "Unregistered", action: .dead),
        Row(status: 413, reason: "PayloadTooLarge", action: .reject),
        Row(
            status: 429,
            reason: "TooManyProviderTokenUpdates",
            action: .stop,
            hint: "another process mints tokens with this key: share the token through Redis, or find it"
        ),
        Row(status: 429, reason: "TooManyRequests", action: .throttle),
        Row(status: 500, reason: "InternalServerError", action: .retry),
        Row(status: 503, reason: "ServiceUnavailable", action: .retry),
        Row(status: 503, reason: "Shutdown", action: .retryElsewhere),
    ]

    private static let unrelatedKey = "the key may not send to this topic: compare them in the developer account"
    private static let otherEnvironment = "the key belongs to the other environment: compare it with APNS_ENVIRONMENT"
    private static let goAwayLimit = 64

    private struct Key: Hashable {
        let status: Int
        let reason: String
    }

    private static let rows = Dictionary(
        uniqueKeysWithValues: table.map { (Key(status: $0.status, reason: $0.reason), $0) }
    )
    private static let byName = Dictionary(table.map { ($0.reason, $0) }) { first, _ in first }

    /// The reasons by name, whose set bounds the metric's label.
    static let names = Set(table.map(\.reason))

    /// What to do about an answer. A pair that Apple does not document is judged by its status: new reasons appear without
    /// notice.
    static func action(status: Int, reason: String) -> AnswerAction {
        if let known = rows[Key(status: status, reason: reason)] { return known.action }
        return switch status {
        case 200: .accept
        case 403: .stop
        case 410: .dead
        case 429: .throttle
        case 400..<500: .reject
        default: .retry
        }
    }

    /// A reason with what an operator should look at.
    static func problem(_ reason: String) -> String {
        byName[reason]?.hint.map { "\(reason): \($0)" } ?? reason
    }

    /// The reason in a GOAWAY's data, which is JSON like a body, or the data itself.
    static func inGoAway(_ text: String) -> String {
        let json = text.first == "{" ? try? JSONValue(parsing: Array(text.utf8)) : nil
        return String((json?["reason"]?.stringValue ?? text).prefix(goAwayLimit))
    }

    /// Whether the reason alone, without an answer, says that our account or configuration is at fault.
    static func stopsPool(_ reason: String) -> Bool {
        byName[reason]?.action == .stop
    }
}
