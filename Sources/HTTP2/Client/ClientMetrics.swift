import Observability

/// The counters of all client connections of a process.
struct ClientMetrics {
    let opened: Counter
    let answered: Counter
    let closed: Counter
    let stalled: Counter
    private let failed: [HTTP2Error.Code: Counter]
    private let connectFailed: [HTTP2Error.Code: Counter]

    init(_ metrics: MetricsRegistry) {
        opened = metrics.counter("http2_client_connections_opened_total", help: "Connections that were made.")
        closed = metrics.counter("http2_client_connections_closed_total", help: "Connections that ended.")
        stalled = metrics.counter(
            "http2_client_connections_stalled_total",
            help: "Connections that were declared dead because the peer gave no sign of life or answered no request."
        )
        answered = metrics.counter("http2_client_responses_total", help: "Requests that got a complete answer.")
        var failed: [HTTP2Error.Code: Counter] = [:]
        var connectFailed: [HTTP2Error.Code: Counter] = [:]
        for code in HTTP2Error.Code.allCases {
            failed[code] = metrics.counter(
                "http2_client_failures_total",
                help: "Requests on a connection that got no answer.",
                labels: [("code", code.rawValue)]
            )
        }
        for code in [HTTP2Error.Code.connectFailed, .tlsFailed, .alpnMissing, .connectionLost] {
            connectFailed[code] = metrics.counter(
                "http2_client_connect_failures_total",
                help: "Connections that could not be made.",
                labels: [("code", code.rawValue)]
            )
        }
        self.failed = failed
        self.connectFailed = connectFailed
    }

    func failed(_ code: HTTP2Error.Code) {
        failed[code]?.increment()
    }

    func connectFailed(_ code: HTTP2Error.Code) {
        connectFailed[code]?.increment()
    }
}
