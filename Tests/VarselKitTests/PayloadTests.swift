import Foundation
import NotificationContract
import Testing
import VarselKit

/// Files of the repository that several tests share.
enum Repository {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func data(_ path: String) throws -> Data { try Data(contentsOf: root.appending(path: path)) }
    static func push(_ name: String) throws -> NotificationPayload {
        try #require(NotificationPayload(json: try data("Tests/Golden/Pushes/\(name).json")))
    }
}

struct PayloadTests {
    @Test func `what the engine sends is read whole (E6)`() throws {
        let push = try Repository.push("lifecycle")
        #expect(push.category == .lifecycle)
        #expect(push.messageID == UUID(uuidString: "01a230f0-89c0-7102-8304-05060708090a"))
        #expect(push.deeplinkURL == "im://home?source=notification")
        #expect(push.entityID == "e-1")
        #expect(push.interruptionLevel == .active)
        #expect(push.sound == "default")
        #expect(push.badge == nil)
        #expect(push.title == "Title")
        #expect(push.body == "Hi")
        let campaign = try Repository.push("campaign")
        #expect(campaign.badge == 3)
        #expect(campaign.entityID == nil)
        #expect(campaign.body == "Ny \"uke\" 👋")
        let reminder = try Repository.push("reminder")
        #expect(reminder.interruptionLevel == .passive)
        #expect(reminder.sound == nil)
    }

    @Test(arguments: [
        "", "[]", "{}", "nonsense", #"{"source":"other","aps":{"category":"reminder"}}"#, #"{"source":"notification"}"#,
        #"{"source":"notification","aps":{"category":""}}"#, #"{"source":"notification","aps":7}"#,
    ])
    func `what is no push of ours is none`(json: String) {
        #expect(NotificationPayload(json: Data(json.utf8)) == nil)
    }

    @Test func `what is unknown or strange counts as missing`() throws {
        let json = """
            {"source":"notification","aps":{"category":"weather","interruption-level":"loud","badge":1.5,"alert":"Hi",
            "sound":{"name":"bell","critical":1},"new":[1,{"x":null}]},"messageId":"7","deeplinkUrl":5,"entityId":"a/b","extra":{}}
            """
        let push = try #require(NotificationPayload(json: Data(json.utf8)))
        #expect(push.category == CategoryID("weather"))
        #expect(push.interruptionLevel == .active)
        #expect(push.badge == nil)
        #expect(push.body == "Hi")
        #expect(push.sound == "bell")
        #expect(push.messageID == nil)
        #expect(push.deeplinkURL == nil)
        #expect(push.entityID == nil)
    }

    @Test func `a userInfo dictionary reads as its JSON does`() throws {
        let userInfo: [AnyHashable: Any] = [
            "aps": [
                "alert": ["title": "Title", "body": "Hi"], "category": "lifecycle", "interruption-level": "active",
                "sound": "default",
            ] as [String: Any],
            "source": "notification", "messageId": "01a230f0-89c0-7102-8304-05060708090a",
            "deeplinkUrl": "im://home?source=notification", "entityId": "e-1",
        ]
        let push = try Repository.push("lifecycle")
        #expect(NotificationPayload(userInfo: userInfo) == push)
    }
}
