import DeliveryEngine
import HTTPServer
import Kernel
import NotificationContract
import Notifications
import PostgresClient
import Producers

/// Tools for developing an app (G8). They exist only where a development token is set.
struct DeveloperRoutes: Sendable {
    private static let base = "/api/v1/notifications/dev/"

    let diagnosis: ConsentDiagnosis
    let ping: DevicePing
    let door: any NotificationDoor
    let book: any PreferenceBook
    let caps: any WeeklyCaps
    let voices: [CategoryID: any CategoryVoice]
    let reader: OrderReader
    let registry: CategoryRegistry
    let catalog: Catalog
    let ids: MessageIDGenerator

    var endpoints: [Endpoint] {
        [
            endpoint("ping", .ping, "Push straight to the user's devices, past bus and engine") { _, user in
                .data(try await ping.send(to: user))
            },
            endpoint(
                "test-consent",
                .testConsent,
                "Why each category would or would not reach the user, without side effects"
            ) { body, user in
                var fields = try BodyReader(body)
                let category = fields.text("category", limit: 64)
                try fields.finish()
                return .data(try await diagnosis.diagnose(user, only: category))
            },
            endpoint("trigger-v2", .trigger, "Through bus and engine: mode deliver, generate or both") {
                try await trigger($0, $1)
            },
            endpoint("reset", .reset, "Clear the user's weekly slots, lastSentAt and silence") { _, user in
                let week = try await diagnosis.weekKey(of: user)
                // The weeks beside it count as well: where the user's zone changed, and for what was taken on the other side of Sunday.
                let weeks = [week] + WeekKey.neighbours(of: week)
                try await caps.clear(user: user, categories: registry.all.map(\.id), weekKeys: weeks)
                try await book.forgetHistory(of: user)
                return .data(["userId": .string(user.rawValue), "weekKey": .string(week), "reset": true])
            },
        ]
    }

    private func endpoint(
        _ name: String,
        _ description: RouteDescription,
        _ summary: String,
        _ work: @escaping @Sendable (JSONValue, UserID) async throws -> HTTPResponse
    ) -> Endpoint {
        Endpoint(.post, Self.base + name, access: .developer, summary: summary) { request, caller in
            // A bearer's user needs no body.
            let body = request.body.isEmpty ? .object([]) : try request.json()
            return try await work(body, try user(body, caller))
        }
        .described(description)
    }

    private func user(_ body: JSONValue, _ caller: Caller) throws(Problem) -> UserID {
        if case .developer(let user?) = caller { return user }
        guard let user = body["userId"]?.stringValue.flatMap(UserID.init) else {
            throw .unacceptable([.init(pointer: "/userId", detail: "must name the user: \(UserID.rule)")])
        }
        return user
    }

    private enum Mode: String, CaseIterable {
        case deliver, generate, both
    }

    private func trigger(_ body: JSONValue, _ user: UserID) async throws -> HTTPResponse {
        var fields = try BodyReader(body)
        let mode = fields.choice("mode", Mode.self) ?? .deliver
        try fields.finish()
        var members = (body.members ?? []).filter { $0.name != "userId" }
        // Without words of the caller's, the category's producer is asked for its own.
        if fields.member("body") == nil, fields.member("text") == nil,
            let voice = fields.member("category")?.stringValue.flatMap({ voices[CategoryID($0)] })
        {
            switch try await asking({ try await voice.words(for: user) }) {
            case .says(let key, let variables):
                let filled = variables.strings.map { JSONMember($0.key, .string($0.value)) }
                members.removeAll { $0.name == "body" || $0.name == "text" }
                members.append(JSONMember("text", ["key": .string(key), "variables": .object(filled)]))
            case .saysAsWritten(let title, let body, let deeplinkURL):
                members.removeAll { ["title", "body", "text", "deeplinkUrl"].contains($0.name) }
                members.append(JSONMember("body", .string(body.words)))
                if let title { members.append(JSONMember("title", .string(title.words))) }
                if let deeplinkURL { members.append(JSONMember("deeplinkUrl", .string(deeplinkURL))) }
            case .silent(let reason):
                return .data(["mode": .string(mode.rawValue), "generated": nil, "silent": .string(reason)])
            }
        }
        let draft: OrderDraft
        do {
            draft = try reader.read(.object(members + [JSONMember("userId", .string(user.rawValue))]))
        } catch {
            throw Problem(error.problems)
        }
        var answer = [JSONMember("mode", .string(mode.rawValue))]
        if mode != .deliver { answer.append(JSONMember("generated", try await words(of: draft, user))) }
        if mode != .generate {
            let receipts = try await door.enqueue([draft.order(ids.next(due: draft.scheduledFor))])
            answer += receipts.first?.json.members ?? []
        }
        return .data(.object(answer), status: mode == .generate ? 200 : 202)
    }

    /// The words as the device would show them.
    private func words(of draft: OrderDraft, _ user: UserID) async throws -> JSONValue {
        let chosen = try await book.preferences(of: user).language
        let text = catalog.pushText(
            draft.job.text,
            title: draft.job.title,
            category: try registry.category(draft.job.category),
            locale: ServerLocale.resolve(draft.job.languageCode ?? chosen)
        )
        return ["title": .string(text.title), "body": .string(text.body)]
    }
}
