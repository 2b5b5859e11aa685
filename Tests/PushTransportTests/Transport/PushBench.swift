import Kernel
import Notifications
import Observability
import PushSimulator
import Signing
import Synchronization
import Testing

@testable import PushTransport

/// A simulator with a transport that talks to it, for one test.
struct PushBench: Sendable {
    static let topic = "com.example.app"
    static let teamID = "TEAM123456"
    static let keyID = "KEY1234567"

    let simulator: PushSimulator
    let transport: PushTransport
    let telemetry: Telemetry
    let log: MemorySink
    let configuration: SimulatorConfiguration

    /// Starts a simulator like the first on its port.
    func restart(port: Int) async throws -> PushSimulator {
        var configuration = configuration
        configuration.port = port
        return try await PushSimulator.start(configuration, telemetry: .silent())
    }

    /// Runs `body` with a fresh pair and stops both afterwards.
    static func run<Value>(
        simulator change: (inout SimulatorConfiguration) -> Void = { _ in },
        transport tune: (inout APNsConfiguration) -> Void = { _ in },
        signedBy other: SigningKey? = nil,
        certificate: ClientCertificate? = nil,
        wallClock: any WallClock = SystemWallClock(),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now },
        _ body: (PushBench) async throws -> Value
    ) async throws -> Value {
        let pair = try SelfSigned.make(hosts: ["127.0.0.1"], validFor: .seconds(3600), now: SystemWallClock().now)
        let key = try SigningKey(pem: ECKey.generateP256().privatePEM, keyID: keyID)
        var configuration = SimulatorConfiguration(
            identity: .init(certificatePEM: pair.certificatePEM, keyPEM: pair.keyPEM),
            credentials: [.init(key: key.verificationKey, teamID: teamID)],
            topics: [topic]
        )
        change(&configuration)
        let simulator = try await PushSimulator.start(configuration, telemetry: .silent())
        var settings: APNsConfiguration
        if let certificate {
            settings = APNsConfiguration(certificate: certificate)
        } else {
            settings = try APNsConfiguration(key: other ?? key, teamID: teamID)
        }
        settings.host = "127.0.0.1"
        settings.port = simulator.port
        settings.trustedPEM = pair.certificatePEM
        // Short waits: what is tested is their order, not their length.
        settings.reconnect = Backoff(base: .milliseconds(20), limit: .milliseconds(200))
        settings.pause = Backoff(base: .milliseconds(400), limit: .milliseconds(400))
        settings.requestTimeout = .seconds(30)
        tune(&settings)
        let log = MemorySink()
        let telemetry = Telemetry.silent(sink: log)
        let transport = PushTransport(configuration: settings, telemetry: telemetry, wallClock: wallClock, now: now)
        let bench = PushBench(
            simulator: simulator,
            transport: transport,
            telemetry: telemetry,
            log: log,
            configuration: configuration
        )
        do {
            let value = try await body(bench)
            await transport.close()
            await simulator.stop()
            return value
        } catch {
            await transport.close()
            await simulator.stop()
            throw error
        }
    }

    /// The device token of a number: 64 digits.
    static func token(_ number: Int) -> String {
        Hex.encode(SHA256.hash("device \(number)"))
    }

    static func request(_ number: Int, token: String? = nil, payload: String = #"{"aps":{"alert":"hi"}}"#)
        -> PushRequest
    {
        PushRequest(
            deviceToken: token ?? Self.token(number),
            environment: .production,
            topic: topic,
            messageID: UUIDBits(high: 0x0190_0000_0000_7000, low: 0x8000_0000_0000_0000 | UInt64(number)),
            payload: Array(payload.utf8),
            expiration: Timestamp(milliseconds: 1_800_000_000_500)
        )
    }

    func send(_ number: Int, token: String? = nil) async -> PushOutcome {
        await transport.send(Self.request(number, token: token))
    }

    /// Sends the canary and one more push, after which the raised stream limit is known to the pool.
    func warmUp() async -> Bool {
        let first = await send(1_000_001)
        let second = await send(1_000_002)
        return first.isAccepted && second.isAccepted
    }

    /// Sends pushes at once and waits for all; the outcomes are in the order of the numbers.
    func sendAll(_ numbers: Range<Int>) async -> [PushOutcome] {
        let gathered = Gathered(count: numbers.count)
        for number in numbers {
            transport.send(Self.request(number)) { gathered.put($0, at: number - numbers.lowerBound) }
        }
        return await gathered.all
    }

    /// How many pushes were answered with this reason, from the metric.
    func count(outcome: String, reason: String = "") -> Int {
        let labels = [("outcome", outcome), ("reason", reason)]
        return telemetry.metrics.counter("apns_requests_total", help: "", labels: labels).current
    }
}

/// Collects a known number of outcomes; a completion that comes twice is an issue.
final class Gathered: Sendable {
    private struct State {
        var outcomes: [PushOutcome?]
        var missing: Int
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state: Mutex<State>

    init(count: Int) {
        state = Mutex(State(outcomes: Array(repeating: nil, count: count), missing: count))
    }

    func put(_ outcome: PushOutcome, at index: Int) {
        let (waiter, isSecond) = state.withLock { state -> (CheckedContinuation<Void, Never>?, Bool) in
            guard state.outcomes[index] == nil else { return (nil, true) }
            state.outcomes[index] = outcome
            state.missing -= 1
            guard state.missing == 0 else { return (nil, false) }
            defer { state.waiter = nil }
            return (state.waiter, false)
        }
        if isSecond { Issue.record("a completion was called twice") }
        waiter?.resume()
    }

    var all: [PushOutcome] {
        get async {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if state.missing == 0 { return true }
                    state.waiter = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
            return state.withLock { $0.outcomes.compactMap { $0 } }
        }
    }
}

extension PushOutcome {
    var isAccepted: Bool {
        if case .accepted = self { true } else { false }
    }

    var isUnknown: Bool {
        if case .unknown = self { true } else { false }
    }
}

extension [PushOutcome] {
    var acceptedCount: Int { count { $0.isAccepted } }
    var unknownCount: Int { count { $0.isUnknown } }
    /// The first few that were not accepted, for a readable failure.
    var notAccepted: [PushOutcome] { Array(filter { !$0.isAccepted }.prefix(3)) }
}
