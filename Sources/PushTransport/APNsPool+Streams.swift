import HTTP2
import Kernel
import Observability
import Synchronization

/// From the stream a push leaves on to what becomes of it.
extension APNsPool {
    func send(_ push: PendingPush, on live: Live, _ group: HTTP2HeaderGroup, _ departure: Departure) {
        let request = APNsRequest.make(push.order, shared: group)
        live.connection.send(request, timeout: configuration.requestTimeout) { [self] result in
            switch result {
            case .success(let response) where response.status == 200:
                accepted(push, response, lane: departure.lane, generation: live.generation)
            case .success(let response):
                answered(push, APNsAnswer(response), departure, generation: live.generation)
            case .failure(let error):
                let decision = AnswerPolicy.decide(error, startedAt: departure.at)
                settle(push, decision, lane: departure.lane, generation: live.generation)
            }
        }
    }

    /// The answer of almost every push takes the lock once.
    private func accepted(_ push: PendingPush, _ response: HTTP2Response, lane: Int, generation: Int) {
        let moment = now()
        var change = DeadTokenBreaker.Change.none
        run { state in
            change = state.breakers.note(isBad: false, topic: push.order.topic)
            let weight = push.order.weight
            return state.machine.ended(lane: lane, generation: generation, bytes: weight, .proven, now: moment)
        }
        if change != .none { report(change, topic: push.order.topic) }
        finish(push, APNsAnswer.accepted(response), at: moment)
    }

    private func answered(_ push: PendingPush, _ answer: APNsAnswer, _ departure: Departure, generation: Int) {
        let (change, isOpen) = state.withLock { state in
            let topic = push.order.topic
            let change = state.breakers.note(isBad: answer.action == .deadOrMisconfigured, topic: topic)
            return (change, state.breakers.isOpen(topic))
        }
        if change != .none { report(change, topic: push.order.topic) }
        let decision = AnswerPolicy.decide(answer, moves: push.moves, breakerIsOpen: isOpen) {
            renewal(ofToken: departure.token)
        }
        log(answer, push, decision)
        settle(push, decision, lane: departure.lane, generation: generation)
    }

    private func renewal(ofToken generation: Int) -> ProviderTokenSource.Renewal {
        guard let tokens else { return .tooYoung }
        do {
            return try tokens.renew(refusedGeneration: generation)
        } catch {
            logger.error("no provider token could be signed", ["error": .error(error)])
            return .tooYoung
        }
    }

    func settle(_ push: PendingPush, _ decision: AnswerDecision, lane: Int, generation: Int) {
        if case .finish = decision.fate {} else { metrics.resends.increment() }
        if let reason = decision.stop { stop(for: reason) }
        run { state in
            let moment = now()
            var actions: [PoolMachine.Action] = []
            if let reason = decision.stopTopic {
                let pause = TopicPause(reason: reason, until: moment + AnswerPolicy.topicPause)
                actions += self.pause(topic: push.order.topic, pause, &state)
            }
            if decision.news == .refused, let live = state.live[lane], live.generation == generation {
                // The peer has lowered its limit; the news of that comes only after this completion.
                let limit = live.connection.state.peerMaxConcurrentStreams
                actions += state.machine.limitChanged(lane: lane, generation: generation, peerLimit: limit, now: moment)
            }
            actions += state.machine.ended(
                lane: lane,
                generation: generation,
                bytes: push.order.weight,
                decision.news,
                now: moment
            )
            switch decision.fate {
            case .finish(let outcome):
                actions.append(.finish(push, outcome))
            case .resend(let reason):
                actions += state.machine.resend(push, reason: reason, now: moment)
            case .move(let reason):
                // Another push of the topic may have found meanwhile that no connection helps.
                if let outcome = Self.held(push.order.topic, &state, now: moment) {
                    actions.append(.finish(push, outcome))
                    break
                }
                var moved = push
                moved.moves += 1
                actions += state.machine.resend(moved, reason: reason, now: moment)
            }
            return actions
        }
    }

    /// Stops the whole pool for a while. Readiness hears of it first, so that a caller who asks finds the reason.
    func stop(for reason: String) {
        metrics.stopped(reason)
        telemetry.health.set(healthName, problem: APNsReason.problem(reason))
        let wasPaused = state.withLock { $0.machine.pauseRest(now: now()) } != nil
        run { state in state.machine.stop(reason: reason, now: now()) }
        if !wasPaused { reportWhenPauseEnds() }
    }
}
