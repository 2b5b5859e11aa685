import HTTPFetch
import Kernel
import Observability

/// Everything of FCM behind one door: rules, access tokens and connections.
final class FCMTransport: Sendable {
    let pool: FCMPool
    private let fetch: HTTPFetch
    private let metrics: FCMMetrics
    private let wallClock: any WallClock
    private let now: @Sendable () -> ContinuousClock.Instant

    init(
        configuration: FCMConfiguration,
        telemetry: Telemetry,
        wallClock: any WallClock,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        let metrics = FCMMetrics(telemetry.metrics)
        var options = FetchOptions(name: "oauth")
        // A token endpoint on the loopback is a simulator's or a proxy's; others were refused with the credentials.
        options.plainHTTP = .loopback
        options.bodyLimit = AccessTokenExchange.bodyLimit
        fetch = HTTPFetch(options: options, telemetry: telemetry)
        let issuer: any AccessTokenIssuing =
            switch configuration.credential {
            case .serviceAccount(let account):
                AccessTokenExchange(account: account, fetch: fetch, wallClock: wallClock)
            case .command(let command): command
            }
        let logger = telemetry.logger.with(["provider": "fcm"])
        let tokens = AccessTokenSource(issuer: issuer, backoff: configuration.reconnect, now: now) { result in
            switch result {
            case .success: metrics.countToken("issued")
            case .failure(let error):
                metrics.countToken(error.code.rawValue)
                logger.error("no access token for FCM", ["error": .error(error)])
            }
        }
        pool = FCMPool(configuration: configuration, tokens: tokens, metrics: metrics, telemetry: telemetry, now: now)
        self.metrics = metrics
        self.wallClock = wallClock
        self.now = now
        let gauges: [(String, String, @Sendable (FCMPool) -> Int)] = [
            ("fcm_connections", "Open connections.", { $0.connections }),
            ("fcm_in_flight", "Pushes without an answer.", { $0.inFlight }),
            ("fcm_waiting", "Pushes waiting for a stream.", { $0.waiting }),
        ]
        for (name, help, read) in gauges {
            telemetry.metrics.gauge(name, help: help) { [weak pool] in Double(pool.map(read) ?? 0) }
        }
        telemetry.metrics.gauge("fcm_problem", help: "1 while pushes are kept from being sent.") { [weak pool] in
            pool?.problem == nil ? 0 : 1
        }
    }

    /// Sends one push. `completion` is called exactly once, on any thread, and must not block.
    func send(_ request: PushRequest, completion: @escaping @Sendable (PushOutcome) -> Void) {
        let moment = now()
        var request = request
        do throws(FCMMessage.Refusal) {
            request.payload = try FCMMessage.make(request, now: wallClock.now)
        } catch {
            let outcome = PushOutcome.rejected(reason: error.reason, status: nil)
            metrics.count(outcome, took: now() - moment)
            return completion(outcome)
        }
        pool.submit(
            PendingPush.Order(
                request: request,
                deviceToken: request.deviceToken,
                topic: request.topic,
                submittedAt: moment,
                completion: completion
            )
        )
    }

    /// Ends what only this class owns; the pool is ended by the transport.
    func close() async {
        await fetch.close()
    }
}
