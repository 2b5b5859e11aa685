import Foundation
import GatewayAPI
import HTTPServer
import Kernel
import Notifications
import Observability
import Producers
import Signing
import Synchronization
import Testing

/// Remembers what was kept.
private final class KeptNotifications: AppStoreIntake {
    let kept = Mutex<[AppStoreNotification]>([])

    func receive(_ notification: AppStoreNotification, signedPayload: String) async throws -> Bool {
        kept.withLock { $0.append(notification) }
        return true
    }

    func claim(
        _ transaction: AppStoreTransaction,
        _ environment: AppStoreEnvironment,
        user: UserID
    ) async throws -> SubscriptionClaim {
        .accepted
    }
}

/// What claims to be from the App Store, broken in its bytes, in its certificates, and in what a good key signed (P6, G11).
///
/// `VARSEL_FUZZ` and `VARSEL_FUZZ_SEED` as in `FuzzTests`; a tenth of the number is tried here, since each costs signatures.
@Suite struct AppStoreFuzzTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let count = max(1000, (environment["VARSEL_FUZZ"].flatMap { Int($0) } ?? 20_000) / 10)
    private static let seed = environment["VARSEL_FUZZ_SEED"].flatMap { UInt64($0) } ?? 20_261_203
    private static let bundleID = "com.example.app"
    private static let uuid = "002e14d5-51f5-4503-b5a8-c3a1af68eb20"

    private let fixture: GatewayFixture
    private let intake = KeptNotifications()
    private let maker: ChainMaker

    init() throws {
        let start = Timestamp(milliseconds: 1_796_083_200_000)
        let maker = try ChainMaker(now: start)
        self.maker = maker
        let chains = try ChainVerifier(roots: [X509Certificate(der: maker.root)], rules: .appStore)
        let signed = SignedDataVerifier(chains: chains, revocation: nil, clock: FixedWallClock(start))
        let intake = intake
        fixture = try GatewayFixture(ports: { memory in
            var ports = GatewayFixture.inMemory(memory)
            ports.appStore = AppStorePorts(
                verifier: AppStoreVerifier(signed: signed, bundleID: Self.bundleID, appAppleID: 1234),
                intake: intake
            )
            return ports
        })
    }

    @Test func `mutated App Store payloads are kept only as what was signed, and never end in 500 (P6, G11)`()
        async throws
    {
        var mutator = Mutator(seed: Self.seed)
        let good = try maker.sign(payload())
        var statuses: [Int: Int] = [:]
        for number in 0..<Self.count {
            let (token, isForged) = try number % 16 == 0 ? (good, false) : mutated(good, kind: number % 4, &mutator)
            let environment = number % 3 == 0 ? "sandbox" : "production"
            let path = number % 5 == 4 ? "/api/v1/subscriptions/link" : "/api/v1/webhooks/app-store/\(environment)"
            let answer = await send(path, token)
            statuses[answer, default: 0] += 1
            if isForged, answer < 400 {
                Issue.record("\(number): \(answer) for what nobody signed: \(token.prefix(600))")
                break
            }
            if answer == 500 || answer >= 504 {
                Issue.record("\(number): \(answer) for \(token.prefix(600))")
                break
            }
        }
        #expect(statuses[200, default: 0] > 0, "\(statuses)")
        #expect(statuses.filter { (400..<500).contains($0.key) }.values.reduce(0, +) > Self.count / 3, "\(statuses)")
        // Whatever got through was signed in time and names the store it was sent to.
        let latest = fixture.clock.now + .seconds(300)
        for notification in intake.kept.withLock({ $0 }) {
            #expect(notification.environment == .production && notification.signedAt <= latest, "\(notification)")
        }
    }

    private func send(_ path: String, _ token: String) async -> Int {
        let name = path.hasSuffix("link") ? "signedTransaction" : "signedPayload"
        var headers: HTTPHeaders = ["Content-Type": "application/json"]
        if path.hasSuffix("link"), let bearer = try? fixture.userToken("u1") {
            headers.add("Authorization", "Bearer \(bearer)")
        }
        let body = JSONValue.object([JSONMember(name, .string(token))])
        return await fixture.client.send(.post, path, headers: headers, body: body.utf8).status
    }

    /// - Parameter kind: 0 breaks the token, 1 its signer's certificate, 2 its claims before they are signed, 3 a nested token.
    /// - Returns: the token, and whether it must be refused because signature or chain no longer hold.
    private func mutated(_ good: String, kind: Int, _ mutator: inout Mutator) throws -> (String, isForged: Bool) {
        let parts = good.split(separator: ".").map(String.init)
        switch kind {
        case 0:
            let token = String(decoding: mutator.mutated(Array(good.utf8)), as: UTF8.self)
            return (token, token != good)
        case 1:
            var chain = maker.x5c
            let der = Base64.decode(chain[0]) ?? []
            let broken = mutator.mutated(der)
            chain[0] = Base64.encode(broken)
            let header: JSONValue = ["alg": "ES256", "x5c": .array(chain.map(JSONValue.string))]
            return (sealed(Base64URL.encode(header.utf8) + "." + parts[1]), broken != der)
        case 2:
            let claims = mutator.mutated(try payload().utf8)
            return (sealed(parts[0] + "." + Base64URL.encode(claims)), false)
        default:
            let nested = String(decoding: mutator.mutated(Array(try transaction().utf8)), as: UTF8.self)
            return (try maker.sign(payload(transaction: nested)), false)
        }
    }

    /// A good signature over whatever it is, as if Apple itself had erred.
    private func sealed(_ input: String) -> String {
        let signature = (try? maker.key.sign(Array(input.utf8))) ?? []
        return input + "." + Base64URL.encode(signature)
    }

    private func transaction() throws -> String {
        let now = fixture.clock.now.milliseconds
        return try maker.sign([
            "originalTransactionId": "1000", "bundleId": .string(Self.bundleID), "productId": "pro",
            "environment": "Production", "type": "Auto-Renewable Subscription", "signedDate": .integer(now),
            "expiresDate": .integer(now + 1000),
        ])
    }

    private func payload(transaction nested: String? = nil) throws -> JSONValue {
        let now = fixture.clock.now.milliseconds
        return [
            "notificationType": "DID_FAIL_TO_RENEW", "notificationUUID": .string(Self.uuid), "version": "2.0",
            "signedDate": .integer(now),
            "data": [
                "bundleId": .string(Self.bundleID), "appAppleId": 1234, "environment": "Production", "status": 3,
                "signedTransactionInfo": .string(try nested ?? transaction()),
            ],
        ]
    }
}
