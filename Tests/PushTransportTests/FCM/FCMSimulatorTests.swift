import Kernel
import Signing
import Testing

@testable import PushSimulator

/// What the simulator of FCM refuses, as Google would.
struct FCMSimulatorTests {
    private static let now = Timestamp(milliseconds: 1_790_000_000_000)

    @Test(
        arguments: [
            (#"{"message":{"token":"abc"}}"#, nil),
            (#"{"validateOnly":true,"message":{"token":"abc","data":{"a":"b"}}}"#, nil),
            (#"{"message":{"token":"abc","android":{"ttl":"3.5s","priority":"high","collapseKey":"x"}}}"#, nil),
            (#"{}"#, "FIELD_VIOLATION"), ("{", "FIELD_VIOLATION"), ("[]", "FIELD_VIOLATION"),
            (#"{"message":{"token":"abc"},"extra":1}"#, "FIELD_VIOLATION"),
            (#"{"message":{"token":"abc","tocken":"x"}}"#, "FIELD_VIOLATION"),
            (#"{"message":{}}"#, "FIELD_VIOLATION"), (#"{"message":{"token":"abc","topic":"x"}}"#, "FIELD_VIOLATION"),
            (#"{"message":{"token":"abc","data":{"a":1}}}"#, "FIELD_VIOLATION"),
            (#"{"message":{"token":"abc","data":{"a":{}}}}"#, "FIELD_VIOLATION"),
            (#"{"message":{"token":"abc","data":{"from":"x"}}}"#, "FIELD_VIOLATION"),
            (#"{"message":{"token":"abc","data":{"google.x":"x"}}}"#, "FIELD_VIOLATION"),
            (#"{"message":{"token":"abc","notification":{"titel":"x"}}}"#, "FIELD_VIOLATION"),
            (#"{"message":{"token":"abc","android":{"ttl":"2419201s"}}}"#, "FIELD_VIOLATION"),
            (#"{"message":{"token":"abc","android":{"ttl":60}}}"#, "FIELD_VIOLATION"),
            (#"{"message":{"token":"abc","android":{"priority":"URGENT"}}}"#, "FIELD_VIOLATION"),
            (#"{"message":{"token":"abc","android":{"notification":{"tag":5}}}}"#, "FIELD_VIOLATION"),
            (#"{"message":{"token":"abc","apns":{"headers":{"apns-priority":5}}}}"#, "FIELD_VIOLATION"),
            (#"{"message":{"token":"abc","apns":{"payload":"x"}}}"#, "FIELD_VIOLATION"),
            (#"{"message":{"token":"a b"}}"#, "INVALID_ARGUMENT"), (#"{"message":{"token":""}}"#, "INVALID_ARGUMENT"),
        ] as [(String, String?)]
    )
    func `a message is judged as Google judges it (A7)`(_ body: String, _ reason: String?) {
        var refused: String?
        do throws(FCMRefusal) {
            let checked = try FCMValidation().check(Array(body.utf8), projectID: "p", now: Self.now)
            #expect(checked.push.deviceToken == "abc")
            #expect(checked.isOnlyACheck == body.contains("validateOnly"))
        } catch {
            refused = error.reason
            #expect(error.status == 400)
        }
        #expect(refused == reason)
    }

    @Test(arguments: [(4096, true), (4097, false)])
    func `names and values count against the limit`(_ bytes: Int, _ isTaken: Bool) {
        let value = String(repeating: "x", count: bytes - 1)
        let body = Array("{\"message\":{\"token\":\"abc\",\"data\":{\"a\":\"\(value)\"}}}".utf8)
        #expect(((try? FCMValidation().check(body, projectID: "p", now: Self.now)) != nil) == isTaken)
    }

    @Test(
        arguments: [
            ("", nil), ("iss", "invalid_grant"), ("aud", "invalid_grant"), ("scope", "invalid_scope"),
            ("long", "invalid_grant"), ("future", "invalid_grant"), ("ended", "invalid_grant"),
            ("key", "invalid_grant"),
            ("grant", "unsupported_grant_type"),
        ] as [(String, String?)]
    )
    func `an assertion is judged as Google judges it (A7)`(_ fault: String, _ expected: String?) throws {
        let own = try FCMBench.key.get()
        let simulation = FCMSimulation(
            projectID: "p",
            clientEmail: "me@p",
            key: try VerificationKey(pem: own.publicPEM, keyID: "k")
        )
        let clock = FixedWallClock(Self.now)
        let tokens = try FCMAccessTokens(simulation, clock: clock)
        let pem = fault == "key" ? try RSAKey.generate().privatePEM : own.privatePEM
        let seconds = Self.now.seconds
        let begin = fault == "future" ? seconds + 120 : fault == "ended" ? seconds - 3700 : seconds
        let assertion = try JWTSigner.sign(
            claims: [
                "iss": .string(fault == "iss" ? "you@p" : "me@p"),
                "aud": .string(fault == "aud" ? "https://elsewhere/token" : "https://here/token"),
                "scope": fault == "scope" ? "all" : "https://www.googleapis.com/auth/firebase.messaging",
                "iat": .integer(begin), "exp": .integer(begin + (fault == "long" ? 3601 : 3600)),
            ],
            key: try SigningKey(pem: pem, keyID: "k")
        )
        let form = [
            "grant_type": fault == "grant" ? "password" : "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "assertion": assertion,
        ]
        do throws(FCMAccessTokens.Refusal) {
            let issued = try tokens.exchange(form, audience: "https://here/token")
            #expect(expected == nil)
            #expect(tokens.accepts(authorization: "Bearer " + issued.token))
            #expect(!tokens.accepts(authorization: issued.token))
            clock.advance(by: .seconds(issued.seconds))
            #expect(!tokens.accepts(authorization: "Bearer " + issued.token))
        } catch {
            #expect(error.error == expected)
        }
    }
}
