/// A request on its way, from the mailbox to its completion.
///
/// Unchecked, because the compiler cannot see that it has one owner at a time: the caller who makes it, the mailbox under its
/// lock, and from then on the connection's thread.
final class ClientStream: @unchecked Sendable {
    typealias Completion = @Sendable (Result<HTTP2Response, HTTP2Error>) -> Void

    /// What is sent.
    enum Content {
        case plain(HTTP2Request)
        case prepared(HTTP2PreparedRequest)

        var weight: Int {
            switch self {
            case .plain(let request): request.weight
            case .prepared(let request): request.weight
            }
        }

        var body: [UInt8] {
            switch self {
            case .plain(let request): request.body
            case .prepared(let request): request.body
            }
        }
    }

    /// Lives as long as the stream: nghttp2 points into what a prepared request shares.
    let content: Content
    let deadline: MonotonicTime
    /// Set by the mailbox.
    var id: UInt64 = 0
    var streamID: Int32 = 0
    var bodyOffset = 0
    /// Called exactly once; then `nil`.
    private(set) var completion: Completion?
    /// The first result; set when the completion has been handed over.
    private(set) var result: Result<HTTP2Response, HTTP2Error>?
    /// HEADERS are in the output: from here on the peer may have seen the request.
    var headersSent = false
    /// The request is sent to its end.
    var localEnded = false
    /// The answer is there to its end.
    var remoteEnded = false
    var status = 0
    var fields = HeaderFields()
    var headerSize = 0
    var body: [UInt8] = []

    init(_ content: Content, deadline: MonotonicTime, completion: @escaping Completion) {
        self.content = content
        self.deadline = deadline
        self.completion = completion
    }

    /// The stream has its result.
    var isFinished: Bool { result != nil }

    var processedState: HTTP2Error.ProcessedState { headersSent ? .unknown : .no }

    /// Sets the result.
    /// - Returns: whether it is the first.
    func finish(_ result: Result<HTTP2Response, HTTP2Error>) -> Bool {
        guard self.result == nil else { return false }
        self.result = result
        return true
    }

    /// Calls the completion with the result, once.
    func complete() {
        guard let result, let completion else { return }
        self.completion = nil
        completion(result)
    }
}
