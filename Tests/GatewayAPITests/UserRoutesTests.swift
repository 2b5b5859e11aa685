import GatewayAPI
import HTTPServer
import Kernel
import NotificationContract
import Notifications
import Observability
import Synchronization
import Testing

@Suite struct UserRoutesTests {
    private func item(_ number: Int, _ fixture: GatewayFixture) -> InboxItem {
        InboxItem(
            id: MessageID(
                at: fixture.clock.now,
                entropy: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 10)
            ),
            category: "reminder",
            title: "T\(number)",
            body: "B",
            deeplinkURL: "im://home",
            metadata: ["a": 1],
            readAt: nil,
            createdAt: fixture.clock.now
        )
    }

    private func fill(_ fixture: GatewayFixture, _ count: Int) throws -> [InboxItem] {
        let items = (0..<count).map { item($0, fixture) }
        let user = try #require(UserID("u1"))
        fixture.memory.state.withLock { $0.items[user] = items }
        return items
    }

    @Test func `the inbox comes in pages`() async throws {
        let fixture = try GatewayFixture()
        _ = try fill(fixture, 25)
        let first = try await fixture.user(.get, "/api/v2/notifications")
        #expect(first.data["list"]?.arrayValue?.count == 20)
        #expect(
            first.data["pagination"] == ["page": 1, "limit": 20, "total": 25, "totalPages": 2, "hasNext": true]
        )
        let second = try await fixture.user(.get, "/api/v2/notifications?page=2&limit=20")
        #expect(second.data["list"]?.arrayValue?.count == 5)
        #expect(second.data["pagination"]?["hasNext"] == false)
        let names = first.data["list"]?.arrayValue?.first?.members?.map(\.name)
        #expect(
            names == ["id", "category", "title", "body", "deeplinkUrl", "metadata", "isRead", "readAt", "createdAt"]
        )
        #expect(try await fixture.user(.get, "/api/v2/notifications", as: "u2").data["list"] == [])
    }

    @Test func `the last page that may be asked for has no next (G4)`() async throws {
        let fixture = try GatewayFixture()
        _ = try fill(fixture, 10_001)
        let last = try await fixture.user(.get, "/api/v2/notifications?page=100&limit=100")
        #expect(last.data["pagination"]?["totalPages"] == 101)
        #expect(last.data["pagination"]?["hasNext"] == false)
        let before = try await fixture.user(.get, "/api/v2/notifications?page=99&limit=100")
        #expect(before.data["pagination"]?["hasNext"] == true)
    }

    @Test(arguments: ["page=0", "page=x", "limit=0", "limit=101", "page=101&limit=100", "page=-1", "limit=1e1"])
    func `a page that cannot be is refused`(query: String) async throws {
        let fixture = try GatewayFixture()
        #expect(try await fixture.user(.get, "/api/v2/notifications?\(query)").status == 422)
    }

    @Test func `an item is read and unread, by its owner alone`() async throws {
        let fixture = try GatewayFixture()
        let id = try #require(fill(fixture, 1).first?.id)
        let path = "/api/v1/notifications/\(id)/read"
        let read = try await fixture.user(.patch, path, ["isRead": true])
        #expect(read.status == 200)
        #expect(read.data["isRead"] == true)
        #expect(read.data["readAt"]?.stringValue == fixture.clock.now.rfc3339)
        #expect(try await fixture.user(.get, "/api/v1/notifications/unread-count").data["count"] == 0)
        #expect(try await fixture.user(.patch, path, ["isRead": false]).data["isRead"] == false)
        #expect(try await fixture.user(.patch, path, ["isRead": true], as: "u2").status == 404)
        #expect(try await fixture.user(.patch, path, ["isRead": "yes"]).status == 422)
        #expect(try await fixture.user(.patch, path, [:]).status == 422)
        #expect(try await fixture.user(.patch, "/api/v1/notifications/nonsense/read", ["isRead": true]).status == 404)
    }

    @Test func `all are read at once`() async throws {
        let fixture = try GatewayFixture()
        _ = try fill(fixture, 3)
        #expect(try await fixture.user(.get, "/api/v1/notifications/unread-count").data["count"] == 3)
        #expect(try await fixture.user(.post, "/api/v1/notifications/read-all").data["updated"] == 3)
        #expect(try await fixture.user(.get, "/api/v1/notifications/unread-count").data["count"] == 0)
    }

    @Test func `preferences begin with the registry's defaults and change`() async throws {
        let fixture = try GatewayFixture()
        let path = "/api/v1/notifications/preferences"
        let fresh = try await fixture.user(.get, path).data
        #expect(fresh["categories"]?["reminder"]?["enabled"] == true)
        #expect(fresh["categories"]?["campaign"]?["enabled"] == false)
        let changed = try await fixture.user(
            .patch,
            path,
            [
                "categories": ["reminder": false, "campaign": ["enabled": true]], "timezone": "Europe/Oslo",
                "language": "nb-NO",
            ]
        )
        #expect(changed.status == 200)
        #expect(changed.data["categories"]?["reminder"]?["enabled"] == false)
        #expect(changed.data["categories"]?["campaign"]?["enabled"] == true)
        #expect(changed.data["timezone"] == "Europe/Oslo")
        #expect(try await fixture.user(.get, path).data == changed.data)
    }

    @Test(arguments: [
        (#"{"categories":{"lifecycle":false}}"#, "/categories/lifecycle"),
        (#"{"categories":{"mirror":true}}"#, "/categories/mirror"),
        (#"{"categories":{"a/b~c":true}}"#, "/categories/a~1b~0c"),
        (#"{"categories":{"reminder":1}}"#, "/categories/reminder"),
        (#"{"categories":[]}"#, "/categories"), (#"{"timezone":"Mars/Olympus"}"#, "/timezone"), ("{}", ""),
        (#"{"silenceUntil":"2020-01-01T00:00:00Z"}"#, "/silenceUntil"),
        (#"{"permissionStatus":"maybe"}"#, "/permissionStatus"),
    ])
    func `a change that cannot be is pointed at`(body: String, pointer: String) async throws {
        let fixture = try GatewayFixture()
        let answer = try await fixture.user(.patch, "/api/v1/notifications/preferences", JSONValue(parsing: body))
        #expect(answer.status == 422)
        #expect(answer.json["pointer"]?.stringValue == pointer)
    }

    @Test func `categories are named in the user's language`() async throws {
        let fixture = try GatewayFixture()
        let english = try await fixture.user(.get, "/api/v1/notifications/categories").data
        let norwegian = try await fixture.user(.get, "/api/v1/notifications/categories?language=nb").data
        #expect(english["categories"]?.arrayValue?.map { $0["id"] } == ["reminder", "lifecycle", "campaign"])
        #expect(english["categories"]?.arrayValue?[1]["userToggleable"] == false)
        #expect(english["categories"]?.arrayValue?[0]["name"] != norwegian["categories"]?.arrayValue?[0]["name"])
    }

    @Test func `a quiet week begins and ends`() async throws {
        let fixture = try GatewayFixture()
        let path = "/api/v1/notifications/silence"
        let week = try await fixture.user(.post, path)
        #expect(week.data["silenceUntil"]?.stringValue == (fixture.clock.now + .seconds(7 * 86_400)).rfc3339)
        let given = try await fixture.user(.post, path, ["until": "2026-12-24T00:00:00+01:00"])
        #expect(given.data["silenceUntil"] == "2026-12-23T23:00:00.000Z")
        let ended = try await fixture.user(.delete, path)
        #expect(ended.status == 200)
        #expect(ended.data["silenceUntil"] == .null)
        #expect(try await fixture.user(.post, path, ["until": "2030-01-01T00:00:00Z"]).status == 422)
    }
}
