import HTTP2
import Kernel
import Notifications
import Observability
import Synchronization

/// How connections come and go.
extension APNsPool {
    func connect(lane: Int, generation: Int) async {
        guard !state.withLock({ $0.machine.isClosing }) else { return }
        var options = HTTP2ClientOptions()
        options.connectTimeout = configuration.connectTimeout
        options.lookUpName = configuration.lookUpName
        options.maxConcurrentStreams = max(configuration.streams, 1)
        options.keptHeaders = APNsRequest.answerHeaders
        options.stallAfter = .seconds(10)
        options.answerAfter = configuration.stallLimit
        // Finds out about a connection that a firewall forgot before a push does.
        options.idlePingAfter = .seconds(120)
        let connection: HTTP2ClientConnection
        do {
            try certificate?.check()
            await tokens?.prepare()
            connection = try await HTTP2ClientConnection.connect(
                host: host,
                port: configuration.port,
                tls: TLSClientConfiguration(
                    trust: configuration.trustedPEM.map { .certificates(pem: $0) } ?? .systemStore,
                    identity: certificate?.identity
                ),
                options: options,
                telemetry: telemetry
            )
        } catch {
            logger.warning("connecting to APNs failed", ["error": .error(error), "host": .string(host)])
            run { state in
                state.connectProblem = "\(error)"
                return state.machine.connectFailed(lane: lane, generation: generation, now: now())
            }
            reportHealth()
            return
        }
        logger.info("connected to APNs", ["host": .string(host)])
        run { state in
            state.connectProblem = nil
            state.live[lane] = Live(
                connection: connection,
                generation: generation,
                shared: APNsRequest.Shared(authority: host, authorization: nil)
            )
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

    private func stateChanged(_ news: HTTP2ClientConnection.State, lane: Int, generation: Int) {
        guard news.isClosing else {
            run { state in
                state.machine.limitChanged(
                    lane: lane,
                    generation: generation,
                    peerLimit: news.peerMaxConcurrentStreams,
                    now: now()
                )
            }
            return
        }
        run { state in state.machine.closing(lane: lane, generation: generation, now: now()) }
        // The news of one GOAWAY comes with every later change of the connection too.
        guard let text = news.goAwayReason, state.withLock({ $0.isFirstGoAway(lane: lane, generation: generation) })
        else { return }
        let reason = APNsReason.inGoAway(text)
        logger.warning("APNs ends a connection", ["reason": .string(reason)])
        // Apple answers a certificate or a key of the wrong environment with GOAWAY alone: connecting again mends nothing.
        if APNsReason.stopsPool(reason) { stop(for: reason) }
    }

    // MARK: Reporting

    var healthName: String { "apns-\(environment.rawValue)" }

    /// What keeps pushes from being sent, in words for an operator.
    var problem: String? {
        state.withLock { state in
            if let reason = state.machine.pauseReason(now: now()) { return APNsReason.problem(reason) }
            if state.machine.isUnreachable {
                return "APNs cannot be reached: \(state.connectProblem ?? "no reason given")"
            }
            let open = state.breakers.open
            guard !open.isEmpty else { return nil }
            return
                "too many bad device tokens for \(open.joined(separator: ", ")): check APNS_ENVIRONMENT and the topic"
        }
    }

    /// Without a push that connects anew nobody else would take the condition back.
    func reportWhenPauseEnds() {
        guard let rest = state.withLock({ $0.machine.pauseRest(now: now()) }) else { return }
        later(rest + .milliseconds(1)) { $0.reportHealth() }
    }

    func reportHealth() {
        telemetry.health.set(healthName, problem: problem)
    }

    func report(_ change: DeadTokenBreaker.Change, topic: String) {
        switch change {
        case .none: return
        case .opened:
            metrics.breakerOpened.increment()
            logger.error(
                "too many device tokens are called bad: check APNS_ENVIRONMENT and the topic; none is removed",
                ["topic": .string(topic)]
            )
        case .closed:
            logger.info("device tokens are believed again", ["topic": .string(topic)])
        }
        reportHealth()
    }

    func log(_ answer: APNsAnswer, _ push: PendingPush, _ decision: AnswerDecision) {
        let fields: KeyValuePairs<String, JSONValue> = [
            "status": .integer(answer.status),
            "reason": .string(answer.reason),
            "token": .string(push.order.deviceToken.shortened),
            "apnsId": .string(answer.apnsID.isEmpty ? push.order.request.messageID.description : answer.apnsID),
            "messageId": .string(push.order.request.messageID.description),
            "topic": .string(push.order.topic),
        ]
        if decision.stop != nil || decision.stopTopic != nil {
            logger.error("APNs refuses our account or configuration", fields)
        } else {
            logger.warning("APNs refused a push", fields)
        }
    }
}
