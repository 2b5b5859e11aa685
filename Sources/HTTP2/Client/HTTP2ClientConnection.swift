import Kernel
package import Observability

/// One HTTP/2 connection over TLS to one peer, on a thread of its own.
///
/// Every request ends in exactly one call of its completion. Nothing is ever sent twice: an error says whether the peer may
/// have acted on the request, and whoever owns the request decides. A broken connection stays broken; a new one is made with
/// `connect`.
package final class HTTP2ClientConnection: Sendable {
    /// What the owner of a connection sees of it.
    package struct State: Sendable, Equatable {
        /// Streams the peer allows now, bounded by the options; it may change at any time, also downwards.
        package var peerMaxConcurrentStreams = 0
        /// Requests that were taken and whose streams have not closed.
        package var activeStreams = 0
        /// No more requests are taken.
        package var isClosing = false
        /// The connection is gone and every completion has been called or is about to be.
        package var isClosed = false
        /// What the peer's GOAWAY said: its opaque data as text, or the error code where there was none.
        package var goAwayReason: String?
        /// The peer's first SETTINGS have come; true for every connection that `connect` returned.
        package var settingsReceived = false
        /// Requests that timed out since the last answer: a peer that takes requests and answers PING but nothing else.
        package var timeoutsInARow = 0

        package init() {}
    }

    private let mailbox: ClientMailbox

    private init(mailbox: ClientMailbox) {
        self.mailbox = mailbox
    }

    deinit {
        mailbox.close(by: .now)
    }

    /// Looks the host up, connects, completes TLS and waits for the peer's SETTINGS.
    ///
    /// Cancelling the task does not shorten the wait, which `options.connectTimeout` bounds.
    package static func connect(
        host: String,
        port: Int,
        tls: TLSClientConfiguration,
        options: HTTP2ClientOptions = HTTP2ClientOptions(),
        telemetry: Telemetry
    ) async throws(HTTP2Error) -> HTTP2ClientConnection {
        let mailbox = try ClientMailbox(options: options)
        let thread = SerialThread(name: "h2-client", capacity: 1)
        let result: Result<Void, HTTP2Error> = await withCheckedContinuation { continuation in
            thread.post {
                blockSignals()
                let connector = ClientConnector(host: host, port: port, tls: tls, options: options)
                let loop = ClientLoop(mailbox: mailbox, options: options, telemetry: telemetry)
                loop.run(connector) { continuation.resume(returning: $0) }
            }
            thread.stop()
        }
        try result.get()
        return HTTP2ClientConnection(mailbox: mailbox)
    }

    /// The present state.
    package var state: State { mailbox.state }

    /// Sets who is told when the state changes: SETTINGS, streams freed, GOAWAY, closed. It is called on the connection's
    /// thread, once soon after this call and after each turn of the thread that changed something; it must not block.
    package func onStateChange(_ handler: @escaping @Sendable (State) -> Void) {
        mailbox.listen(handler)
    }

    /// Sends a request; the hot path, without a task for each stream.
    /// - Parameters:
    ///   - timeout: from now to the complete answer.
    ///   - completion: called exactly once, on the connection's thread, or before this returns when the request is refused.
    ///     It must not block.
    package func send(
        _ request: HTTP2Request,
        timeout: Duration,
        completion: @escaping @Sendable (Result<HTTP2Response, HTTP2Error>) -> Void
    ) {
        let stream = ClientStream(.plain(request), deadline: .now + timeout, completion: completion)
        if case .failure(let error) = mailbox.post(stream) { completion(.failure(error)) }
    }

    /// As above, for a request whose fields are laid out already.
    package func send(
        _ request: HTTP2PreparedRequest,
        timeout: Duration,
        completion: @escaping @Sendable (Result<HTTP2Response, HTTP2Error>) -> Void
    ) {
        let stream = ClientStream(.prepared(request), deadline: .now + timeout, completion: completion)
        if case .failure(let error) = mailbox.post(stream) { completion(.failure(error)) }
    }

    /// Sends a request and waits for the answer. Cancelling the task resets the stream.
    package func send(_ request: HTTP2Request, timeout: Duration) async throws(HTTP2Error) -> HTTP2Response {
        let canceller = RequestCanceller(mailbox: mailbox)
        let result: Result<HTTP2Response, HTTP2Error> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let stream = ClientStream(.plain(request), deadline: .now + timeout) {
                    continuation.resume(returning: $0)
                }
                switch mailbox.post(stream) {
                case .success(let id): canceller.began(id)
                case .failure(let error): continuation.resume(returning: .failure(error))
                }
            }
        } onCancel: {
            canceller.cancel()
        }
        return try result.get()
    }

    /// Asks the peer for a sign of life.
    package func ping(timeout: Duration) async throws(HTTP2Error) {
        let result: Result<Void, HTTP2Error> = await withCheckedContinuation { continuation in
            mailbox.post(ClientMailbox.Ping(deadline: .now + timeout) { continuation.resume(returning: $0) })
        }
        try result.get()
    }

    /// Takes no more requests, waits for those under way, at most `drain`, and closes. Returns when all is done.
    package func close(drain: Duration) async {
        mailbox.close(by: .now + drain)
        await mailbox.waitUntilClosed()
    }
}
