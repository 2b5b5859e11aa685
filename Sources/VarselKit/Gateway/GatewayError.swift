public import Foundation

/// Why the gateway did not do what was asked.
public enum GatewayError: Error, Sendable, Equatable {
    /// It answered with a problem (RFC 9457).
    case problem(GatewayProblem)
    /// No answer came: offline, timed out, connection lost. What was asked may have been done or not.
    case unreachable(String)
    /// The answer is not what the contract says.
    case unreadable(String)
    /// The request needs a signed-in user and there is none.
    case signedOut

    /// How long the gateway asked to wait, in seconds.
    public var retryAfter: TimeInterval? {
        if case .problem(let problem) = self { problem.retryAfter } else { nil }
    }

    /// Whether the same request may succeed later.
    public var isTemporary: Bool {
        switch self {
        case .problem(let problem): [408, 425, 429, 500, 502, 503, 504].contains(problem.status)
        case .unreachable: true
        case .unreadable, .signedOut: false
        }
    }

    /// What it means for the registration of a token.
    public var syncFailure: TokenSync.Failure {
        switch self {
        case .problem(let problem) where problem.status == 401: .unauthorised
        case .signedOut: .unauthorised
        case .unreadable: .temporary(retryAfter: nil)
        default: isTemporary ? .temporary(retryAfter: retryAfter) : .refused
        }
    }
}

/// A refusal with its reasons.
public struct GatewayProblem: Error, Sendable, Equatable {
    /// One fault among several in the same request.
    public struct Fault: Sendable, Equatable, Decodable {
        /// JSON pointer (RFC 6901) to the member at fault.
        public var pointer: String
        /// What would be right.
        public var detail: String
    }

    /// The HTTP status.
    public var status: Int
    /// What a program tells refusals by, such as `no-such-notification`; empty when the answer was no problem document.
    public var slug: String
    /// For people.
    public var title: String
    /// What was wrong this time.
    public var detail: String?
    /// JSON pointer to the member at fault.
    public var pointer: String?
    /// All faults when there are several.
    public var faults: [Fault]
    /// Finds the request in the gateway's logs.
    public var requestID: String?
    /// How long to wait, in seconds.
    public var retryAfter: TimeInterval?

    private struct Document: Decodable {
        var type: String?
        var title: String?
        var detail: String?
        var pointer: String?
        var errors: [Fault]?
        var requestId: String?
    }

    /// Reads an answer; a body that is no problem document leaves only the status.
    init(_ answer: HTTPAnswer, now: Date) {
        let document = try? JSONDecoder().decode(Document.self, from: answer.body)
        status = answer.status
        slug = document?.type.flatMap { $0.split(separator: ":").last.map(String.init) } ?? ""
        title = document?.title ?? "HTTP \(answer.status)"
        detail = document?.detail
        pointer = document?.pointer
        faults = document?.errors ?? []
        requestID = document?.requestId ?? answer.header("x-request-id")
        retryAfter = answer.header("retry-after").flatMap { RetryAfter.seconds($0, now: now) }
    }
}

/// The header of RFC 9110 section 10.2.3.
enum RetryAfter {
    /// Seconds from `now`, at least 0: of a number of seconds or of an HTTP date.
    static func seconds(_ text: String, now: Date) -> TimeInterval? {
        let text = text.trimmingCharacters(in: .whitespaces)
        if let seconds = Int(text) { return seconds >= 0 ? TimeInterval(seconds) : nil }
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format.date(from: text).map { max(0, $0.timeIntervalSince(now)) }
    }
}
