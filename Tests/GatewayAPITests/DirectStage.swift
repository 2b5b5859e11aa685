import DeliveryAdapters
import GatewayAPI
import HTTPServer
import Kernel
import Notifications
import Observability
import PostgresClient
import PushSimulator
import PushTransport
import Signing
import Store
import TestSupport

/// A gateway over a real database, a real queue and the simulator of APNs.
struct DirectStage {
    static let topic = "com.example.app"
    private static let team = "TESTTEAM12"

    let fixture: GatewayFixture
    let live: LiveGateway
    let simulator: PushSimulator
    let transport: PushTransport

    /// - Parameters:
    ///   - providers: whom the gateway has credentials for, as far as its routes know.
    ///   - catalog: `nil` for the one that ships.
    ///   - clock: what the queue goes by, `nil` for the fixture's.
    static func run(
        providers: Set<PushProvider> = [.apns],
        registry: CategoryRegistry = .standard,
        catalog: Catalog? = nil,
        clock: (any WallClock)? = nil,
        _ body: (DirectStage) async throws -> Void
    ) async throws {
        let pair = try SelfSigned.make(hosts: ["127.0.0.1"], validFor: .seconds(3600), now: SystemWallClock().now)
        let key = try SigningKey(pem: ECKey.generateP256().privatePEM, keyID: "TESTKEY123")
        let simulator = try await PushSimulator.start(
            SimulatorConfiguration(
                identity: .init(certificatePEM: pair.certificatePEM, keyPEM: pair.keyPEM),
                credentials: [.init(key: key.verificationKey, teamID: team)],
                topics: [topic]
            ),
            telemetry: .silent()
        )
        var settings = try APNsConfiguration(key: key, teamID: team)
        settings.host = "127.0.0.1"
        settings.port = simulator.port
        settings.trustedPEM = pair.certificatePEM
        let transport = PushTransport(configuration: settings, telemetry: .silent())
        let result: Result<Void, any Error>
        do {
            try await LiveGateway.run { live in
                let pool = live.database.pool
                let direct: (MemoryPorts) -> GatewayPorts = { memory in
                    var ports = LiveGateway.ports(
                        pool: pool,
                        redis: live.redis.client,
                        queue: live.queue,
                        clock: clock ?? FixedWallClock(memory.now),
                        limiter: live.limiter,
                        registry: registry
                    )
                    ports.direct = DirectPorts(
                        push: transport,
                        providers: providers,
                        activities: StoreLiveActivities(LiveActivityStore(pool: pool)),
                        devices: StoreRawPushDirectory(PushTargetStore(pool: pool)),
                        tokens: TokenAdapter(store: DeviceStore(pool: pool))
                    )
                    return ports
                }
                let fixture = try GatewayFixture(ports: direct, registry: registry, catalog: catalog)
                try await body(
                    DirectStage(fixture: fixture, live: live, simulator: simulator, transport: transport)
                )
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await transport.close()
        await simulator.stop()
        try result.get()
    }

    /// A device token that begins with these digits.
    static func token(_ digits: String) -> String { digits + String(repeating: "0", count: 64 - digits.count) }

    /// Registers a device of a user, with the tokens that begin with the user's name in hexadecimal.
    func addDevice(_ user: String, _ device: String, _ members: [JSONMember]) async throws {
        let body = JSONValue.object([JSONMember("deviceId", .string(device))] + members)
        _ = try await fixture.user(.post, "/api/v1/notifications/device-token", body, as: user)
    }

    /// Reports a session.
    func addSession(_ user: String, _ stream: String, _ device: String, token: String) async throws -> Int {
        let body: JSONValue = [
            "streamId": .string(stream), "deviceId": .string(device), "liveActivityToken": .string(token),
        ]
        return try await fixture.user(.post, "/api/v1/notifications/live-activity-sessions", body, as: user).status
    }

    /// `stream:user:device:first digits of the token` of every session, in order.
    func sessions() async throws -> [String] {
        try await live.lines(
            """
            SELECT concat_ws(':', stream_id, user_id, device_id, left(token, 2)) AS line FROM live_activity_sessions
            ORDER BY 1
            """
        )
    }
}
