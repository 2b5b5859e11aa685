/// A request on its way, from the mailbox to its completion.
final class ClientStream {
    typealias Completion = @Sendable (Result<HTTP2Response, HTTP2Error>) -> Void

    let id: UInt64
    var streamID: Int32 = 0
    /// What is left of the body from `bodyOffset` on is still to be sent.
    var requestBody: [UInt8]
    var bodyOffset = 0
    /// Called exactly once; then `nil`.
    private(set) var completion: Completion?
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

    init(id: UInt64, body: [UInt8], completion: @escaping Completion) {
        self.id = id
        requestBody = body
        self.completion = completion
    }

    /// The completion has been handed over.
    var isFinished: Bool { completion == nil }

    var processedState: HTTP2Error.ProcessedState { headersSent ? .unknown : .no }

    /// Hands the completion over to the caller, who then owes the call.
    func takeCompletion() -> Completion? {
        defer { completion = nil }
        return completion
    }
}
