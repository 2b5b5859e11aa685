import HTTP2
import Kernel
import Testing

@testable import PushSimulator

struct PushValidationTests {
    private static let token = String(repeating: "ab", count: 32)
    private static let newID = UUIDBits(high: 1, low: 2)

    /// One request and the reason it must be refused for, `nil` to be accepted.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        var headers: [HTTP2Header]
        var bodySize = 100
        let refusal: String?

        init(_ name: String, _ changes: [String: String?] = [:], bodySize: Int = 100, refusal: String? = nil) {
            self.name = name
            var values = ["apns-topic": "com.example", "apns-push-type": "alert"] as [String: String?]
            for (key, value) in changes { values[key] = value }
            headers = values.compactMap { key, value in value.map { HTTP2Header(key, $0) } }
            self.bodySize = bodySize
            self.refusal = refusal
        }

        var testDescription: String { name }
    }

    @Test(arguments: [
        Case("the least"),
        Case("no push type", ["apns-push-type": nil]),
        Case(
            "every header",
            [
                "apns-id": "123e4567-e89b-12d3-a456-426655440000", "apns-priority": "5", "apns-expiration": "0",
                "apns-collapse-id": String(repeating: "c", count: 64),
            ]
        ),
        Case(
            "a live activity",
            ["apns-topic": "com.example.push-type.liveactivity", "apns-push-type": "liveactivity"]
        ),
        Case("a background push", ["apns-push-type": "background", "apns-priority": "5"]),
        Case("a payload of the full size", bodySize: 4096),
        Case(
            "a voip payload of the full size",
            ["apns-topic": "com.example.voip", "apns-push-type": "voip"],
            bodySize: 5120
        ),
        Case("an id in capitals", ["apns-id": "123E4567-E89B-12D3-A456-426655440000"], refusal: "BadMessageId"),
        Case("an id that is none", ["apns-id": "1"], refusal: "BadMessageId"),
        Case("no topic", ["apns-topic": nil], refusal: "MissingTopic"),
        Case("another topic", ["apns-topic": "com.other"], refusal: "TopicDisallowed"),
        Case("a topic without the suffix", ["apns-push-type": "voip"], refusal: "TopicDisallowed"),
        Case("an unknown push type", ["apns-push-type": "letter"], refusal: "InvalidPushType"),
        Case("a priority of 7", ["apns-priority": "7"], refusal: "BadPriority"),
        Case("a priority in words", ["apns-priority": "high"], refusal: "BadPriority"),
        Case(
            "an urgent background push",
            ["apns-push-type": "background", "apns-priority": "10"],
            refusal: "BadPriority"
        ),
        Case("an expiration in words", ["apns-expiration": "tomorrow"], refusal: "BadExpirationDate"),
        Case("a negative expiration", ["apns-expiration": "-1"], refusal: "BadExpirationDate"),
        Case(
            "a collapse id of 65 bytes",
            ["apns-collapse-id": String(repeating: "€", count: 21) + "ab"],
            refusal: "BadCollapseId"
        ),
        Case("no payload", bodySize: 0, refusal: "PayloadEmpty"),
        Case("a payload one byte too large", bodySize: 4097, refusal: "PayloadTooLarge"),
        Case(
            "a voip payload one byte too large",
            ["apns-topic": "com.example.voip", "apns-push-type": "voip"],
            bodySize: 5121,
            refusal: "PayloadTooLarge"
        ),
    ])
    func `a request is judged as Apple judges it`(_ request: Case) throws {
        let refusal = refusal(of: request)
        #expect(refusal?.reason == request.refusal)
        if request.refusal == "PayloadTooLarge" { #expect(refusal?.status == 413) }
    }

    @Test func `a push without an id gets one`() throws {
        let headers = try PushHeaders([HTTP2Header("apns-topic", "com.example")])
        let push = try PushValidation(topics: []).check(deviceToken: Self.token, headers: headers, bodySize: 1) {
            Self.newID
        }
        #expect(push.apnsID == Self.newID)
        #expect(push.priority == 10)
    }

    @Test func `a header that comes twice is refused`() {
        let header = HTTP2Header("apns-topic", "com.example")
        #expect(throws: APNsRefusal.duplicateHeaders) { try PushHeaders([header, header]) }
    }

    @Test(
        arguments: [
            ("/3/device/" + token, nil), ("/3/device/" + String(repeating: "AB", count: 100), nil),
            ("/3/device/", "MissingDeviceToken"), ("/3/device", "MissingDeviceToken"), ("/3/devices/ab", "BadPath"),
            ("/2/device/" + token, "BadPath"), ("/", "BadPath"), ("/3/device/ab", "BadDeviceToken"),
            ("/3/device/" + token + "a", "BadDeviceToken"),
            ("/3/device/" + String(repeating: "x", count: 64), "BadDeviceToken"),
            ("/3/device/" + String(repeating: "a", count: 202), "BadDeviceToken"),
            ("/3/device/" + token + "/x", "BadDeviceToken"),
        ] as [(String, String?)]
    )
    func `a path names a device token`(_ path: String, _ reason: String?) {
        do throws(APNsRefusal) {
            _ = try PushValidation.deviceToken(inPath: path)
            #expect(reason == nil)
        } catch {
            #expect(error.reason == reason)
        }
    }

    private func refusal(of request: Case) -> APNsRefusal? {
        do throws(APNsRefusal) {
            let headers = try PushHeaders(request.headers)
            _ = try PushValidation(topics: ["com.example"]).check(
                deviceToken: Self.token,
                headers: headers,
                bodySize: request.bodySize,
                newID: { Self.newID }
            )
            return nil
        } catch {
            return error
        }
    }
}
