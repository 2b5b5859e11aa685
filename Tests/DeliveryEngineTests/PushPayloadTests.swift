import Foundation
import Kernel
import NotificationContract
import Notifications
import Testing

@testable import DeliveryEngine

struct PushPayloadTests {
    private let id = MessageID(
        at: Timestamp(milliseconds: 1_796_117_400_000),
        entropy: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    )

    private func payload(_ body: String, category: CategoryID = .lifecycle, entity: String? = nil) throws -> [UInt8] {
        let category = try CategoryRegistry.standard.category(category)
        let text = Catalog(texts: [:], appName: "App")
            .pushText(
                .literal(body: OperatorText(writtenByOperator: body)),
                title: "Title",
                category: category,
                locale: .english
            )
        return try PushPayload.alert(
            text: text,
            category: category,
            messageID: id,
            deeplinkURL: "im://home?source=notification",
            entityID: entity
        )
    }

    /// The files in Tests/Golden/Pushes are what VarselKit's tests decode: the two ends cannot drift apart.
    @Test(
        arguments: [
            ("lifecycle", "Hi", "e-1", nil), ("reminder", "Hi", "e-1", nil), ("campaign", "Ny \"uke\" 👋", nil, 3),
        ] as [(String, String, String?, Int?)]
    )
    func `the push has the agreed form (E6)`(name: String, body: String, entity: String?, badge: Int?) throws {
        let file = URL(filePath: #filePath).appending(path: "../../Golden/Pushes/\(name).json").standardized
        let category = try CategoryRegistry.standard.category(CategoryID(name))
        let text = Catalog(texts: [:], appName: "App")
            .pushText(
                .literal(body: OperatorText(writtenByOperator: body)),
                title: "Title",
                category: category,
                locale: .english
            )
        let push = try PushPayload.alert(
            text: text,
            category: category,
            messageID: id,
            deeplinkURL: "im://home?source=notification",
            entityID: entity,
            badge: badge
        )
        let golden = try String(contentsOf: file, encoding: .utf8)
        #expect(String(decoding: push, as: UTF8.self) == golden)
    }

    @Test func `a reminder is quiet`() throws {
        let value = try JSONValue(parsing: payload("Hi", category: .reminder))
        #expect(value["aps"]?["sound"] == nil)
        #expect(value["aps"]?["interruption-level"] == "passive")
    }

    @Test func `the number for the app's icon is there when it is known`() throws {
        let category = try CategoryRegistry.standard.category(.lifecycle)
        let text = Catalog(texts: [:], appName: "App")
            .pushText(.literal(body: "Hi"), title: nil, category: category, locale: .english)
        for badge in [nil, 3] {
            let bytes = try PushPayload.alert(
                text: text,
                category: category,
                messageID: id,
                deeplinkURL: "im://home",
                entityID: nil,
                badge: badge
            )
            #expect(try JSONValue(parsing: bytes)["aps"]?["badge"]?.integerValue == badge.map(Int64.init))
        }
    }

    @Test func `an entity id with other characters stays out of the push`() throws {
        #expect(try JSONValue(parsing: payload("Hi", entity: "sub:1"))["entityId"] == nil)
    }

    @Test(arguments: ["x", "æ", "👨‍👩‍👧‍👦", "\"", "\n", "漢"])
    func `a long body is cut between characters and fills the limit (A3)`(character: String) throws {
        let bytes = try payload(String(repeating: character, count: 5000))
        #expect(bytes.count <= PushPayload.limit)
        #expect(bytes.count > PushPayload.limit - 2 * character.utf8.count - 4)
        let body = try #require(try JSONValue(parsing: bytes)["aps"]?["alert"]?["body"]?.stringValue)
        #expect(body.hasSuffix("…"))
        #expect(body.dropLast().allSatisfy { String($0) == character })
    }
}
