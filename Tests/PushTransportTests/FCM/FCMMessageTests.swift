import Kernel
import Notifications
import Testing

@testable import PushTransport

struct FCMMessageTests {
    private static let now = Timestamp(milliseconds: 1_790_000_000_000)

    private func refusal(_ change: (inout PushRequest) -> Void) -> String? {
        var request = FCMBench.request(1)
        request.expiration = Self.now + .seconds(60)
        change(&request)
        do throws(FCMMessage.Refusal) {
            _ = try FCMMessage.make(request, now: Self.now)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test(arguments: [
        (#"{"aps":{},"count":1}"#, "DataValueNotString"), (#"{"aps":{},"nested":{"a":"b"}}"#, "DataValueNotString"),
        (#"{"aps":{},"list":[]}"#, "DataValueNotString"), (#"{"aps":{},"nothing":null}"#, "DataValueNotString"),
        (#"{"aps":{},"from":"x"}"#, "ReservedDataKey"), (#"{"aps":{},"message_type":"x"}"#, "ReservedDataKey"),
        (#"{"aps":{},"notification":"x"}"#, "ReservedDataKey"), (#"{"aps":{},"google.x":"x"}"#, "ReservedDataKey"),
        (#"{"aps":{},"gcm.x":"x"}"#, "ReservedDataKey"), ("", "PayloadEmpty"), ("[]", "PayloadNotJSON"),
        ("{", "PayloadNotJSON"),
    ])
    func `what Google would refuse never leaves`(_ payload: String, _ reason: String) {
        #expect(refusal { $0.payload = Array(payload.utf8) } == reason)
    }

    @Test(
        arguments: [
            ("", "MalformedDeviceToken"), ("a b", "MalformedDeviceToken"), ("ä", "MalformedDeviceToken"),
            (String(repeating: "x", count: 4097), "MalformedDeviceToken"), (String(repeating: "x", count: 4096), nil),
        ] as [(String, String?)]
    )
    func `a registration token is opaque but bounded`(_ token: String, _ reason: String?) {
        #expect(refusal { $0.deviceToken = token } == reason)
    }

    @Test func `a time to live beyond four weeks is refused, one in the past is zero`() throws {
        #expect(refusal { $0.expiration = Self.now + .seconds(2_419_200) } == nil)
        #expect(refusal { $0.expiration = Self.now + .seconds(2_419_201) } == "BadTTL")
        var request = FCMBench.request(1)
        request.expiration = Self.now - .seconds(60)
        let message = try JSONValue(parsing: try FCMMessage.make(request, now: Self.now))["message"]
        #expect(message?["android"]?["ttl"] == "0s")
        request.expiration = nil
        let endless = try JSONValue(parsing: try FCMMessage.make(request, now: Self.now))["message"]
        #expect(endless?["android"]?["ttl"] == nil)
        #expect(endless?["apns"]?["headers"]?["apns-expiration"] == nil)
    }

    @Test func `the limit counts names and values to the byte`() {
        // title, body, their values, messageId with its 36.
        let frame = "title".utf8.count + 1 + "body".utf8.count + "messageId".utf8.count + 36
        func payload(_ bytes: Int) -> [UInt8] {
            // Four bytes each, and one byte for the rest.
            let text = String(repeating: "👋", count: bytes / 4) + String(repeating: "x", count: bytes % 4)
            return Array("{\"aps\":{\"alert\":{\"title\":\"T\",\"body\":\"\(text)\"}}}".utf8)
        }
        #expect(refusal { $0.payload = payload(4096 - frame) } == nil)
        #expect(refusal { $0.payload = payload(4097 - frame) } == "PayloadTooLarge")
    }

    @Test func `a push that fits Apple fits Google`() {
        let tail =
            #","category":"reminder","sound":"default","thread-id":"reminder"},"source":"notification","deeplinkUrl":"im://x"}"#
        let head = #"{"aps":{"alert":{"title":"T","body":""#
        let body = String(repeating: "x", count: 4096 - head.utf8.count - tail.utf8.count - 2)
        let payload = Array((head + body + "\"}" + tail).utf8)
        #expect(payload.count == 4096)
        #expect(refusal { $0.payload = payload } == nil)
    }

    @Test func `what a push replaces is the message, nothing, or what it names`() throws {
        func tags(_ collapse: PushRequest.Collapse) throws -> [JSONValue?] {
            var request = FCMBench.request(1)
            request.expiration = nil
            request.collapse = collapse
            let message = try JSONValue(parsing: try FCMMessage.make(request, now: Self.now))["message"]
            return [message?["android"]?["notification"]?["tag"], message?["apns"]?["headers"]?["apns-collapse-id"]]
        }
        let id = JSONValue.string(FCMBench.request(1).messageID.description)
        #expect(try tags(.message) == [id, id])
        #expect(try tags(.none) == [nil, nil])
        #expect(try tags(.id("call")) == ["call", "call"])
        #expect(refusal { $0.collapse = .id(String(repeating: "x", count: 65)) } == "BadCollapseId")
        #expect(refusal { $0.collapse = .id("") } == "BadCollapseId")
    }

    @Test(arguments: [PushType.voip, .liveActivity])
    func `what only Apple carries is refused`(_ type: PushType) {
        #expect(refusal { $0.pushType = type } == "BadPushType")
    }

    @Test func `a background push shows nothing and is not urgent`() throws {
        var request = FCMBench.request(1, payload: #"{"aps":{"content-available":1},"what":"sync"}"#)
        request.expiration = nil
        request.pushType = .background
        request.priority = .considerate
        let message = try JSONValue(parsing: try FCMMessage.make(request, now: Self.now))["message"]
        #expect(message?["notification"] == nil)
        #expect(message?["android"]?["notification"] == nil)
        #expect(message?["android"]?["priority"] == "NORMAL")
        #expect(message?["data"]?["what"] == "sync")
        #expect(message?["apns"]?["headers"]?["apns-push-type"] == "background")
        #expect(message?["apns"]?["headers"]?["apns-priority"] == "5")
        #expect(message?["apns"]?["payload"]?["aps"] == ["content-available": 1])
    }
}
