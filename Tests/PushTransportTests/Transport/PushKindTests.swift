import Kernel
import Notifications
import Testing

@testable import PushTransport

/// The bodies and headers of each kind of push.
struct PushKindTests {
    private let moment = Timestamp(milliseconds: 1_790_000_000_900)
    private let id = UUIDBits(high: 1, low: 2)
    private let start = LiveActivityPush.Start(
        attributesType: "StreakAttributes",
        attributes: ["goal": 5],
        alert: ["title": "Streak", "body": "Go"]
    )

    private func text(_ push: LiveActivityPush) throws -> String { String(decoding: try push.payload(), as: UTF8.self) }

    @Test(
        arguments: [
            ("alert", "a"), ("background", "a"), ("complication", "a.complication"),
            ("controls", "a.push-type.controls"),
            ("fileprovider", "a.pushkit.fileprovider"), ("liveactivity", "a.push-type.liveactivity"),
            ("location", "a.location-query"), ("mdm", "a"), ("pushtotalk", "a.voip-ptt"), ("voip", "a.voip"),
            ("widgets", "a.push-type.widgets"), ("tomorrow", "a"),
        ]
    )
    func `every type has its topic, and no suffix comes twice (A2)`(_ name: String, _ topic: String) {
        let type = PushType(rawValue: name)
        #expect(type.topic("a") == topic)
        #expect(type.topic(topic) == topic)
        #expect(type.payloadLimit == (name == "voip" ? 5120 : 4096))
    }

    @Test func `every documented type is tested`() {
        #expect(PushType.documented.count == 11)
        #expect(Set(PushType.documented.map(\.rawValue)).count == 11)
    }

