import HTTP2
import Kernel
import Observability
import Signing
import Synchronization

/// Serves APNs's provider interface: judges a request as Apple does, lets the faults in force strike, records what it accepts.
final class APNsHandler: HTTP2ServerHandler {
    let log: PushLog
    let faults = FaultPlan()

    private let judge: ProviderTokenJudge
    private let validation: PushValidation
    /// Judges the age of provider tokens.
    let clock: SkewableClock

    private let streamsAfterAuthentication: Int
    private let streamsAfterRefusal: Int?
    private let settingsDelay: Duration
    private let connections = Mutex(ConnectionLedger())
    private let controls = Mutex<[Int: HTTP2ConnectionControl]>([:])
    private let metrics: SimulatorMetrics

    init(configuration: SimulatorConfiguration, telemetry: Telemetry) throws(SigningError) {
        judge = try ProviderTokenJudge(credentials: configuration.credentials, isLenient: configuration.isLenient)
        validation = PushValidation(topics: configuration.topics)
        streamsAfterAuthentication = configuration.streamsAfterAuthentication
        streamsAfterRefusal = configuration.streamsAfterRefusal
        settingsDelay = configuration.settingsDelay
        clock = SkewableClock(configuration.clock, skew: configuration.clockSkew)
        log = PushLog(recordLimit: configuration.recordLimit, duplicateLimit: configuration.duplicateLimit)
        metrics = SimulatorMetrics(telemetry.metrics)
    }

    /// Connections that showed a valid provider token since the start.
    var authenticatedConnections: Int { connections.withLock { $0.authenticated } }

    func handle(_ request: HTTP2ServerRequest, respond: HTTP2Responder) {
        guard connections.withLock({ $0.serves(connection: request.connectionID, streamID: request.streamID) }) else {
            return
        }
        let now = clock.now
        do {
            let push = try judged(request, respond, now: now)
            let record = RecordedPush(push, body: request.body, connectionID: request.connectionID, receivedAt: now)
            if let fault = faults.strike(token: push.deviceToken) {
                strike(fault, record, request, respond)
            } else {
                accept(record, respond)
            }
        } catch {
            refuse(error, apnsID: request.headers.first { $0.name == "apns-id" }?.value, respond)
        }
    }

    func connectionOpened(_ connection: HTTP2ConnectionControl) {
        controls.withLock { $0[connection.connectionID] = connection }
    }

    /// Connections that are open now.
    var openConnections: Int { controls.withLock { $0.count } }

    func endConnections(reason: String?) {
        let body = Self.goAwayData(reason)
        for control in controls.withLock({ Array($0.values) }) { control.goAway(opaqueData: body) }
    }

    func dropConnections() {
        for control in controls.withLock({ Array($0.values) }) { control.abort() }
    }

    func connectionClosed(_ connectionID: Int) {
        controls.withLock { _ = $0.removeValue(forKey: connectionID) }
        connections.withLock { $0.forget(connection: connectionID) }
    }

    /// Path and method first, then who asks, then what is asked: a stranger learns nothing about tokens and topics.
    private func judged(
        _ request: HTTP2ServerRequest,
        _ respond: HTTP2Responder,
        now: Timestamp
    ) throws(APNsRefusal) -> ValidPush {
        guard request.path.hasPrefix("/3/device") else { throw .badPath }
        guard request.method == "POST" else { throw .methodNotAllowed }
        let headers = try PushHeaders(request.headers)
        if try admits(request, headers, now: now) { raiseStreamLimit(respond) }
        let deviceToken = try PushValidation.deviceToken(inPath: request.path)
        return try validation.check(
            deviceToken: deviceToken,
            headers: headers,
            bodySize: request.body.count,
            newID: Self.randomID
        )
    }

    private func raiseStreamLimit(_ respond: HTTP2Responder) {
        guard settingsDelay > .zero else { return respond.setMaxConcurrentStreams(streamsAfterAuthentication) }
        Task { [self] in
            try await Task.sleep(for: settingsDelay)
            respond.setMaxConcurrentStreams(streamsAfterAuthentication)
        }
    }

    /// Who asks: the client's certificate, or a provider token.
    /// - Returns: whether the connection showed who it is for the first time, which raises its stream limit.
    private func admits(
        _ request: HTTP2ServerRequest,
        _ headers: PushHeaders,
        now: Timestamp
    ) throws(APNsRefusal) -> Bool {
        if request.clientName != nil {
            return connections.withLock { $0.admitCertificate(connection: request.connectionID) }
        }
        let provider = try judge.judge(headers.authorization, now: now)
        return try connections.withLock { connections in
            Result { () throws(APNsRefusal) in
                try connections.admit(
                    connection: request.connectionID,
                    token: provider.text,
                    facts: provider.facts,
                    now: now
                )
            }
        }
        .get()
    }

