public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Speaks to the gateway for an app (I3). Every call throws `GatewayError`, or `CancellationError` when its task was cancelled.
///
/// What may be repeated without harm is repeated when no answer came or the gateway is busy, and the gateway's `Retry-After` is
/// honoured; everything else is sent once.
public struct GatewayClient: Sendable {
    /// How often and how long it tries.
    public struct RetryPolicy: Sendable {
        /// Requests for one call at most, 1 for no repetition.
        public var attempts: Int
        /// The wait before the second request, doubled each time, in seconds.
        public var firstWait: TimeInterval
        /// A `Retry-After` beyond this ends the call, in seconds: the caller decides then.
        public var longestWait: TimeInterval

        /// Describes a policy.
        public init(attempts: Int = 3, firstWait: TimeInterval = 0.5, longestWait: TimeInterval = 30) {
            self.attempts = max(1, attempts)
            self.firstWait = firstWait
            self.longestWait = longestWait
        }
    }

    /// The gateway's address, such as `https://push.example.com`.
    public let baseURL: URL
    let exchange: any HTTPExchange
    let retries: RetryPolicy
    let bearer: @Sendable () async throws -> String?
    let sleep: @Sendable (TimeInterval) async throws -> Void
    let now: @Sendable () -> Date

    /// - Parameters:
    ///   - bearer: the access token of the user who is signed in, `nil` when nobody is. Asked for each request.
    ///   - sleep: waits that many seconds.
    ///   - now: the time, against which a `Retry-After` that names a date is read.
    public init(
        baseURL: URL,
        exchange: any HTTPExchange = URLSessionExchange(),
        retries: RetryPolicy = RetryPolicy(),
        bearer: @escaping @Sendable () async throws -> String?,
        sleep: @escaping @Sendable (TimeInterval) async throws -> Void = { try await Task.sleep(for: .seconds($0)) },
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.baseURL = baseURL
        self.exchange = exchange
        self.retries = retries
        self.bearer = bearer
        self.sleep = sleep
        self.now = now
    }

    /// The same client for another bearer: one that is about to be forgotten, at logout.
    public func with(bearer: String?) -> GatewayClient {
        GatewayClient(
            baseURL: baseURL,
            exchange: exchange,
            retries: retries,
            bearer: { bearer },
            sleep: sleep,
            now: now
        )
    }

    /// A request before it has an address and a bearer.
    struct Call {
        var method: String
        var path: [String]
        var query: [URLQueryItem] = []
        var body: Data?
        /// Whether doing it twice is the same as doing it once.
        var isIdempotent = true
        /// Whether it is sent without a bearer when nobody is signed in.
        var isOpen = false
    }

    @discardableResult
    func send(_ call: Call) async throws -> HTTPAnswer {
        let request = try await request(call)
        var attempt = 1
        while true {
            let failure: GatewayError
            do {
                let answer = try await exchange.answer(to: request)
                if (200..<300).contains(answer.status) { return answer }
                failure = .problem(GatewayProblem(answer, now: now()))
            } catch {
                try Task.checkCancellation()
                failure = .unreachable(Self.describe(error))
            }
            guard call.isIdempotent, failure.isTemporary, attempt < retries.attempts else { throw failure }
            let wait = failure.retryAfter ?? retries.firstWait * pow(2, Double(attempt - 1))
            guard wait <= retries.longestWait else { throw failure }
            try await sleep(wait)
            attempt += 1
        }
    }

    func data<Value: Decodable>(_ call: Call, as type: Value.Type) async throws -> Value {
        let answer = try await send(call)
        do {
            return try GatewayCoding.decoder.decode(Envelope<Value>.self, from: answer.body).data
        } catch {
            throw GatewayError.unreadable("\(call.method) \(call.path.first ?? ""): \(Self.describe(error))")
        }
    }

    private func request(_ call: Call) async throws -> URLRequest {
        var parts = URLComponents(url: baseURL, resolvingAgainstBaseURL: false)
        let base = (parts?.percentEncodedPath ?? "").split(separator: "/").map(String.init)
        parts?.percentEncodedPath = "/" + (base + call.path.map(LinkTemplate.escaped)).joined(separator: "/")
        if !call.query.isEmpty { parts?.queryItems = call.query }
        guard let url = parts?.url else { throw GatewayError.unreadable("no address can be made of \(baseURL)") }
        var request = URLRequest(url: url)
        request.httpMethod = call.method
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        if let body = call.body {
            request.httpBody = body
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        if let token = try await bearer() {
            request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        } else if !call.isOpen {
            throw GatewayError.signedOut
        }
        return request
    }

    /// Errors of the system may hold the address, and with it a token: only their kind is told.
    private static func describe(_ error: any Error) -> String {
        if let error = error as? URLError { return "URLError \(error.code.rawValue)" }
        return String(describing: type(of: error))
    }
}

private struct Envelope<Value: Decodable>: Decodable {
    let data: Value
}

/// JSON as the gateway writes it.
enum GatewayCoding {
    static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            guard let date = date(text) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "no RFC 3339 time")
            }
            return date
        }
        return decoder
    }

    static func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(text(date))
        }
        return try encoder.encode(value)
    }

    /// RFC 3339 with milliseconds, in UTC.
    static func text(_ date: Date) -> String {
        let format = ISO8601DateFormatter()
        format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        return format.string(from: date)
    }

    /// Reads RFC 3339 with or without a fraction.
    static func date(_ text: String) -> Date? {
        let format = ISO8601DateFormatter()
        format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        if let date = format.date(from: text) { return date }
        format.formatOptions = [.withInternetDateTime]
        return format.date(from: text)
    }
}
