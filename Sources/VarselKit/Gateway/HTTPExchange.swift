public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// An answer with its whole body.
public struct HTTPAnswer: Sendable {
    /// The status code.
    public var status: Int
    /// Names in lower case.
    public var headers: [String: String]
    /// The body, empty for none.
    public var body: Data

    /// Wraps an answer; header names may be in any case.
    public init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
        self.status = status
        self.headers = Dictionary(headers.map { ($0.lowercased(), $1) }, uniquingKeysWith: { first, _ in first })
        self.body = body
    }

    /// A header's value, whatever the case of its name.
    public func header(_ name: String) -> String? { headers[name.lowercased()] }
}

/// One HTTP request and its answer.
public protocol HTTPExchange: Sendable {
    /// - Throws: when no answer came.
    func answer(to request: URLRequest) async throws -> HTTPAnswer
}

/// `URLSession` as the gateway's client uses it: no cache, no cookies, ten seconds a request, no redirects, which would carry the bearer
/// elsewhere.
public final class URLSessionExchange: HTTPExchange {
    private let session: URLSession

    /// - Parameter timeout: seconds without a byte after which a request has failed.
    public init(timeout: TimeInterval = 10) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeout
        configuration.timeoutIntervalForResource = 3 * timeout
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpShouldSetCookies = false
        session = URLSession(configuration: configuration, delegate: RedirectRefusal(), delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    /// Sends the request; cancelling the task cancels it.
    public func answer(to request: URLRequest) async throws -> HTTPAnswer {
        let (data, response) = try await session.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers[name] = value }
        }
        return HTTPAnswer(status: response.statusCode, headers: headers, body: data)
    }
}

private final class RedirectRefusal: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
