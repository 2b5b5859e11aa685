import GatewayAPI
import HTTPServer
import Kernel
import NotificationContract
import Notifications
import Observability
import Signing
import Testing

/// A gateway over ports of the test's choice, with keys to mint tokens for it.
struct GatewayFixture {
    static let developerToken = String(repeating: "d", count: 32)

    let clock = FixedWallClock(Timestamp(milliseconds: 1_796_083_200_000))
    let sink = MemorySink()
    let telemetry: Telemetry
    let memory: MemoryPorts
    let gateway: Gateway
    let client: InProcessClient
    private let key: SigningKey
    private let services: ServiceCredentialStore

    /// - Parameters:
    ///   - ports: what to stand on; `nil` for memory.
    ///   - developerToken: `nil` for a gateway without development routes.
    ///   - catalog: `nil` for the one that ships.
    init(
        ports: ((MemoryPorts) -> GatewayPorts)? = nil,
        developerToken: String? = GatewayFixture.developerToken,
        registrations: Int = 1000,
        registry: CategoryRegistry = .standard,
        catalog: Catalog? = nil,
        fetchKeys: (@Sendable () async throws -> TokenKeys.Published)? = nil
    ) throws {
        telemetry = Telemetry.silent(sink: sink)
        let memory = MemoryPorts(now: clock.now)
        self.memory = memory
        key = try SigningKey(pem: ECKey.generateP256().privatePEM, keyID: "k1")
        let keys = try TokenKeys(
            fixed: fetchKeys == nil ? [key.verificationKey] : [],
            rules: JWTVerifier.Rules(issuer: "issuer", audience: "varsel"),
            clock: clock,
            telemetry: telemetry,
            fetch: fetchKeys
        )
        let credentials = Self.credentials.map { id, scopes in
            JSONValue.object([
                JSONMember("id", .string(id)),
                JSONMember("sha256", .string(Hex.encode(SHA256.hash(Self.serviceToken(id))))),
                JSONMember("scopes", .array(scopes.map { .string($0.rawValue) })),
            ])
        }
        let file = JSONValue.array(credentials).utf8
        services = try ServiceCredentialStore(telemetry: telemetry) { file }
        gateway = Gateway(
            ports: (ports ?? Self.inMemory)(memory),
            rules: GatewayRules(
                registry: registry,
                catalog: try catalog ?? Catalog.standard(appName: "Test App"),
                deeplinkSchemes: ["im"],
                globalWeeklyCap: 4,
                deviceDefaults: DeviceDefaults(environment: .production, topic: "com.example.app")
            ),
            doorkeeper: Doorkeeper(
                tokens: AccessTokens(keys: keys, clock: clock, telemetry: telemetry),
                services: services,
                developerToken: developerToken,
                clock: clock
            ),
            limiter: RegistrationLimiter(perMinute: 60, burst: registrations, clock: clock),
            clock: clock,
            ids: MessageIDGenerator(clock: clock),
            telemetry: telemetry
        )
        client = InProcessClient(
            router: gateway.router,
            options: RequestDeskOptions(problemTypePrefix: "urn:varsel:problem:"),
            telemetry: telemetry
        )
    }

    static func inMemory(_ memory: MemoryPorts) -> GatewayPorts {
        GatewayPorts(
            devices: memory,
            inbox: memory,
            preferences: memory,
            door: memory,
            schedules: memory,
            idempotency: memory,
            stories: memory,
            personalData: memory,
            activity: memory,
            campaigns: NoCampaignDesk(),
            developer: DeveloperPorts(recipients: memory, push: memory, caps: memory, voices: [.reminder: memory])
        )
    }

    /// The service credentials the gateway knows.
    static let credentials: [(String, [Scope])] = [
        ("all", Scope.allCases), ("writer", [.notificationsWrite]), ("reader", [.explainRead]),
        ("canceller", [.notificationsCancel]),
    ]

    static func serviceToken(_ id: String) -> String { "vsk_\(id)_\(Base64URL.encode(Array(repeating: 7, count: 32)))" }

    func userToken(_ user: String, lifetime: Duration = .seconds(600), audience: String = "varsel") throws -> String {
        try JWTSigner.sign(
            header: [JSONMember("typ", "at+jwt")],
            claims: [
                "sub": .string(user), "iss": "issuer", "aud": .string(audience),
                "iat": .integer(clock.now.seconds), "exp": .integer((clock.now + lifetime).seconds),
            ],
            key: key
        )
    }

    // MARK: Sending

    struct Answer {
        let status: Int
        let headers: HTTPHeaders
        let text: String
        let json: JSONValue

        var data: JSONValue { json["data"] ?? "no data" }
        /// The last part of the problem's type.
        var slug: String { String((json["type"]?.stringValue ?? "").split(separator: ":").last ?? "") }
    }

    func send(
        _ method: HTTPMethod,
        _ path: String,
        _ body: JSONValue? = nil,
        bearer: String? = nil,
        headers: HTTPHeaders = [:]
    ) async throws -> Answer {
        var headers = headers
        if let bearer { headers.add("Authorization", "Bearer \(bearer)") }
        if body != nil, !headers.contains("content-type") { headers.add("Content-Type", "application/json") }
        let response = await client.send(method, path, headers: headers, body: body?.utf8 ?? [])
        let faults = Conformance(gateway).faults(
            method,
            path,
            request: body,
            status: response.status,
            headers: response.headers,
            answer: response.body.isEmpty ? JSONValue?.none : try JSONValue(parsing: response.body)
        )
        for fault in faults { Issue.record("the description does not allow this: \(fault)") }
        return Answer(
            status: response.status,
            headers: response.headers,
            text: String(decoding: response.body, as: UTF8.self),
            json: response.body.isEmpty ? .null : try JSONValue(parsing: response.body)
        )
    }

    func user(_ method: HTTPMethod, _ path: String, _ body: JSONValue? = nil, as user: String = "u1") async throws
        -> Answer
    {
        try await send(method, path, body, bearer: userToken(user))
    }

    func service(
        _ method: HTTPMethod,
        _ path: String,
        _ body: JSONValue? = nil,
        as id: String = "all",
        key: String? = nil
    ) async throws -> Answer {
        try await send(
            method,
            path,
            body,
            bearer: Self.serviceToken(id),
            headers: key.map { ["Idempotency-Key": $0] } ?? [:]
        )
    }

    func developer(_ name: String, _ body: JSONValue = ["userId": "u1"]) async throws -> Answer {
        try await send(
            .post,
            "/api/v1/notifications/dev/\(name)",
            body,
            headers: ["X-Dev-Token": Self.developerToken]
        )
    }
}
