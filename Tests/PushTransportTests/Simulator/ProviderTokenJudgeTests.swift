import Kernel
import Signing
import Testing

@testable import PushSimulator

struct ProviderTokenJudgeTests {
    private static let now = Timestamp(milliseconds: 1_790_000_000_000)
    private let key: SigningKey
    private let judge: ProviderTokenJudge

    init() throws {
        key = try SigningKey(pem: ECKey.generateP256().privatePEM, keyID: "KEY")
        judge = try ProviderTokenJudge(credentials: [.init(key: key.verificationKey, teamID: "TEAM")])
    }

    @Test func `a good token is accepted within an hour of its issue`() throws {
        for offset: Int64 in [0, -3600, 3600] {
            let header = try header(["iss": "TEAM", "iat": .integer(1_790_000_000 + offset)])
            #expect(try judge.judge(header, now: Self.now).facts.teamID == "TEAM")
        }
    }

    @Test(arguments: [-3601, 3601])
    func `a token too old or too new is expired`(_ offset: Int64) throws {
        let header = try header(["iss": "TEAM", "iat": .integer(1_790_000_000 + offset)])
        #expect(throws: APNsRefusal.expiredProviderToken) { try judge.judge(header, now: Self.now) }
    }

    @Test func `a token that was good is expired later, although it is remembered`() throws {
        let header = try header(["iss": "TEAM", "iat": 1_790_000_000])
        _ = try judge.judge(header, now: Self.now)
        #expect(throws: APNsRefusal.expiredProviderToken) { try judge.judge(header, now: Self.now + .seconds(3601)) }
    }

    @Test func `a token of another team, key or form is invalid`() throws {
        let stranger = try SigningKey(pem: ECKey.generateP256().privatePEM, keyID: "KEY")
        let otherID = try SigningKey(pem: ECKey.generateP256().privatePEM, keyID: "OTHER")
        let good: JSONValue = ["iss": "TEAM", "iat": 1_790_000_000]
        var headers = [
            try header(["iss": "OTHER", "iat": 1_790_000_000]), try header(["iat": 1_790_000_000]),
            try header(["iss": "TEAM"]),
            try header(["iss": "TEAM", "iat": "1790000000"]), try header(good, key: stranger),
            try header(good, key: otherID),
            "bearer ", "bearer x.y.z", "basic abc",
        ]
        headers.append(String(try header(good).dropFirst("bearer ".count)))
        for header in headers {
            #expect(throws: APNsRefusal.invalidProviderToken) { try judge.judge(header, now: Self.now) }
        }
        #expect(throws: APNsRefusal.missingProviderToken) { try judge.judge(nil, now: Self.now) }
    }

    @Test func `a connection belongs to one team and key and changes its token rarely`() throws {
        var ledger = ConnectionLedger()
        let facts = ProviderTokenFacts(keyID: "KEY", teamID: "TEAM", issuedAt: 0)
        #expect(try ledger.admit(connection: 1, token: "a", facts: facts, now: Self.now))
        #expect(try !ledger.admit(connection: 1, token: "a", facts: facts, now: Self.now))
        let soon = Self.now + .seconds(1199)
        #expect(throws: APNsRefusal.tooManyTokenUpdates) {
            try ledger.admit(connection: 1, token: "b", facts: facts, now: soon)
        }
        #expect(try !ledger.admit(connection: 1, token: "b", facts: facts, now: Self.now + .seconds(1200)))
        let otherKey = ProviderTokenFacts(keyID: "KEY2", teamID: "TEAM", issuedAt: 0)
        #expect(throws: APNsRefusal.unrelatedKeyID) {
            try ledger.admit(connection: 1, token: "c", facts: otherKey, now: soon)
        }
        let otherTeam = ProviderTokenFacts(keyID: "KEY", teamID: "TEAM2", issuedAt: 0)
        #expect(throws: APNsRefusal.invalidProviderToken) {
            try ledger.admit(connection: 1, token: "c", facts: otherTeam, now: soon)
        }
        #expect(try ledger.admit(connection: 2, token: "c", facts: otherTeam, now: soon))
        #expect(ledger.authenticated == 2)
    }

    private func header(_ claims: JSONValue, key: SigningKey? = nil) throws -> String {
        "bearer " + (try JWTSigner.sign(claims: claims, key: key ?? self.key))
    }
}
