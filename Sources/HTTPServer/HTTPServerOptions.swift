/// Settings of the socket side of a server. Every wait has a limit, and so has every queue.
package struct HTTPServerOptions: Sendable {
    /// `host:port`; port 0 takes a free one.
    package var listen: String
    /// Threads that read and write sockets; handlers run on the cooperative pool.
    package var threads: Int
    /// Open connections; more wait in the kernel's queue.
    package var connections: Int
    /// Requests whose handlers may run at once; more are answered 503.
    package var runningRequests: Int
    /// The request line and header fields together, in bytes.
    package var headerBytes: Int
    /// A body beyond its route's limit is still read up to this size, so that the refusal reaches the client; beyond it the
    /// connection is closed.
    package var discardedBytes: Int
    /// The bodies held at once over all connections, in bytes; a request beyond it is answered 503.
    package var bodyBudget: Int
    /// From a connection's start or a request's first line until the request is complete.
    package var receiveTimeout: Duration
    /// How long a connection may wait for its next request.
    package var idleTimeout: Duration
    /// How long a client may take to read an answer.
    package var sendTimeout: Duration
    /// How long a handler may take; then the client is answered 503 and the handler cancelled.
    package var requestDeadline: Duration

    package init(
        listen: String,
        threads: Int = 2,
        connections: Int = 4096,
        runningRequests: Int = 1024,
        headerBytes: Int = 16 * 1024,
        discardedBytes: Int = 1024 * 1024,
        bodyBudget: Int = 64 * 1024 * 1024,
        receiveTimeout: Duration = .seconds(20),
        idleTimeout: Duration = .seconds(75),
        sendTimeout: Duration = .seconds(30),
        requestDeadline: Duration = .seconds(10)
    ) {
        self.listen = listen
        self.threads = threads
        self.connections = connections
        self.runningRequests = runningRequests
        self.headerBytes = headerBytes
        self.discardedBytes = discardedBytes
        self.bodyBudget = bodyBudget
        self.receiveTimeout = receiveTimeout
        self.idleTimeout = idleTimeout
        self.sendTimeout = sendTimeout
        self.requestDeadline = requestDeadline
    }
}
