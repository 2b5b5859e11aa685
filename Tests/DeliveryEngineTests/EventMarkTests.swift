import Kernel
import NotificationContract
import Notifications
import Testing

@testable import DeliveryEngine

/// What every event of a message says of its words (P10).
struct EventMarkTests {
    private func event(_ text: NotificationText, detail: JSONValue? = nil) throws -> DeliveryEvent {
        let now = Timestamp(milliseconds: 1_796_083_200_000)
        return try ParsedJob.example(.lifecycle, text: text, at: now).event(.sent, at: now, detail: detail)
    }

    @Test func `events of words that are not the catalog's are marked literal (P10)`() throws {
        #expect(try event(.literal(body: "Hello")).detail == ["literal": true])
        let both = try event(.literal(body: "Hello"), detail: ["sendMilliseconds": 3]).detail
        #expect(both == ["sendMilliseconds": 3, "literal": true])
    }

    @Test func `events of the catalog's words are not (P10)`() throws {
        let text = NotificationText.catalog(key: "lifecycle.subscription_expired", variables: [:])
        #expect(try event(text).detail == nil)
        #expect(try event(text, detail: ["sendMilliseconds": 3]).detail == ["sendMilliseconds": 3])
    }
}
