import Kernel
package import Observability

/// Limits of a server and the SETTINGS that its connections begin with.
package struct HTTP2ServerOptions: Sendable {
    /// Connections open at once; further ones are closed as they come.
    package var maxConnections = 256
    /// MAX_CONCURRENT_STREAMS of a new connection.
    package var maxConcurrentStreams = 1_000
    /// INITIAL_WINDOW_SIZE of a new connection.
    package var initialWindowSize = 65_535
    /// A larger request body is answered with 413.
    package var maxRequestBody = 1024 * 1024
    /// A larger header section, counted as RFC 9113, 6.5.2 does, is answered with 431.
    package var maxRequestHeaders = 16 * 1024
    /// How long a new connection may take to complete TLS.
    package var handshakeTimeout: Duration = .seconds(10)

    package init() {}
}

/// An HTTP/2 server over TLS: one thread with one epoll for all connections, for simulators and tests.
package final class HTTP2Server: Sendable {
    /// The port it listens on.
    package let port: Int
    private let mailbox: ServerMailbox

    private init(port: Int, mailbox: ServerMailbox) {
        self.port = port
        self.mailbox = mailbox
    }

    deinit {
        mailbox.stop()
    }

    /// Starts to listen.
    /// - Parameter port: 0 for any free one.
    package static func start(
        host: String,
        port: Int,
        tls: TLSServerConfiguration,
        options: HTTP2ServerOptions = HTTP2ServerOptions(),
        handler: any HTTP2ServerHandler,
        telemetry: Telemetry
    ) async throws(HTTP2Error) -> HTTP2Server {
        let mailbox = try ServerMailbox()
        let thread = SerialThread(name: "h2-server", capacity: 1)
        let result: Result<Int, HTTP2Error> = await withCheckedContinuation { continuation in
            thread.post {
                blockSignals()
                do throws(HTTP2Error) {
                    let context = try TLSContext(server: tls)
                    let listener = try TCPListener(host: host, port: port)
                    let loop = try ServerLoop(
                        listener: listener,
                        context: context,
                        options: options,
                        handler: handler,
                        mailbox: mailbox,
                        telemetry: telemetry
                    )
                    continuation.resume(returning: .success(listener.port))
                    loop.run()
                } catch {
                    continuation.resume(returning: .failure(error))
                }
                mailbox.finish()
            }
            thread.stop()
        }
        return HTTP2Server(port: try result.get(), mailbox: mailbox)
    }

    /// Says GOAWAY on every connection and closes it. Requests that are not answered yet stay without answer.
    package func stop() async {
        mailbox.stop()
        await mailbox.waitUntilStopped()
    }
}
