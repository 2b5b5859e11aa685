import HTTPServer
import Kernel
import Notifications
import PushTransport

/// What a caller is told of a push to many targets.
enum DirectAnswer {
    /// Every result there is, in the order in which an answer counts them.
    static let words = [
        "accepted", "dead", "rejected", "retry", "throttled", "unknown", "not_sent", "pending",
    ]

    /// `{"total": 3, "accepted": 2, …}`.
    static func counts(_ outcomes: [PushOutcome?]) -> JSONValue {
        var counts: [String: Int] = [:]
        for outcome in outcomes { counts[word(outcome), default: 0] += 1 }
        let members = words.map { JSONMember($0, .integer(counts[$0] ?? 0)) }
        return .object([JSONMember("total", .integer(outcomes.count))] + members)
    }

    /// One entry for each target that did not accept.
    static func failures(_ targets: [PushTarget], _ outcomes: [PushOutcome?]) -> JSONValue {
        .array(
            zip(targets, outcomes).compactMap { target, outcome in
                if case .accepted = outcome { return nil }
                return entry(target, outcome)
            }
        )
    }

    /// One target with its outcome. Tokens are no caller's business.
    static func entry(_ target: PushTarget, _ outcome: PushOutcome?) -> JSONValue {
        var members = [
            JSONMember("userId", .string(target.userID.rawValue)), JSONMember("deviceId", .optional(target.deviceID)),
            JSONMember("provider", .string(target.provider.rawValue)),
            JSONMember("environment", .string(target.environment.rawValue)),
            JSONMember("result", .string(word(outcome))), JSONMember("reason", .optional(outcome?.reason)),
        ]
        if let after = outcome?.retryAfter { members.append(JSONMember("retryAfter", .integer(after.roundedUp))) }
        return .object(members)
    }

    /// Nothing reached a provider, for a reason of ours: the caller is to come again, with the same idempotency key.
    /// - Throws: 503.
    static func check(_ outcomes: [PushOutcome?]) throws(Problem) {
        var reason: String?
        var wait = 1
        for outcome in outcomes {
            guard case .notSent(let why, let after) = outcome else { return }
            reason = reason ?? why
            wait = max(wait, after.map(\.roundedUp) ?? 1)
        }
        guard let reason else { return }
        throw .unavailable(
            slug: "push-unavailable",
            detail: "Nothing was sent (\(reason)).",
            retryAfter: min(wait, 60)
        )
    }

    private static func word(_ outcome: PushOutcome?) -> String { outcome?.word ?? "pending" }
}

extension Duration {
    /// Whole seconds, rounded up, at least one.
    fileprivate var roundedUp: Int { max(1, Int((milliseconds + 999) / 1000)) }
}

extension PushOutcome {
    /// The result in one word.
    var word: String {
        switch self {
        case .accepted: "accepted"
        case .dead: "dead"
        case .rejected: "rejected"
        case .retry: "retry"
        case .throttled: "throttled"
        case .unknown: "unknown"
        case .notSent: "not_sent"
        }
    }

    var reason: String? {
        switch self {
        case .accepted: nil
        case .dead(let reason, _), .rejected(let reason, _), .retry(let reason, _, _), .throttled(let reason, _),
            .unknown(let reason), .notSent(let reason, _):
            reason
        }
    }

    fileprivate var retryAfter: Duration? {
        switch self {
        case .retry(_, _, let after), .throttled(_, let after), .notSent(_, let after): after
        case .accepted, .dead, .rejected, .unknown: nil
        }
    }

    /// Whether the token is of no use any more: the provider says so, or it is no token at all.
    var spendsToken: Bool {
        switch self {
        case .dead: true
        case .rejected(reason: "MalformedDeviceToken", status: nil): true
        default: false
        }
    }

    /// The provider's own timestamp of a dead token.
    var deathMoment: Timestamp? {
        if case .dead(_, let moment) = self { return moment }
        return nil
    }
}

extension Problem {
    static let tooManyPushes = Problem.unavailable(
        slug: "too-many-pushes",
        detail: "Too many pushes are without an answer.",
        retryAfter: 1
    )

    /// 503: this gateway has no credential for the provider.
    static func pushNotConfigured(_ variables: String) -> Problem {
        Problem(
            status: 503,
            slug: "push-not-configured",
            title: "Service unavailable",
            detail: "This gateway cannot send such pushes: \(variables)."
        )
    }

    static let apnsNotConfigured = Problem.pushNotConfigured(
        "set APNS_KEY_FILE, APNS_KEY_ID and APNS_TEAM_ID, or APNS_CERT_FILE"
    )
}
