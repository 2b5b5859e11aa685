import HTTP2
import Kernel
import Testing

@testable import PushTransport

struct AnswerPolicyTests {
    /// One documented answer and everything it must lead to.
    struct Expectation: Sendable, CustomTestStringConvertible {
        let status: Int
        let reason: String
        let fate: AnswerDecision.Fate
        let news: PoolMachine.StreamNews
        var stops = false
        var stopsTopic = false

        init(
            _ status: Int,
            _ reason: String,
            _ fate: AnswerDecision.Fate,
            _ news: PoolMachine.StreamNews = .proven,
            stops: Bool = false,
            stopsTopic: Bool = false
        ) {
            self.status = status
            self.reason = reason
            self.fate = fate
            self.news = news
            self.stops = stops
            self.stopsTopic = stopsTopic
        }

        var testDescription: String { "\(status) \(reason)" }

        static func rejected(_ status: Int, _ reason: String) -> Expectation {
            Expectation(status, reason, .finish(.rejected(reason: reason, status: status)))
        }

        static func dead(_ status: Int, _ reason: String) -> Expectation {
            Expectation(status, reason, .finish(.dead(reason: reason, at: nil)))
        }

        static func stop(_ status: Int, _ reason: String) -> Expectation {
            Expectation(status, reason, .finish(.notSent(reason: reason, after: nil)), .recycle, stops: true)
        }

        static func stopTopic(_ status: Int, _ reason: String) -> Expectation {
            Expectation(status, reason, .finish(.notSent(reason: reason, after: .seconds(300))), stopsTopic: true)
        }

        static func retry(
            _ status: Int,
            _ reason: String,
            _ news: PoolMachine.StreamNews = .inconclusive
        ) -> Expectation {
            Expectation(status, reason, .finish(.retry(reason: reason, status: status, after: nil)), news)
        }

        static let documented: [Expectation] = [
            .rejected(400, "BadCollapseId"), .dead(400, "BadDeviceToken"), .rejected(400, "BadExpirationDate"),
            .rejected(400, "BadMessageId"), .rejected(400, "BadPriority"), .rejected(400, "BadTopic"),
            .dead(400, "DeviceTokenNotForTopic"), .rejected(400, "DuplicateHeaders"),
            Expectation(400, "IdleTimeout", .move(reason: "IdleTimeout"), .recycle),
            .rejected(400, "InvalidPushType"), .rejected(400, "MissingDeviceToken"), .stopTopic(400, "MissingTopic"),
            .rejected(400, "PayloadEmpty"), .stopTopic(400, "TopicDisallowed"), .stop(403, "BadCertificate"),
            .stop(403, "BadCertificateEnvironment"), .stop(403, "BadEnvironmentKeyIdInToken"),
            .stop(403, "BadEnvironmentKeyInToken"),
            Expectation(403, "ExpiredProviderToken", .move(reason: "ExpiredProviderToken"), .recycle),
            .stop(403, "Forbidden"), .stop(403, "InvalidProviderToken"), .stop(403, "MissingProviderToken"),
            .stopTopic(403, "TopicMismatch"),
            Expectation(403, "UnrelatedKeyIdInToken", .move(reason: "UnrelatedKeyIdInToken"), .recycle),
            .rejected(404, "BadPath"), .rejected(405, "MethodNotAllowed"), .dead(410, "ExpiredToken"),
            .dead(410, "Unregistered"), .rejected(413, "PayloadTooLarge"), .stop(429, "TooManyProviderTokenUpdates"),
            Expectation(429, "TooManyRequests", .finish(.throttled(reason: "TooManyRequests", after: nil))),
            .retry(500, "InternalServerError"), .retry(503, "ServiceUnavailable"), .retry(503, "Shutdown", .recycle),
        ]

        static let undocumented: [Expectation] = [
            .rejected(400, "FooBar"), .stop(403, "FooBar"), .rejected(418, "FooBar"), .dead(410, "FooBar"),
            Expectation(429, "FooBar", .finish(.throttled(reason: "FooBar", after: nil))), .retry(500, "FooBar"),
            .retry(502, "FooBar"), .retry(301, "FooBar"),
        ]
    }

