import HTTP2
import Kernel
import Observability
import Synchronization

/// How connections come and go, and what readiness hears of it.
extension FCMPool {
    func connect(lane: Int, generation: Int) async {
        if state.withLock({ $0.machine.isClosing }) {
            return run { state in state.machine.connectFailed(lane: lane, generation: generation, now: now()) }
        }
        do {
            _ = try await tokens.token()
        } catch {
            // What no repetition mends stops the pool as a refused push would; the rest is an outage.
            let isFinal = [.refused, .malformed, .signing].contains(error.code)
            failed("NoAccessToken", isFinal: isFinal, lane: lane, generation: generation)
            return
        }
        var options = HTTP2ClientOptions()
        options.connectTimeout = configuration.connectTimeout
        options.stallAfter = .seconds(10)
        options.maxConcurrentStreams = max(configuration.streams, 1)
        options.answerAfter = configuration.stallLimit
        options.keptHeaders = ["retry-after"]
        // Google sends connections away that ask for a sign of life too often.
        options.idlePingAfter = .seconds(900)
        let connection: HTTP2ClientConnection
        do {
            connection = try await HTTP2ClientConnection.connect(
                host: configuration.host,
                port: configuration.port,
                tls: TLSClientConfiguration(
                    trust: configuration.trustedPEM.map { .certificates(pem: $0) } ?? .systemStore
                ),
                options: options,
                telemetry: telemetry
            )
        } catch {
            logger.warning(
                "connecting to FCM failed",
                ["error": .error(error), "host": .string(configuration.host)]
            )
            failed(error.code.rawValue, isFinal: false, lane: lane, generation: generation)
            return
        }
        logger.info("connected to FCM", ["host": .string(configuration.host)])
        run { state in
            state.failures = 0
            state.live[lane] = Live(connection: connection, generation: generation)
            return state.machine.connected(
                lane: lane,
                generation: generation,
                peerLimit: connection.state.peerMaxConcurrentStreams,
                now: now()
            )
        }
        connection.onStateChange { [self] news in stateChanged(news, lane: lane, generation: generation) }
        reportHealth()
    }

    /// No connection was made. What waits goes back when there is no other, and what comes meanwhile too.
    private func failed(_ reason: String, isFinal: Bool, lane: Int, generation: Int) {
        // Before anyone hears of it, so that a caller who asks finds the reason.
        if isFinal || connections == 0 { telemetry.health.set(name, problem: reason) }
        run { state in
            let moment = now()
            var actions: [PoolMachine.Action] = []
            if isFinal {
                actions += state.machine.stop(reason: reason, now: moment)
            } else if state.machine.connections == 0, state.machine.pauseReason(now: moment) == nil {
                let wait = configuration.reconnect.delay(attempt: state.failures, using: &state.generator)
                state.failures += 1
                actions += state.machine.hold(reason: reason, for: wait, now: moment)
            }
            return actions + state.machine.connectFailed(lane: lane, generation: generation, now: moment)
        }
        reportHealth()
        reportWhenPauseEnds()
    }

    private func stateChanged(_ news: HTTP2ClientConnection.State, lane: Int, generation: Int) {
        if news.isClosing {
            if let reason = news.goAwayReason {
                logger.info("FCM ends a connection", ["reason": .string(String(reason.prefix(64)))])
            }
            run { state in state.machine.closing(lane: lane, generation: generation, now: now()) }
        } else {
            run { state in
                state.machine.limitChanged(
                    lane: lane,
                    generation: generation,
                    peerLimit: news.peerMaxConcurrentStreams,
                    now: now()
                )
            }
        }
    }

    /// Without a push that connects anew nobody else would take the condition back.
    func reportWhenPauseEnds() {
        guard let rest = state.withLock({ $0.machine.pauseRest(now: now()) }) else { return }
        reportHealth()
        later(rest + .milliseconds(1)) { $0.reportHealth() }
    }

    func reportHealth() {
        telemetry.health.set(name, problem: problem)
    }
}
