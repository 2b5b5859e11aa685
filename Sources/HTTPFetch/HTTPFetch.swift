import CCurl
import Kernel
package import Observability
import Synchronization

/// An HTTP client for everything that is not a push: tokens, key sets, revocation lists, Apple's server API.
///
/// It is libcurl on a thread of its own. Requests wait in a bounded line, a bounded number is under way, every one ends at a
/// deadline. Proxies of the environment are not used. Nothing is sent twice: libcurl silently repeats a request when a reused
/// connection turns out to be closed, so a POST gets a connection of its own.
package final class HTTPFetch: Sendable {
    private let mailbox: FetchMailbox
    private let options: FetchOptions
    private let metrics: FetchMetrics

    package init(options: FetchOptions, telemetry: Telemetry) {
        self.options = options
        metrics = FetchMetrics(telemetry.metrics, client: options.name)
        mailbox = FetchMailbox(waitingLimit: options.waitingLimit)
        let thread = SerialThread(name: "fetch-\(options.name)", capacity: 1)
        let mailbox = mailbox
        thread.post {
            FetchLoop(mailbox: mailbox, options: options).run()
        }
        thread.stop()
    }

    deinit {
        mailbox.close()
    }

    /// Sends a request and waits for the complete answer. Cancelling the task breaks the transfer off.
    package func send(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        let started = ContinuousClock.now
        let result = await result(of: request)
        metrics.count(result, took: ContinuousClock.now - started)
        return try result.get()
    }

    private func result(of request: FetchRequest) async -> Result<FetchResponse, FetchError> {
        do throws(FetchError) {
            try FetchRules.check(request, options)
        } catch {
            return .failure(error)
        }
        let ticket = FetchTicket()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                mailbox.post(FetchOrder(request: request, ticket: ticket) { continuation.resume(returning: $0) })
            }
        } onCancel: {
            ticket.cancel()
            mailbox.wake()
        }
    }

    /// Takes no more requests and breaks off those under way. Returns when all is done.
    package func close() async {
        mailbox.close()
        await mailbox.waitUntilEnded()
    }
}

/// A client's metrics.
struct FetchMetrics: Sendable {
    private let registry: MetricsRegistry
    private let client: String
    private let duration: Histogram

    init(_ registry: MetricsRegistry, client: String) {
        self.registry = registry
        self.client = client
        duration = registry.histogram(
            "fetch_duration_seconds",
            help: "HTTP requests of this process, waiting included.",
            labels: [("client", client)]
        )
    }

    func count(_ result: Result<FetchResponse, FetchError>, took: Duration) {
        duration.observe(took)
        let outcome =
            switch result {
            case .success(let response): "\(response.status / 100)xx"
            case .failure(let error): error.code.rawValue
            }
        registry.counter(
            "fetch_requests_total",
            help: "HTTP requests of this process, by class of status or kind of failure.",
            labels: [("client", client), ("outcome", outcome)]
        )
        .increment()
    }
}