    @Test func `a background push wakes the app and shows nothing`() throws {
        let push = BackgroundPush(data: [JSONMember("kind", "sync")])
        #expect(
            String(decoding: try push.payload(), as: UTF8.self) == #"{"aps":{"content-available":1},"kind":"sync"}"#
        )
        let request = try push.request(deviceToken: "aa", environment: .sandbox, topic: "a", messageID: id)
        #expect(request.priority == .considerate)
        #expect(request.pushType == .background)
        #expect(request.environment == .sandbox)
        #expect(throws: PushKindError.self) { try BackgroundPush(data: [JSONMember("aps", 1)]).payload() }
        #expect(throws: PushKindError.self) {
            try BackgroundPush(data: [JSONMember("a", 1), JSONMember("a", 2)]).payload()
        }
    }

    @Test(arguments: [
        (#"{"aps":{"content-available":1},"x":1}"#, true), (#"{"aps":{"content-available":1,"badge":0}}"#, false),
        (#"{"aps":{"content-available":1,"alert":"x"}}"#, false), (#"{"aps":{"alert":"x"}}"#, false),
        (#"{"aps":{"content-available":"1"}}"#, false), ("{}", false), ("x", false),
    ])
    func `a background push that shows something never leaves`(_ body: String, _ isSilent: Bool) {
        var request = PushRequest(
            deviceToken: "aa",
            environment: .production,
            topic: "a",
            messageID: id,
            payload: Array(body.utf8),
            priority: .considerate,
            pushType: .background
        )
        #expect(PushRules.refusal(request) == (isSilent ? nil : "BackgroundPushShowsSomething"))
        request.priority = .immediate
        #expect(PushRules.refusal(request) == "BadPriority")
    }

    @Test func `a call may fill 5,120 bytes, and not one more`() throws {
        func push(_ size: Int) -> VoIPPush {
            VoIPPush(data: [JSONMember("c", .string(String(repeating: "x", count: size)))])
        }
        #expect(try push(5112).payload().count == 5120)
        let error = #expect(throws: PushKindError.self) { try push(5113).payload() }
        #expect(error?.code == .tooLarge)
        #expect(throws: PushKindError.self) { try VoIPPush(data: []).payload() }
        let request = try push(1).request(deviceToken: "aa", environment: .production, topic: "a", messageID: id)
        #expect(request.expiration == Timestamp(milliseconds: 0))
        #expect(request.collapse == .none)
    }

    @Test func `sizes count bytes of UTF-8`() throws {
        // {"aps":{"content-available":1},"k":"…"} takes 37 bytes around the text, an emoji four.
        func push(_ emoji: Int, _ ascii: Int) -> BackgroundPush {
            let text = String(repeating: "👋", count: emoji) + String(repeating: "x", count: ascii)
            return BackgroundPush(data: [JSONMember("k", .string(text))])
        }
        let frame = try push(0, 0).payload().count
        #expect(try push(1000, 4096 - frame - 4000).payload().count == 4096)
        #expect(throws: PushKindError.self) { try push(1000, 4097 - frame - 4000).payload() }
    }

    @Test func `a start carries what Apple demands`() throws {
        let push = LiveActivityPush(
            event: .start(start),
            contentState: ["days": 3],
            timestamp: moment,
            staleDate: moment + .seconds(60),
            relevance: 75.5
        )
        #expect(
            try text(push) == """
                {"aps":{"timestamp":1790000000,"event":"start","content-state":{"days":3},"stale-date":1790000060,\
                "relevance-score":75.5,"attributes-type":"StreakAttributes","attributes":{"goal":5},\
                "alert":{"title":"Streak","body":"Go"},"input-push-token":1}}
                """
        )
        var channel = start
        channel.input = .channel("dHN0LXNyY2gtY2hubA==")
        let followed = LiveActivityPush(event: .start(channel), contentState: ["days": 3], timestamp: moment)
        #expect(try text(followed).contains(#""input-push-channel":"dHN0LXNyY2gtY2hubA==""#))
        #expect(try !text(followed).contains("input-push-token"))
    }

    @Test func `an update and an end have their own members`() throws {
        let update = LiveActivityPush(event: .update(alert: nil), contentState: ["days": 4], timestamp: moment)
        #expect(
            try text(update) == #"{"aps":{"timestamp":1790000000,"event":"update","content-state":{"days":4}}}"#
        )
        let loud = LiveActivityPush(
            event: .update(alert: ["title": ["loc-key": "T"], "body": "b", "sound": "default"]),
            contentState: ["days": 4],
            timestamp: moment
        )
        #expect(try text(loud).contains(#""alert":{"title":{"loc-key":"T"},"body":"b","sound":"default"}"#))
        let end = LiveActivityPush(event: .end(dismissal: moment), contentState: nil, timestamp: moment)
        #expect(
            try text(end) == #"{"aps":{"timestamp":1790000000,"event":"end","dismissal-date":1790000000}}"#
        )
    }

    @Test func `what the device would ignore silently is refused here`() throws {
        var nameless = start
        nameless.attributesType = ""
        var bare = start
        bare.attributes = 5
        var mute = start
        mute.alert = [:]
        var unheard = start
        unheard.input = .channel("")
        let state: JSONValue = ["days": 3]
        for event in [nameless, bare, mute, unheard].map(LiveActivityPush.Event.start) {
            #expect(throws: PushKindError.self) {
                try LiveActivityPush(event: event, contentState: state, timestamp: moment).payload()
            }
        }
        for contentState in [nil, 5] as [JSONValue?] {
            #expect(throws: PushKindError.self) {
                try LiveActivityPush(event: .update(alert: nil), contentState: contentState, timestamp: moment)
                    .payload()
            }
        }
        let infinite = LiveActivityPush(
            event: .update(alert: nil),
            contentState: state,
            timestamp: moment,
            relevance: .infinity
        )
        #expect(throws: PushKindError.self) { try infinite.payload() }
        let large = LiveActivityPush(
            event: .update(alert: nil),
            contentState: ["t": .string(String(repeating: "x", count: 4096))],
            timestamp: moment
        )
        #expect(throws: PushKindError.self) { try large.payload() }
        let fine = LiveActivityPush(event: .update(alert: nil), contentState: state, timestamp: moment)
        #expect(throws: PushKindError.self) {
            try fine.request(
                deviceToken: "aa",
                environment: .production,
                topic: "a",
                messageID: id,
                priority: .low
            )
        }
    }

    @Test func `a dead token says whether a session ended or none can be started`() {
        let dead = PushOutcome.dead(reason: "Unregistered", at: nil)
        let begin = LiveActivityPush(event: .start(start), contentState: [:], timestamp: moment)
        let update = LiveActivityPush(event: .update(alert: nil), contentState: [:], timestamp: moment)
        #expect(begin.deadToken(dead) == .pushToStart)
        #expect(update.deadToken(dead) == .session)
        #expect(update.deadToken(.unknown(reason: "timeout")) == nil)
    }

    @Test(
        arguments: [
            (String(repeating: "€", count: 21) + "a", nil), (String(repeating: "€", count: 21) + "ab", "BadCollapseId"),
            ("", "BadCollapseId"),
        ] as [(String, String?)]
    )
    func `a collapse id has at most 64 bytes`(_ text: String, _ reason: String?) {
        var request = PushRequest(
            deviceToken: "aa",
            environment: .production,
            topic: "a",
            messageID: id,
            payload: [0x7B, 0x7D]
        )
        request.collapse = .id(text)
        #expect(PushRules.refusal(request) == reason)
    }
}
