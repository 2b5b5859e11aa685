import GatewayAPI
import HTTPServer
import Kernel
import Notifications
import PostgresClient
import Store
import TestSupport
import Testing

@Suite struct CampaignRoutesTests {
    /// The draft with another member, or one in place of its own.
    private static func draft(with name: String, _ value: JSONValue) -> JSONValue {
        .object((draft.members ?? []).filter { $0.name != name } + [JSONMember(name, value)])
    }

    private static let draft: JSONValue = [
        "name": "Winter", "texts": ["en": ["title": "Hi", "body": "Look"], "de": ["body": "Schau"]],
        "fallbackLanguage": "en", "deeplinkUrl": "im://home",
    ]

    private func addUser(_ user: String, language: String?, _ live: LiveGateway) async throws {
        _ = try await live.database.pool.query(
            """
            INSERT INTO user_notification_preferences (user_id, ios_permission_status, language, categories)
            VALUES (\(user), 'granted', \(language), '{"campaign": {"enabled": true}}')
            """
        )
        _ = try await live.database.pool.query(
            """
            INSERT INTO devices (user_id, device_id, provider, platform, token, environment, topic, permission_status)
            VALUES (\(user), 'phone', 'apns', 'ios', \(user), 'production', 'app', 'granted')
            """
        )
    }

    private func upload(_ text: String, to path: String, _ live: LiveGateway) async throws -> JSONValue {
        let response = await live.fixture.client.send(
            .post,
            path,
            headers: [
                "Authorization": "Bearer \(GatewayFixture.serviceToken("all"))", "Content-Type": "text/csv",
            ],
            body: Array(text.utf8)
        )
        #expect(response.status == 200)
        return try JSONValue(parsing: response.body)["data"] ?? .null
    }

