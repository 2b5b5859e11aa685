import HTTP2
import Kernel
import Observability
import Synchronization

/// How pushes get onto streams, and what becomes of them.
extension FCMPool {
    func send(
        _ push: PendingPush,
        on connection: HTTP2ClientConnection,
        _ token: AccessToken,
        lane: Int,
        generation: Int
    ) {
        let startedAt = now()
        let request = HTTP2Request(
            method: "POST",
            path: path,
            authority: configuration.host,
            headers: [
                HTTP2Header("authorization", token.header), HTTP2Header("content-type", "application/json"),
            ],
            body: push.order.request.payload
        )
        connection.send(request, timeout: configuration.requestTimeout) { [self] result in
            switch result {
            case .success(let response):
                answered(push, FCMAnswer(response), token, lane: lane, generation: generation)
            case .failure(let error):
                settle(push, policy.decide(error, startedAt: startedAt), lane: lane, generation: generation)
            }
        }
    }

    private func answered(_ push: PendingPush, _ answer: FCMAnswer, _ token: AccessToken, lane: Int, generation: Int) {
        let (change, isOpen, quotaHits) = state.withLock { state in
            let change = state.breaker.note(isBad: answer.action == .deadOrMisconfigured)
            let hits = state.quotaHits
            if answer.action == .accept { state.quotaHits = 0 }
            return (change, state.breaker.isOpen, hits)
        }
        report(change)
        let decision = policy.decide(answer, moves: push.moves, breakerIsOpen: isOpen, quotaHits: quotaHits) {
            tokens.refuse(token)
        }
        if answer.status != 200 { log(answer, push, decision) }
        settle(push, decision, lane: lane, generation: generation)
    }

    private func settle(_ push: PendingPush, _ decision: FCMDecision, lane: Int, generation: Int) {
        let answer = decision.answer
        if case .finish = answer.fate {} else { metrics.resends.increment() }
        // Before anyone hears of it, so that a caller who asks finds the reason.
        if let reason = answer.stop ?? decision.hold.map({ _ in "QUOTA_EXCEEDED" }) {
            telemetry.health.set(name, problem: reason)
        }
        let wasPaused = state.withLock { $0.machine.pauseRest(now: now()) } != nil
        if decision.hold != nil, !wasPaused { metrics.quotaHolds.increment() }
        run { state in
            let moment = now()
            var actions: [PoolMachine.Action] = []
            if let reason = answer.stop { actions += state.machine.stop(reason: reason, now: moment) }
            if let hold = decision.hold {
                // Answers to pushes that were under way already say nothing new.
                if !wasPaused { state.quotaHits += 1 }
                actions += state.machine.hold(reason: "QUOTA_EXCEEDED", for: hold, now: moment)
            }
            if answer.news == .refused, let live = state.live[lane], live.generation == generation {
                // The peer has lowered its limit; the news of that comes only after this completion.
                let limit = live.connection.state.peerMaxConcurrentStreams
                actions += state.machine.limitChanged(lane: lane, generation: generation, peerLimit: limit, now: moment)
            }
            actions += state.machine.ended(
                lane: lane,
                generation: generation,
                bytes: push.order.weight,
                answer.news,
                now: moment
            )
            switch answer.fate {
            case .finish(let outcome):
                actions.append(.finish(push, outcome))
            case .resend(let reason):
                actions += state.machine.resend(push, reason: reason, now: moment)
            case .move(let reason):
                var moved = push
                moved.moves += 1
                actions += state.machine.resend(moved, reason: reason, now: moment)
            }
            return actions
        }
        if answer.stop != nil || decision.hold != nil, !wasPaused { reportWhenPauseEnds() }
    }

    private func report(_ change: DeadTokenBreaker.Change) {
        switch change {
        case .none: return
        case .opened:
            metrics.breakerOpened.increment()
            logger.error("too many registration tokens are called bad: check FCM_PROJECT_ID; none is removed")
        case .closed:
            logger.info("registration tokens are believed again")
        }
        reportHealth()
    }

    private func log(_ answer: FCMAnswer, _ push: PendingPush, _ decision: FCMDecision) {
        let fields: KeyValuePairs<String, JSONValue> = [
            "status": .integer(answer.status),
            "reason": .string(answer.reason),
            "token": .string(push.order.deviceToken.shortened),
            "messageId": .string(push.order.request.messageID.description),
        ]
        if decision.answer.stop != nil || decision.isAlarming {
            logger.error("FCM refuses our account or configuration", fields)
        } else {
            logger.warning("FCM refused a push", fields)
        }
    }
}
