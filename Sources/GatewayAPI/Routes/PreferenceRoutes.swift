import HTTPServer
import Kernel
import NotificationContract
import Notifications

/// What a user may choose: category switches, a quiet week, permission, time zone and language (G6).
struct PreferenceRoutes: Sendable {
    private static let base = "/api/v1/notifications"
    /// The quiet week.
    private static let quietWeek = Duration.seconds(7 * 86_400)
    /// The longest silence that can be asked for.
    private static let longestSilence = Duration.seconds(366 * 86_400)

    let book: any PreferenceBook
    let registry: CategoryRegistry
    let catalog: Catalog
    let clock: any WallClock

    var endpoints: [Endpoint] {
        [
            .user(.get, Self.base + "/preferences", summary: "Everything the user chose") { _, user in
                .data(json(try await book.preferences(of: user)))
            }
            .described(.readPreferences),
            .user(.patch, Self.base + "/preferences", summary: "Change some of it") { request, user in
                try await apply(change(request), to: user)
            }
            .described(.changePreferences),
            .user(.get, Self.base + "/categories", summary: "The categories for a settings screen") { request, user in
                let preferences = try await book.preferences(of: user)
                let locale = ServerLocale.resolve(request.query("language") ?? preferences.language)
                return .data(["categories": .array(registry.all.map { json($0, preferences, locale) })])
            }
            .described(.listCategories),
            .user(.post, Self.base + "/silence", summary: "Begin a quiet week, or silence until a given time") {
                request,
                user in
                var change = PreferenceChange()
                change.silenceUntil = .some(try silence(request))
                return try await apply(change, to: user)
            }
            .described(.beginSilence),
            .user(.delete, Self.base + "/silence", summary: "End the silence") { _, user in
                var change = PreferenceChange()
                change.silenceUntil = .some(nil)
                return try await apply(change, to: user)
            }
            .described(.endSilence),
        ]
    }

    private func apply(_ change: PreferenceChange, to user: UserID) async throws -> HTTPResponse {
        guard let preferences = try await book.change(change, of: user) else {
            throw Problem.unacceptable([.init(pointer: "/timezone", detail: "is not a known IANA time zone")])
        }
        return .data(json(preferences))
    }

    private func silence(_ request: HTTPRequest) throws(Problem) -> Timestamp {
        // The plain quiet week needs no body.
        guard !request.body.isEmpty else { return clock.now + Self.quietWeek }
        var body = try BodyReader(request)
        let until = until("until", &body)
        try body.finish()
        return until ?? clock.now + Self.quietWeek
    }

    private func until(_ name: String, _ body: inout BodyReader) -> Timestamp? {
        guard let moment = body.moment(name) else { return nil }
        if moment <= clock.now { body.report(name, "must lie in the future") }
        if moment > clock.now + Self.longestSilence { body.report(name, "must lie within a year") }
        return moment
    }

    private func change(_ request: HTTPRequest) throws(Problem) -> PreferenceChange {
        var body = try BodyReader(request)
        var change = PreferenceChange()
        change.permission = body.choice("permissionStatus", PermissionStatus.self)
        change.timezone = body.text("timezone", limit: 64).nonEmpty
        change.language = body.text("language", limit: NotificationLimits.languageCode).nonEmpty
        if body.has("silenceUntil") { change.silenceUntil = .some(until("silenceUntil", &body)) }
        readSwitches(&body, into: &change)
        if change.isEmpty && body.faults.isEmpty {
            body.report(
                "",
                "names nothing that can be changed: categories, silenceUntil, permissionStatus, timezone, language"
            )
        }
        try body.finish()
        return change
    }

    /// Reads `"categories": {"reminder": false}` or `{"reminder": {"enabled": false}}`.
    private func readSwitches(_ body: inout BodyReader, into change: inout PreferenceChange) {
        guard let categories = body.member("categories") else { return }
        guard let members = categories.members else {
            body.report("categories", "must be an object, not \(categories.kind)")
            return
        }
        for member in members {
            let pointer = "categories/\(JSONPointer.token(String(member.name.prefix(64))))"
            guard let isEnabled = member.value.boolValue ?? member.value["enabled"]?.boolValue else {
                body.report(pointer, "must be true, false or an object with \"enabled\"")
                continue
            }
            do {
                let category = try registry.category(CategoryID(member.name))
                guard category.isUserToggleable || isEnabled else {
                    body.report(pointer, "cannot be switched off")
                    continue
                }
                change.switches[category.id] = isEnabled
            } catch {
                body.report(pointer, "is no category: \(error.description)")
            }
        }
    }

    private func json(_ preferences: UserPreferences) -> JSONValue {
        let categories = registry.all.map { category in
            let state = preferences.categories[category.id]
            let entry: JSONValue = [
                "enabled": .bool(isEnabled(category, preferences)), "lastSentAt": .optional(state?.lastSentAt?.rfc3339),
            ]
            return JSONMember(category.id.rawValue, entry)
        }
        return [
            "permissionStatus": .string(preferences.permission), "categories": .object(categories),
            "timezone": .optional(preferences.timezone), "language": .optional(preferences.language),
            "silenceUntil": .optional(preferences.silenceUntil?.rfc3339),
        ]
    }

    private func json(_ category: Category, _ preferences: UserPreferences, _ locale: ServerLocale) -> JSONValue {
        [
            "id": .string(category.id.rawValue), "name": .string(catalog.t(category.nameKey, locale)),
            "icon": .string(category.icon), "maxPerWeek": .integer(category.maxPerWeek),
            "userToggleable": .bool(category.isUserToggleable), "enabled": .bool(isEnabled(category, preferences)),
        ]
    }

    private func isEnabled(_ category: Category, _ preferences: UserPreferences) -> Bool {
        guard category.isUserToggleable else { return true }
        return preferences.categories[category.id]?.isEnabled ?? category.isEnabledByDefault
    }
}