    @Test func `a campaign is written, tried, started, watched and stopped over the API (P8, O4)`() async throws {
        try await LiveGateway.run { live in
            let fixture = live.fixture
            try await addUser("u1", language: "de-AT", live)
            try await addUser("u2", language: nil, live)
            let made = try await fixture.service(.post, "/api/v1/campaigns", Self.draft, key: "k1")
            #expect(made.status == 201)
            let again = try await fixture.service(.post, "/api/v1/campaigns", Self.draft, key: "k1")
            #expect(again.data["id"] == made.data["id"] && again.headers["idempotency-replayed"] == "true")
            let id = try #require(made.data["id"]?.stringValue)
            let path = "/api/v1/campaigns/\(id)"
            let list = try await fixture.service(.get, "/api/v1/campaigns?state=draft&limit=5")
            #expect(list.data["campaigns"]?.arrayValue?.count == 1 && list.data["pagination"]?["total"] == 1)
            #expect(try await fixture.service(.get, "/api/v1/campaigns?state=sent").data["campaigns"] == [])
            // Edited, by the version that was read alone.
            let edited = try await fixture.service(.patch, path, ["name": "Winter 2", "version": 1])
            #expect(edited.status == 200 && edited.data["name"] == "Winter 2" && edited.data["version"] == 2)
            #expect(edited.data["texts"]?["de"]?["body"] == "Schau")
            #expect(try await fixture.service(.patch, path, ["name": "x", "version": 1]).slug == "campaign-version")
            // Looked at.
            let preview = try await fixture.service(.get, path + "/preview")
            #expect(preview.data["users"] == 2 && preview.data["reachable"] == 2 && preview.data["withoutZone"] == 2)
            let german = preview.data["languages"]?.arrayValue?.first { $0["language"] == "de" }
            #expect(german?["users"] == 1 && german?["body"] == "Schau" && german?["title"] == "Neues von Test App")
            // A list.
            let uploaded = try await upload("userId\nu1\nbad id\nu1\n", to: path + "/list", live)
            #expect(uploaded["accepted"] == 1 && uploaded["refused"] == 1 && uploaded["users"] == 1)
            #expect(uploaded["faults"]?.arrayValue?.first?["line"] == 3)
            #expect(try await upload("u2\n", to: path + "/list?mode=add", live)["users"] == 2)
            // A test.
            let test = try await fixture.service(.post, path + "/test", ["users": ["u1"]])
            #expect(test.status == 202)
            let job = try #require(test.data["notifications"]?.arrayValue?.first?["jobId"]?.stringValue)
            let data = try JSONValue(parsing: try #require(try await live.field("data", ofJob: job)))
            #expect(data["test"] == true && data["body"] == "Schau")
            let many = JSONValue.array((1...21).map { .string("u\($0)") })
            #expect(try await fixture.service(.post, path + "/test", ["users": many]).status == 422)
            // Scheduled, back, started, stopped.
            let later = (fixture.clock.now + .seconds(3600)).rfc3339
            // A list that is not used would mean everybody.
            for action in ["/schedule", "/start"] {
                let refused = try await fixture.service(.post, path + action, ["at": .string(later)])
                #expect(refused.status == 422 && refused.json["pointer"] == "/audience/list")
            }
            let listed = try await fixture.service(.patch, path, ["audience": ["list": true]])
            #expect(listed.data["version"] == 3)
            let stale = try await fixture.service(.post, path + "/schedule", ["at": .string(later), "version": 2])
            #expect(stale.status == 409 && stale.slug == "campaign-version")
            #expect(try await fixture.service(.post, path + "/start", ["version": 2]).slug == "campaign-version")
            let scheduled = try await fixture.service(.post, path + "/schedule", ["at": .string(later)])
            #expect(scheduled.data["state"] == "scheduled" && scheduled.data["startsAt"] == .string(later))
            #expect(try await fixture.service(.patch, path, ["name": "late"]).status == 409)
            #expect(try await fixture.service(.delete, path).status == 409)
            #expect(try await fixture.service(.delete, path + "/schedule").data["state"] == "draft")
            #expect(try await fixture.service(.post, path + "/schedule", [:]).status == 422)
            #expect(try await fixture.service(.post, path + "/start").data["state"] == "scheduled")
            #expect(try await fixture.service(.post, path + "/start").status == 409)
            let progress = try await fixture.service(.get, path + "/progress")
            #expect(progress.data["users"] == 0 && progress.data["state"] == "scheduled")
            #expect(try await fixture.service(.get, path + "/outcomes").data["outcomes"] == [])
            #expect(try await fixture.service(.post, path + "/stop").data["state"] == "stopped")
            #expect(try await fixture.service(.post, path + "/stop").status == 200)
            #expect(try await fixture.service(.post, path + "/test", ["users": ["u1"]]).slug == "campaign-state")
            // Who did it.
            let audit = try await fixture.service(.get, path + "/audit?limit=100")
            let entries = audit.data["entries"]?.arrayValue ?? []
            #expect(
                entries.reversed().map { $0["action"] } == [
                    "create", "edit", "list-replace", "list-add", "test", "edit", "schedule", "unschedule", "schedule",
                    "stop",
                    "stop",
                ]
            )
            #expect(entries.allSatisfy { $0["credential"] == "all" })
        }
    }

    @Test func `a draft tells everything that is wrong with it (P8)`() async throws {
        let fixture = try GatewayFixture()
        let answer = try await fixture.service(
            .post,
            "/api/v1/campaigns",
            [
                "name": "", "texts": ["en": ["body": " "], "xx": ["body": "b"]], "fallbackLanguage": "de",
                "deeplinkUrl": "http://elsewhere", "audience": ["zones": [], "activeWithinDays": 0], "pacePerMinute": 0,
            ]
        )
        #expect(answer.status == 422)
        let pointers = Set((answer.json["errors"]?.arrayValue ?? []).compactMap { $0["pointer"]?.stringValue })
        for pointer in ["/name", "/texts/xx", "/fallbackLanguage", "/deeplinkUrl", "/audience/zones", "/pacePerMinute"]
        {
            #expect(pointers.contains(pointer), "\(pointer)")
        }
        let long: JSONValue = [
            "name": "n", "texts": ["en": ["body": .string(String(repeating: "x", count: 4090))]],
            "fallbackLanguage": "en",
        ]
        let tooLong = try await fixture.service(.post, "/api/v1/campaigns", long)
        #expect(tooLong.status == 422 && tooLong.json["pointer"] == "/texts/en")
    }