    private func accept(_ record: RecordedPush, _ respond: HTTP2Responder) {
        if streamsAfterRefusal != nil, connections.withLock({ $0.forgive(connection: record.connectionID) }) {
            respond.setMaxConcurrentStreams(streamsAfterAuthentication)
        }
        log.record(record, answered: true)
        metrics.accepted.increment()
        respond.respond(
            status: 200,
            headers: [
                HTTP2Header("apns-id", record.apnsID.description),
                // Apple sends it in the development environment alone; a client must cope with both.
                HTTP2Header("apns-unique-id", Self.randomID().description),
            ],
            body: []
        )
    }

    private func strike(
        _ fault: FaultRule,
        _ record: RecordedPush,
        _ request: HTTP2ServerRequest,
        _ respond: HTTP2Responder
    ) {
        metrics.faults.increment()
        if let limit = fault.streamLimit { respond.setMaxConcurrentStreams(limit) }
        guard fault.delay > .zero else { return act(fault, record, request.streamID, respond) }
        let streamID = request.streamID
        Task { [self] in
            try await Task.sleep(for: fault.delay)
            act(fault, record, streamID, respond)
        }
    }

    private func act(_ fault: FaultRule, _ record: RecordedPush, _ streamID: Int32, _ respond: HTTP2Responder) {
        switch fault.action {
        case .accept:
            accept(record, respond)
        case .refuse(let status, let reason, let timestamp, let retryAfter):
            refuse(
                APNsRefusal(status: status, reason: reason),
                apnsID: record.apnsID.description,
                timestamp: timestamp,
                retryAfter: retryAfter,
                respond
            )
        case .hang:
            if fault.countsAsAccepted { log.record(record, answered: false) }
        case .drop:
            if fault.countsAsAccepted { log.record(record, answered: false) }
            respond.abort()
        case .reset(let errorCode):
            respond.reset(errorCode: errorCode)
        case .goAway(let lastStreamID, let errorCode, let reason):
            if let lastStreamID {
                connections.withLock { $0.sendAway(connection: record.connectionID, lastStreamID: lastStreamID) }
            }
            if streamID <= lastStreamID ?? streamID { accept(record, respond) }
            // Without an id of its own the server names the last stream it saw, so that nothing it accepted is disowned.
            respond.goAway(lastStreamID: lastStreamID, errorCode: errorCode, opaqueData: Self.goAwayData(reason))
        }
    }

    private func refuse(
        _ refusal: APNsRefusal,
        apnsID: String?,
        timestamp: Int64? = nil,
        retryAfter: Int? = nil,
        _ respond: HTTP2Responder
    ) {
        // Apple does not count a 410 as an error of the provider.
        if let limit = streamsAfterRefusal, (400..<500).contains(refusal.status), refusal.status != 410 {
            connections.withLock { $0.distrust(connection: respond.connection.connectionID) }
            respond.setMaxConcurrentStreams(limit)
        }
        log.refuse(reason: refusal.reason)
        metrics.refused.increment()
        var headers = [HTTP2Header("apns-id", apnsID ?? Self.randomID().description)]
        if let retryAfter { headers.append(HTTP2Header("retry-after", String(retryAfter))) }
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("reason", refusal.reason)
            if let timestamp { writer.member("timestamp", timestamp) }
        }
        respond.respond(status: refusal.status, headers: headers, body: writer.bytes)
    }

    private static func goAwayData(_ reason: String?) -> [UInt8] {
        reason.map { JSONValue.object([JSONMember("reason", .string($0))]).utf8 } ?? []
    }

    /// A random UUID of version 4. It is no secret, so the fast generator is enough.
    private static func randomID() -> UUIDBits {
        UUIDBits(
            high: UInt64.random(in: 0...UInt64.max) & ~0xF000 | 0x4000,
            low: UInt64.random(in: 0...UInt64.max) & ~(3 << 62) | 2 << 62
        )
    }
}

/// The simulator's own counters.
struct SimulatorMetrics: Sendable {
    let accepted: Counter
    let refused: Counter
    let faults: Counter

    init(_ registry: MetricsRegistry) {
        let help = "Pushes that arrived, by what became of them."
        accepted = registry.counter("simulator_pushes_total", help: help, labels: [("result", "accepted")])
        refused = registry.counter("simulator_pushes_total", help: help, labels: [("result", "refused")])
        faults = registry.counter("simulator_faults_total", help: "Pushes struck by a scripted fault.")
    }
}
