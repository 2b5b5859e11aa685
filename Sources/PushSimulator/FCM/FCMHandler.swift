import HTTP2
import Kernel
import Observability
import Signing
import Synchronization

/// Serves FCM's sending interface: judges a message as Google does, lets the faults in force strike, records what it accepts
/// in the log that APNs uses as well.
final class FCMHandler: HTTP2ServerHandler {
    let faults = FaultPlan()
    /// Strike requests for access tokens.
    let tokenFaults = FaultPlan()
    let tokens: FCMAccessTokens

    private struct Traffic {
        /// Requests without an answer, by connection.
        var open: [Int: Int] = [:]
        var peak = 0
        var connections = 0
        /// The last stream that a connection sent away is served.
        var lastStreams: [Int: Int32] = [:]
        /// The project's bucket of messages, and when it was last filled.
        var bucket: Double
        var filledAt: Timestamp?
        var names = 0
    }

    private let simulation: FCMSimulation
    private let log: PushLog
    private let clock: any WallClock
    private let metrics: SimulatorMetrics
    private let validation = FCMValidation()
    private let path: String
    private let traffic: Mutex<Traffic>

    init(
        _ simulation: FCMSimulation,
        log: PushLog,
        clock: any WallClock,
        telemetry: Telemetry
    ) throws(SigningError) {
        self.simulation = simulation
        self.log = log
        self.clock = clock
        metrics = SimulatorMetrics(telemetry.metrics)
        tokens = try FCMAccessTokens(simulation, clock: clock)
        path = "/v1/projects/\(simulation.projectID)/messages:send"
        traffic = Mutex(Traffic(bucket: Double(simulation.messagesPerMinute ?? 0)))
    }

    /// Connections since the start.
    var connections: Int { traffic.withLock { $0.connections } }
    /// The most requests that one connection had open at once.
    var peakStreams: Int { traffic.withLock { $0.peak } }

    func connectionOpened(_ connection: HTTP2ConnectionControl) {
        traffic.withLock { $0.connections += 1 }
    }

    func connectionClosed(_ connectionID: Int) {
        traffic.withLock { traffic in
            traffic.open[connectionID] = nil
            traffic.lastStreams[connectionID] = nil
        }
    }

    func handle(_ request: HTTP2ServerRequest, respond: HTTP2Responder) {
        let (isServed, open) = traffic.withLock { traffic -> (Bool, Int) in
            if let last = traffic.lastStreams[request.connectionID], request.streamID > last { return (false, 0) }
            let open = (traffic.open[request.connectionID] ?? 0) + 1
            traffic.open[request.connectionID] = open
            traffic.peak = max(traffic.peak, open)
            return (true, open)
        }
        guard isServed else { return }
        if open > simulation.streams {
            return respond.goAway(
                lastStreamID: nil,
                errorCode: 0,
                opaqueData: Array("exceeded_max_concurrent_streams".utf8)
            )
        }
        let now = clock.now
        do throws(FCMRefusal) {
            guard request.method == "POST", request.path == path else { throw .notFound }
            guard tokens.accepts(authorization: request.header("authorization")) else { throw .unauthenticated }
            let checked = try validation.check(request.body, projectID: simulation.projectID, now: now)
            let record = RecordedPush(
                checked.push,
                body: request.body,
                connectionID: request.connectionID,
                receivedAt: now
            )
            if checked.isOnlyACheck { return answer(record, request.connectionID, respond) }
            guard takeFromQuota(now) else { throw .quotaExceeded }
            if let fault = faults.strike(token: record.deviceToken) {
                strike(fault, record, request, respond)
            } else {
                accept(record, request.connectionID, respond)
            }
        } catch {
            refuse(error, retryAfter: error == .quotaExceeded ? 5 : nil, request.connectionID, respond)
        }
    }

    // MARK: Faults

    private func strike(
        _ fault: FaultRule,
        _ record: RecordedPush,
        _ request: HTTP2ServerRequest,
        _ respond: HTTP2Responder
    ) {
        metrics.faults.increment()
        if let limit = fault.streamLimit { respond.setMaxConcurrentStreams(limit) }
        let streamID = request.streamID
        guard fault.delay > .zero else { return act(fault, record, streamID, respond) }
        Task { [self] in
            try await Task.sleep(for: fault.delay)
            act(fault, record, streamID, respond)
        }
    }

    private func act(_ fault: FaultRule, _ record: RecordedPush, _ streamID: Int32, _ respond: HTTP2Responder) {
        let connection = record.connectionID
        switch fault.action {
        case .accept:
            accept(record, connection, respond)
        case .refuse(let status, let reason, _, let retryAfter):
            refuse(FCMRefusal(status: status, reason: reason), retryAfter: retryAfter, connection, respond)
        case .hang:
            if fault.countsAsAccepted { log.record(record, answered: false) }
        case .drop:
            if fault.countsAsAccepted { log.record(record, answered: false) }
            respond.abort()
        case .reset(let errorCode):
            ended(connection)
            respond.reset(errorCode: errorCode)
        case .goAway(let lastStreamID, let errorCode, let reason):
            if let lastStreamID { traffic.withLock { $0.lastStreams[connection] = lastStreamID } }
            if streamID <= lastStreamID ?? streamID { accept(record, connection, respond) }
            respond.goAway(
                lastStreamID: lastStreamID,
                errorCode: errorCode,
                opaqueData: Array((reason ?? "session_timed_out").utf8)
            )
        }
    }

    // MARK: Answers

    private func accept(_ record: RecordedPush, _ connection: Int, _ respond: HTTP2Responder) {
        log.record(record, answered: true)
        metrics.accepted.increment()
        answer(record, connection, respond)
    }

    private func answer(_ record: RecordedPush, _ connection: Int, _ respond: HTTP2Responder) {
        ended(connection)
        let number = traffic.withLock { traffic in
            traffic.names += 1
            return traffic.names
        }
        let name = "projects/\(simulation.projectID)/messages/\(number)"
        let body: JSONValue = ["name": .string(name)]
        respond.respond(status: 200, headers: [HTTP2Header("content-type", "application/json")], body: body.utf8)
    }

    private func refuse(_ refusal: FCMRefusal, retryAfter: Int?, _ connection: Int, _ respond: HTTP2Responder) {
        ended(connection)
        log.refuse(reason: refusal.reason)
        metrics.refused.increment()
        var headers = [HTTP2Header("content-type", "application/json; charset=UTF-8")]
        if let retryAfter { headers.append(HTTP2Header("retry-after", String(retryAfter))) }
        respond.respond(status: refusal.status, headers: headers, body: refusal.body)
    }

    private func ended(_ connection: Int) {
        traffic.withLock { traffic in
            if let open = traffic.open[connection] { traffic.open[connection] = max(open - 1, 0) }
        }
    }

    /// A bucket of a minute's messages that fills evenly.
    private func takeFromQuota(_ now: Timestamp) -> Bool {
        guard let rate = simulation.messagesPerMinute else { return true }
        return traffic.withLock { traffic in
            let passed = traffic.filledAt.map { Double(now.milliseconds - $0.milliseconds) / 60_000 } ?? 0
            traffic.filledAt = now
            traffic.bucket = min(traffic.bucket + passed * Double(rate), Double(rate))
            guard traffic.bucket >= 1 else { return false }
            traffic.bucket -= 1
            return true
        }
    }
}