    @Test func `an audience with a criterion that nobody knows is refused, not taken for everybody (P8)`() async throws
    {
        try await LiveGateway.run { live in
            let cases: [(JSONValue, String)] = [
                (["language": ["de"]], "/audience/language"), (["Platforms": ["ios"]], "/audience/Platforms"),
                (["zones": ["Europe/Oslo", "Europe/Olso"]], "/audience/zones"), (["a/b": 1], "/audience/a~1b"),
            ]
            for (audience, pointer) in cases {
                let draft = Self.draft(with: "audience", audience)
                let answer = try await live.fixture.service(.post, "/api/v1/campaigns", draft)
                #expect(answer.status == 422 && answer.json["pointer"]?.stringValue == pointer, "\(audience)")
            }
            let paced = try await live.fixture.service(.post, "/api/v1/campaigns", Self.draft(with: "pace", 5))
            #expect(paced.json["pointer"] == "/pace")
            let draft = Self.draft(with: "audience", ["zones": ["Europe/Oslo"], "platforms": ["iOS"]])
            try await addUser("u1", language: nil, live)
            _ = try await live.database.pool.query(
                "UPDATE user_notification_preferences SET timezone = 'Europe/Oslo' WHERE user_id = 'u1'"
            )
            let made = try await live.fixture.service(.post, "/api/v1/campaigns", draft)
            let path = "/api/v1/campaigns/\(made.data["id"]?.stringValue ?? "")"
            let preview = try await live.fixture.service(.get, path + "/preview")
            #expect(preview.data["users"] == 1, "platforms are named in any case")
            let unknown = try await live.fixture.service(.patch, path, ["audience": ["zone": ["UTC"]]])
            #expect(unknown.status == 422 && unknown.json["pointer"] == "/audience/zone")
            let misspelt = try await live.fixture.service(.patch, path, ["pacePerMinut": 5])
            #expect(misspelt.status == 422 && misspelt.json["pointer"] == "/pacePerMinut")
        }
    }

    @Test func `a pace that would take weeks is refused, with the one that would do (P8)`() async throws {
        try await LiveGateway.run { live in
            _ = try await live.database.pool.query(
                """
                INSERT INTO user_notification_preferences (user_id, ios_permission_status)
                SELECT 'u' || n, 'granted' FROM generate_series(1, 14460) AS n
                """
            )
            _ = try await live.database.pool.query(
                """
                INSERT INTO devices (user_id, device_id, provider, platform, token, environment, topic, permission_status)
                SELECT 'u' || n, 'd', 'apns', 'ios', 'token-' || n, 'production', 'app', 'granted'
                FROM generate_series(1, 14460) AS n
                """
            )
            let draft = Self.draft(with: "pacePerMinute", 1)
            let made = try await live.fixture.service(.post, "/api/v1/campaigns", draft)
            let path = "/api/v1/campaigns/\(made.data["id"]?.stringValue ?? "")"
            let refused = try await live.fixture.service(.post, path + "/start")
            #expect(refused.status == 422 && refused.json["pointer"] == "/pacePerMinute")
            #expect(refused.json["detail"]?.stringValue?.contains("at least 2") == true, "\(refused.text)")
            #expect(try await live.fixture.service(.patch, path, ["pacePerMinute": 2]).status == 200)
            #expect(try await live.fixture.service(.post, path + "/start").status == 200)
        }
    }

    @Test func `campaigns are for their own scope alone (P8)`() async throws {
        let fixture = try GatewayFixture()
        let routes = fixture.gateway.endpoints.filter { $0.path.hasPrefix("/api/v1/campaigns") }
        #expect(routes.count == 15)
        for route in routes {
            #expect(route.access == .service(.campaignsAdmin))
            let path = route.path.replacing("{campaignId}", with: "019ae1c0-4c00-7b3a-9d2e-5f0c1a2b3c4d")
            #expect(try await fixture.user(route.method, path).status == 403, "\(path)")
            #expect(try await fixture.service(route.method, path, as: "writer").status == 403, "\(path)")
            #expect(try await fixture.send(route.method, path).status == 401, "\(path)")
        }
    }
}
