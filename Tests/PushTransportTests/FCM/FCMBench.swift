import Kernel
import Notifications
import Observability
import PushSimulator
import Signing
import Synchronization
import Testing

@testable import PushTransport

/// A simulator of FCM with a transport that talks to it, for one test.
struct FCMBench: Sendable {
    static let projectID = "demo-project"
    static let email = "pusher@demo-project.iam.gserviceaccount.com"
    static let keyID = "a1b2c3d4"
    /// Made once: an RSA key takes a while.
    static let key = Result { try RSAKey.generate() }

    let simulator: PushSimulator
    let transport: PushTransport
    let telemetry: Telemetry
    let log: MemorySink
    let clock: ShiftedClock

    static func run(
        simulator change: (inout FCMSimulation) -> Void = { _ in },
        transport tune: (inout FCMConfiguration) throws -> Void = { _ in },
        _ body: (FCMBench) async throws -> Void
    ) async throws {
        let pair = try SelfSigned.make(hosts: ["127.0.0.1"], validFor: .seconds(3600), now: SystemWallClock().now)
        let apple = try SigningKey(pem: ECKey.generateP256().privatePEM, keyID: PushBench.keyID)
        var configuration = SimulatorConfiguration(
            identity: .init(certificatePEM: pair.certificatePEM, keyPEM: pair.keyPEM),
            credentials: [.init(key: apple.verificationKey, teamID: PushBench.teamID)],
            topics: [PushBench.topic]
        )
        var simulation = FCMSimulation(
            projectID: projectID,
            clientEmail: email,
            key: try VerificationKey(pem: key.get().publicPEM, keyID: keyID)
        )
        change(&simulation)
        configuration.fcm = simulation
        let simulator = try await PushSimulator.start(configuration, telemetry: .silent())
        let account = try ServiceAccount(
            json: accountJSON(tokenURL: "http://127.0.0.1:\(simulator.controlPort)/token").utf8
        )
        var settings = FCMConfiguration(credential: .serviceAccount(account), projectID: account.projectID)
        settings.host = "127.0.0.1"
        settings.port = try #require(simulator.fcmPort)
        settings.trustedPEM = pair.certificatePEM
        settings.connections = 1
        settings.requestTimeout = .seconds(30)
        // Short waits: what is tested is their order, not their length.
        settings.reconnect = Backoff(base: .milliseconds(100), limit: .milliseconds(400))
        settings.pause = Backoff(base: .milliseconds(400), limit: .milliseconds(400))
        try tune(&settings)
        let log = MemorySink()
        let telemetry = Telemetry.silent(sink: log)
        let clock = ShiftedClock()
        let transport = PushTransport(
            configuration: try APNsConfiguration(
                key: apple,
                teamID: PushBench.teamID,
                host: "127.0.0.1",
                port: simulator.port,
                trustedPEM: pair.certificatePEM
            ),
            fcm: settings,
            telemetry: telemetry,
            now: { clock.now }
        )
        let bench = FCMBench(simulator: simulator, transport: transport, telemetry: telemetry, log: log, clock: clock)
        do {
            try await body(bench)
            await transport.close()
            await simulator.stop()
        } catch {
            await transport.close()
            await simulator.stop()
            throw error
        }
    }

    static func accountJSON(tokenURL: String, changing name: String = "", to value: JSONValue? = nil) throws
        -> JSONValue
    {
        let members: [JSONMember] = [
            JSONMember("type", "service_account"), JSONMember("project_id", .string(projectID)),
            JSONMember("private_key_id", .string(keyID)), JSONMember("private_key", .string(try key.get().privatePEM)),
            JSONMember("client_email", .string(email)), JSONMember("token_uri", .string(tokenURL)),
        ]
        return .object(
            members.compactMap { member in
                member.name == name ? value.map { JSONMember(name, $0) } : member
            }
        )
    }

    static func token(_ number: Int) -> String { "device_\(number):APA91b-\(number)" }

    static func request(_ number: Int, token: String? = nil, payload: String? = nil) -> PushRequest {
        PushRequest(
            deviceToken: token ?? Self.token(number),
            environment: .production,
            topic: PushBench.topic,
            messageID: UUIDBits(high: 0x0190_0000_0000_7000, low: 0x8000_0000_0000_0000 | UInt64(number)),
            payload: Array((payload ?? #"{"aps":{"alert":{"title":"T","body":"B"},"category":"reminder"}}"#).utf8),
            expiration: SystemWallClock().now + .seconds(3600),
            provider: .fcm
        )
    }

    func send(_ number: Int, token: String? = nil, payload: String? = nil) async -> PushOutcome {
        await transport.send(Self.request(number, token: token, payload: payload))
    }

    /// Sends pushes at once and waits for all; the outcomes are in the order of the numbers.
    func sendAll(_ numbers: Range<Int>, payload: String? = nil) async -> [PushOutcome] {
        let gathered = Gathered(count: numbers.count)
        for number in numbers {
            transport.send(Self.request(number, payload: payload)) { gathered.put($0, at: number - numbers.lowerBound) }
        }
        return await gathered.all
    }

    func tokens(_ result: String) -> Int {
        telemetry.metrics.counter("fcm_access_tokens_total", help: "", labels: [("result", result)]).current
    }

    static func refusal(_ status: Int, _ reason: String, retryAfter: Int? = nil) -> FaultRule.Action {
        .refuse(status: status, reason: reason, timestamp: nil, retryAfter: retryAfter)
    }
}

/// The monotonic clock, which a test sets forward.
final class ShiftedClock: Sendable {
    private let shift = Mutex(Duration.zero)

    var now: ContinuousClock.Instant { ContinuousClock.now + shift.withLock { $0 } }

    func advance(by duration: Duration) {
        shift.withLock { $0 += duration }
    }
}
