package import Kernel
import Notifications
package import Observability
import Signing

/// Carries pushes to Apple and Google and says what became of each.
///
/// It sends again by itself only what provably was not processed. Every answer, and every push that may have been accepted,
/// goes back to the caller, who knows what a repetition means.
package final class PushTransport: Sendable {
    /// How the transport is doing, for `readyz` and operators.
    package struct Health: Sendable, Equatable {
        /// Connections that carry pushes.
        package let connections: Int
        /// Pushes on a stream, without an answer yet.
        package let inFlight: Int
        /// Pushes that wait for a stream.
        package let waiting: Int
        /// What keeps pushes from being sent, by Apple's environment, and `fcm`.
        package let problems: [String: String]
    }

    /// Production, then sandbox; none without a credential for Apple.
    private let apns: [APNsPool]
    private let fcm: FCMTransport?
    private let metrics: TransportMetrics
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameters:
    ///   - configuration: `nil` leaves devices of Apple's service unreachable.
    ///   - fcm: `nil` leaves devices of Google's service unreachable.
    ///   - wallClock: dates the provider tokens.
    ///   - now: a monotonic clock, for ages and waits.
    package init(
        configuration: APNsConfiguration?,
        fcm: FCMConfiguration? = nil,
        telemetry: Telemetry,
        wallClock: any WallClock = SystemWallClock(),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        let metrics = TransportMetrics(telemetry.metrics)
        apns = configuration.map { Self.pools($0, metrics, telemetry, wallClock, now) } ?? []
        self.fcm = fcm.map { FCMTransport(configuration: $0, telemetry: telemetry, wallClock: wallClock, now: now) }
        self.metrics = metrics
        self.now = now
        for pool in apns { Self.registerGauges(of: pool, telemetry.metrics) }
    }

    private static func pools(
        _ configuration: APNsConfiguration,
        _ metrics: TransportMetrics,
        _ telemetry: Telemetry,
        _ wallClock: any WallClock,
        _ now: @escaping @Sendable () -> ContinuousClock.Instant
    ) -> [APNsPool] {
        let tokens: ProviderTokenSource?
        let certificate: CertificateWatch?
        switch configuration.credential {
        case .token(let key, let teamID):
            certificate = nil
            tokens = ProviderTokenSource(
                key: key,
                teamID: teamID,
                vault: configuration.vault,
                wallClock: wallClock,
                now: now,
                logger: telemetry.logger,
                onMint: { metrics.mints.increment() }
            )
        case .certificate(let shown):
            tokens = nil
            certificate = CertificateWatch(shown, wallClock: wallClock, telemetry: telemetry)
        }
        return [PushEnvironment.production, .sandbox].map { environment in
            APNsPool(
                environment: environment,
                configuration: configuration,
                tokens: tokens,
                certificate: certificate,
                metrics: metrics,
                telemetry: telemetry,
                now: now
            )
        }
    }

    private static func registerGauges(of pool: APNsPool, _ metrics: MetricsRegistry) {
        let labels = [("environment", pool.environment.rawValue)]
        metrics.gauge("apns_connections", help: "Open connections.", labels: labels) { [weak pool] in
            Double(pool?.connections ?? 0)
        }
        metrics.gauge("apns_in_flight", help: "Pushes without an answer.", labels: labels) { [weak pool] in
            Double(pool?.inFlight ?? 0)
        }
        metrics.gauge("apns_waiting", help: "Pushes waiting for a stream.", labels: labels) { [weak pool] in
            Double(pool?.waiting ?? 0)
        }
        metrics.gauge(
            "apns_problem",
            help: "1 while pushes are kept from being sent: the account is refused, Apple cannot be reached.",
            labels: labels
        ) { [weak pool] in
            pool?.problem == nil ? 0 : 1
        }
    }

    /// Sends one push. `completion` is called exactly once, on any thread, and must not block.
    package func send(_ request: PushRequest, completion: @escaping @Sendable (PushOutcome) -> Void) {
        if request.provider == .fcm, let fcm { return fcm.send(request, completion: completion) }
        let moment = now()
        guard request.provider == .apns, let pool = apns.first(where: { $0.environment == request.environment }) else {
            return refuse("ProviderNotConfigured", moment, completion)
        }
        guard let deviceToken = DeviceToken.normalised(request.deviceToken) else {
            return refuse("MalformedDeviceToken", moment, completion)
        }
        if let reason = PushRules.refusal(request) { return refuse(reason, moment, completion) }
        let order = PendingPush.Order(
            request: request,
            deviceToken: deviceToken,
            topic: request.pushType.topic(request.topic),
            submittedAt: moment,
            completion: completion
        )
        pool.submit(order)
    }

    /// Sends one push and waits for what becomes of it.
    package func send(_ request: PushRequest) async -> PushOutcome {
        await withCheckedContinuation { continuation in
            send(request) { continuation.resume(returning: $0) }
        }
    }

    /// Takes no more pushes, gives back those that wait as `notSent`, and waits for the answers still due, at most until the
    /// deadline; what has none by then ends as `unknown`.
    package func drain(deadline: Duration) async {
        let pools = pools
        let timer = Task {
            try await Task.sleep(for: deadline)
            for pool in pools { pool.dropConnections() }
        }
        await withTaskGroup { group in
            for pool in pools { group.addTask { await pool.drain() } }
        }
        timer.cancel()
        for pool in pools { pool.dropConnections() }
    }

    /// Ends everything at once.
    package func close() async {
        for pool in pools {
            pool.dropConnections()
            await pool.drain()
        }
        await fcm?.close()
    }

    package var health: Health {
        let pools = pools
        let problems = pools.compactMap { pool in pool.problem.map { (pool.name, $0) } }
        return Health(
            connections: pools.reduce(0) { $0 + $1.connections },
            inFlight: pools.reduce(0) { $0 + $1.inFlight },
            waiting: pools.reduce(0) { $0 + $1.waiting },
            problems: Dictionary(uniqueKeysWithValues: problems)
        )
    }

    private var pools: [any PushPool] {
        apns + (fcm.map { [$0.pool] } ?? [])
    }

    private func refuse(
        _ reason: String,
        _ moment: ContinuousClock.Instant,
        _ completion: @Sendable (PushOutcome) -> Void
    ) {
        let outcome = PushOutcome.rejected(reason: reason, status: nil)
        metrics.count(outcome, took: now() - moment)
        completion(outcome)
    }
}