    @Test(arguments: Expectation.documented + Expectation.undocumented)
    func `an answer leads to its outcome`(_ expected: Expectation) {
        let decision = decide(answer(expected.status, #"{"reason":"\#(expected.reason)"}"#))
        #expect(decision.fate == expected.fate)
        #expect(decision.news == expected.news)
        #expect(decision.stop == (expected.stops ? expected.reason : nil))
        #expect(decision.stopTopic == (expected.stopsTopic ? expected.reason : nil))
    }

    @Test func `every row of the table has an expectation`() {
        let tested = Set(Expectation.documented.map { "\($0.status) \($0.reason)" })
        #expect(Set(APNsReason.table.map { "\($0.status) \($0.reason)" }) == tested)
        #expect(APNsReason.table.count == tested.count)
    }

    @Test func `success carries Apple's ids`() {
        let response = HTTP2Response(
            status: 200,
            headers: [HTTP2Header("apns-id", "i"), HTTP2Header("apns-unique-id", "u")],
            body: []
        )
        #expect(decide(APNsAnswer(response)).fate == .finish(.accepted(apnsID: "i", uniqueID: "u")))
    }

    @Test(arguments: [
        ("", "Status503"), ("<html>busy</html>", "Status503"), ("{", "Status503"), ("{}", "Status503"),
        (#"{"reason":7}"#, "Status503"), (#"{"reason":""}"#, "Status503"), (#"{"reason":"Neu"}"#, "Neu"),
    ])
    func `a body that is not understood leaves the status to decide`(_ body: String, _ reason: String) {
        #expect(decide(answer(503, body)).fate == .finish(.retry(reason: reason, status: 503, after: nil)))
    }

    @Test(
        arguments: [
            (#"{"reason":"Unregistered","timestamp":1790000000123}"#, 1_790_000_000_123),
            (#"{"reason":"Unregistered","timestamp":1790000000}"#, 1_790_000_000_000),
            (#"{"reason":"Unregistered"}"#, nil), (#"{"reason":"Unregistered","timestamp":"x"}"#, nil),
            (#"{"reason":"Unregistered","timestamp":-1}"#, nil),
        ] as [(String, Int64?)]
    )
    func `a dead token's time is read in milliseconds or seconds`(_ body: String, _ milliseconds: Int64?) {
        let at = milliseconds.map { Timestamp(milliseconds: $0) }
        #expect(decide(answer(410, body)).fate == .finish(.dead(reason: "Unregistered", at: at)))
    }

    @Test func `retry-after is passed on`() {
        let response = HTTP2Response(
            status: 429,
            headers: [HTTP2Header("retry-after", "7")],
            body: Array(#"{"reason":"TooManyRequests"}"#.utf8)
        )
        let fate = AnswerDecision.Fate.finish(.throttled(reason: "TooManyRequests", after: .seconds(7)))
        #expect(decide(APNsAnswer(response)).fate == fate)
    }

    @Test(arguments: ["BadDeviceToken", "DeviceTokenNotForTopic"])
    func `an open breaker believes no bad token`(_ reason: String) {
        let decision = AnswerPolicy.decide(
            answer(400, #"{"reason":"\#(reason)"}"#),
            moves: 0,
            breakerIsOpen: true,
            renew: { .renewed }
        )
        #expect(decision.fate == .finish(.notSent(reason: "Breaker\(reason)", after: .seconds(300))))
    }

    @Test func `a key that no connection accepts for a topic stops that topic alone (A1)`() {
        let decision = AnswerPolicy.decide(
            answer(403, #"{"reason":"UnrelatedKeyIdInToken"}"#),
            moves: 1,
            breakerIsOpen: false,
            renew: { .renewed }
        )
        #expect(decision.fate == .finish(.notSent(reason: "UnrelatedKeyIdInToken", after: .seconds(300))))
        #expect(decision.stop == nil)
        #expect(decision.stopTopic == "UnrelatedKeyIdInToken")
    }

    @Test(arguments: [(403, "ExpiredProviderToken"), (400, "IdleTimeout")])
    func `an answer is followed to another connection only once`(_ status: Int, _ reason: String) {
        let decision = AnswerPolicy.decide(
            answer(status, #"{"reason":"\#(reason)"}"#),
            moves: 1,
            breakerIsOpen: false,
            renew: { .renewed }
        )
        #expect(decision.fate == .finish(.notSent(reason: reason, after: nil)))
        #expect(decision.stop == reason)
    }

    @Test func `a young token that is called expired stops the pool instead of minting`() {
        let decision = AnswerPolicy.decide(
            answer(403, #"{"reason":"ExpiredProviderToken"}"#),
            moves: 0,
            breakerIsOpen: false,
            renew: { .tooYoung }
        )
        #expect(decision.stop == "ExpiredProviderToken")
    }

    private func answer(_ status: Int, _ body: String) -> APNsAnswer {
        APNsAnswer(HTTP2Response(status: status, headers: [], body: Array(body.utf8)))
    }

    private func decide(_ answer: APNsAnswer) -> AnswerDecision {
        AnswerPolicy.decide(answer, moves: 0, breakerIsOpen: false, renew: { .renewed })
    }
}
