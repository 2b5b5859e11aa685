import HTTP2
import Kernel
import Testing

@testable import PushTransport

struct FCMAnswerTests {
    private static let code = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
    private static let fields = "type.googleapis.com/google.rpc.BadRequest"

    private func answer(_ status: Int, _ body: String, retryAfter: String? = nil) -> FCMAnswer {
        let headers = retryAfter.map { [HTTP2Header("retry-after", $0)] } ?? []
        return FCMAnswer(HTTP2Response(status: status, headers: headers, body: Array(body.utf8)))
    }

    @Test(arguments: FCMReason.table.indices)
    func `every documented answer is known by its details`(_ index: Int) {
        let row = FCMReason.table[index]
        let detail =
            switch row.detail {
            case .code: #"{"@type":"\#(Self.code)","errorCode":"\#(row.reason)"}"#
            case .fields: #"{"@type":"\#(Self.fields)","fieldViolations":[{"field":"message.data","description":"x"}]}"#
            case .none: #"{"@type":"type.googleapis.com/google.rpc.Help"}"#
            }
        let word = row.detail == .code ? "SOMETHING_GENERAL" : row.reason
        let body = #"{"error":{"code":\#(row.status),"message":"m","status":"\#(word)","details":[\#(detail)]}}"#
        let answer = answer(row.status, body)
        #expect(answer.reason == row.reason)
        #expect(answer.action == row.action)
    }

    @Test(arguments: [
        (400, "", FCMAction.reject, "Status400"), (401, "", .renewToken, "Status401"),
        (403, "<html>", .stop, "Status403"),
        (404, "{", .stop, "Status404"), (429, "{}", .quota, "Status429"), (500, "[]", .retry, "Status500"),
        (502, "<html>", .retry, "Status502"), (302, "", .retry, "Status302"),
        (403, #"{"error":{"status":"FOO_BAR"}}"#, .stop, "FOO_BAR"),
        (400, #"{"error":{"status":"FOO_BAR"}}"#, .reject, "FOO_BAR"),
        (
            400,
            #"{"error":{"details":[{"@type":"x/google.firebase.fcm.v1.FcmError","errorCode":"UNSPECIFIED_ERROR"}]}}"#,
            .retry, "UNSPECIFIED_ERROR"
        ),
    ])
    func `an answer that nobody documented is judged by its status`(
        _ status: Int,
        _ body: String,
        _ action: FCMAction,
        _ reason: String
    ) {
        let answer = answer(status, body)
        #expect(answer.action == action)
        #expect(answer.reason == reason)
    }

    @Test func `a violation of the token field alone is about the token`() {
        func body(_ field: String) -> String {
            #"{"error":{"status":"INVALID_ARGUMENT","details":[{"@type":"\#(Self.code)","errorCode":"INVALID_ARGUMENT"},"#
                + #"{"@type":"\#(Self.fields)","fieldViolations":[{"field":"\#(field)"}]}]}}"#
        }
        #expect(answer(400, body("message.token")).action == .deadOrMisconfigured)
        #expect(answer(400, body("message.data")).action == .reject)
    }

    @Test(arguments: [("7", Duration.seconds(7)), ("0", .zero), ("-1", nil), ("soon", nil), ("999999", nil)])
    func `only a sensible number of seconds is a wish`(_ text: String, _ expected: Duration?) {
        #expect(answer(503, "", retryAfter: text).retryAfter == expected)
    }

    @Test func `waits after exceeded quotas grow from a minute`() {
        let policy = FCMPolicy(
            retryPause: Backoff(base: .seconds(20), limit: .seconds(20)),
            quotaPause: Backoff(base: .seconds(120), limit: .seconds(1200))
        )
        for (hits, range) in [(0, 60...120), (1, 120...240), (9, 600...1200)] {
            let decision = policy.decide(answer(429, ""), moves: 0, breakerIsOpen: false, quotaHits: hits) { .renewed }
            let hold = decision.hold.map { Int($0.components.seconds) } ?? 0
            #expect(range.contains(hold))
        }
    }
}
