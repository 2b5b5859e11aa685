import HTTPServer
import Kernel
import Notifications
import Producers
import Store

/// Campaigns for a console to sit on (P8, O4): written, tried, scheduled, watched and stopped under a scope of their own. The audit
/// names the credential of every change.
struct CampaignRoutes: Sendable {
    static let path = "/api/v1/campaigns"
    static let one = path + "/{campaignId}"
    /// The most users of one list, over all its parts.
    static let longestList = 2_000_000
    /// One part of a list.
    static let listBytes = 16 * 1024 * 1024
    static let mostTestUsers = 20
    /// Message ids carry the campaign's start, and the rows of a month lie together.
    /// Nights make it twice as long, and an id serves for 27 days after its instant (`MessageIdentity`).
    private static let longestRun = Duration.seconds(10 * 86_400)
    /// Counting a million users, or the outcomes of a million messages.
    private static let patience = RouteLimits(deadline: .seconds(30))

    let desk: any CampaignDesk
    let reader: CampaignReader
    let idempotency: IdempotentRequests
    let clock: any WallClock
    /// A list of users takes some tens of megabytes while it is read.
    let listTurnstile = Turnstile(places: 1)
    /// Looking through all users, or a million messages, keeps the database busy for seconds.
    let countTurnstile = Turnstile(places: 1)

    var endpoints: [Endpoint] { drafts + actions + reports }

    private func service(
        _ method: HTTPMethod,
        _ path: String,
        _ summary: String,
        _ description: RouteDescription,
        limits: RouteLimits = RouteLimits(),
        handler: @escaping @Sendable (HTTPRequest, ServiceCredential) async throws -> HTTPResponse
    ) -> Endpoint {
        .service(method, path, scope: .campaignsAdmin, summary: summary, limits: limits, handler: handler)
            .described(description)
    }

    private var drafts: [Endpoint] {
        [
            service(.get, Self.path, "List campaigns, the newest first", .listCampaigns) { request, _ in
                let page = try PageRequest(request)
                let state = try state(request)
                let (total, list) = try await desk.campaigns(in: state, limit: page.limit, offset: page.offset)
                return .data([
                    "campaigns": .array(list.map(\.json)), "pagination": page.pagination(total: total),
                ])
            },
            service(
                .post,
                Self.path,
                "Make a draft",
                .createCampaign,
                limits: RouteLimits(bodyBytes: 256 * 1024)
            ) { request, credential in
                let key = try IdempotencyKey(request.headers)
                let body = try request.json()
                return try await idempotency.run(request, body, credential, key, dues: [nil]) { ids in
                    let content = try await checked(try reader.content(body))
                    guard let id = ids.first else { throw Problem.idempotencyIncomplete }
                    let change = try await desk.create(CampaignID(id.bits), content, by: credential.id)
                    return .data(try change.campaign().json, status: 201)
                }
            },
            service(.get, Self.one, "One campaign", .getCampaign) { request, _ in
                .data(try await campaign(request).json)
            },
            service(
                .patch,
                Self.one,
                "Change a draft",
                .editCampaign,
                limits: RouteLimits(bodyBytes: 256 * 1024)
            ) { request, credential in
                let body = try request.json()
                let old = try await campaign(request)
                let content = try await checked(try reader.content(body, changing: old.content))
                let version = try version(body) ?? old.version
                return .data(
                    try await desk.edit(old.id, content, version: version, by: credential.id).campaign(at: version).json
                )
            },
            service(.delete, Self.one, "Remove a draft", .deleteCampaign) { request, credential in
                _ = try await desk.remove(try id(request), by: credential.id).campaign()
                return .noContent
            },
            service(
                .post,
                Self.one + "/list",
                "Upload a list of users as CSV",
                .uploadCampaignList,
                limits: RouteLimits(bodyBytes: Self.listBytes, deadline: .seconds(60))
            ) { request, credential in
                try await listTurnstile.pass { try await upload(request, credential) }
            },
        ]
    }

    private var actions: [Endpoint] {
        [
            service(
                .post,
                Self.one + "/test",
                "Send a test to up to \(Self.mostTestUsers) users",
                .testCampaign
            ) { request, credential in
                let key = try IdempotencyKey(request.headers)
                let body = try request.json()
                return try await idempotency.run(request, body, credential, key, dues: [nil]) { ids in
                    let users = try testUsers(body)
                    let campaign = try await campaign(request)
                    // What is stopped ends at gate 0, a test of it too.
                    guard campaign.state != .stopped else { throw Problem.campaignState(campaign) }
                    guard let run = ids.first else { throw Problem.idempotencyIncomplete }
                    let receipts = try await desk.sendTest(
                        campaign,
                        to: users,
                        run: run.description,
                        at: run.instant,
                        by: credential.id
                    )
                    return .data(["notifications": .array(receipts.map(\.json))], status: 202)
                }
            },
            service(
                .post,
                Self.one + "/schedule",
                "Schedule a draft",
                .scheduleCampaign,
                limits: Self.patience
            ) { request, credential in
                let body = try request.json()
                return try await schedule(request, try timing(body), try version(body), credential)
            },
            service(
                .delete,
                Self.one + "/schedule",
                "Make a scheduled campaign a draft again",
                .unscheduleCampaign
            ) { request, credential in
                .data(try await desk.unschedule(try id(request), by: credential.id).campaign().json)
            },
            service(
                .post,
                Self.one + "/start",
                "Start a draft now",
                .startCampaign,
                limits: Self.patience
            ) { request, credential in
                let version = request.body.isEmpty ? nil : try version(request.json())
                return try await schedule(request, .at(clock.now), version, credential)
            },
            service(.post, Self.one + "/stop", "Stop a campaign", .stopCampaign) { request, credential in
                .data(try await desk.stop(try id(request), now: clock.now, by: credential.id).campaign().json)
            },
        ]
    }

    private var reports: [Endpoint] {
        [
            service(
                .get,
                Self.one + "/preview",
                "How many users it is for, and what they read",
                .previewCampaign,
                limits: Self.patience
            ) { request, _ in
                .data(try await preview(try await campaign(request)))
            },
            service(.get, Self.one + "/progress", "How far it is", .campaignProgress) { request, _ in
                let campaign = try await campaign(request)
                let progress = try await desk.progress(campaign.id)
                return .data([
                    "state": .string(campaign.state.rawValue), "users": .integer(progress?.users ?? 0),
                    "enqueued": .integer(progress?.enqueued ?? 0), "stopped": .integer(progress?.stopped ?? 0),
                    "chunks": .integer(progress?.chunks ?? 0),
                    "enqueuedChunks": .integer(progress?.enqueuedChunks ?? 0),
                    "nextDue": .optional(progress?.nextDue?.rfc3339),
                ])
            },
            service(
                .get,
                Self.one + "/outcomes",
                "What became of its messages",
                .campaignOutcomes,
                limits: Self.patience
            ) { request, _ in
                let campaign = try await campaign(request)
                let outcomes = try await countTurnstile.pass { try await desk.outcomes(of: campaign) }
                let list = outcomes.map { outcome -> JSONValue in
                    [
                        "outcome": .string(outcome.kind), "reason": .optional(outcome.reason),
                        "messages": .integer(outcome.messages),
                    ]
                }
                return .data(["outcomes": .array(list)])
            },
            service(.get, Self.one + "/audit", "Who changed what, and when", .campaignAudit) { request, _ in
                let page = try PageRequest(request)
                let (total, list) = try await desk.audit(try id(request), limit: page.limit, offset: page.offset)
                guard total > 0 else { throw Problem.noSuchCampaign }
                let entries = list.map { entry -> JSONValue in
                    [
                        "at": .string(entry.at.rfc3339), "credential": .string(entry.credential),
                        "action": .string(entry.action), "detail": entry.detail ?? .null,
                    ]
                }
                return .data(["entries": .array(entries), "pagination": page.pagination(total: total)])
            },
        ]
    }

    // MARK: Reading

    private func id(_ request: HTTPRequest) throws(Problem) -> CampaignID {
        guard let id = request.parameters["campaignId"].flatMap({ CampaignID($0) }) else { throw .noSuchCampaign }
        return id
    }

    private func campaign(_ request: HTTPRequest) async throws -> Campaign {
        guard let campaign = try await desk.campaign(try id(request)) else { throw Problem.noSuchCampaign }
        return campaign
    }

    private func state(_ request: HTTPRequest) throws(Problem) -> CampaignState? {
        guard let text = request.query("state") else { return nil }
        guard let state = CampaignState(rawValue: text) else {
            let states = CampaignState.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badParameter("state", "must be one of \(states)")
        }
        return state
    }

    private func version(_ body: JSONValue) throws(Problem) -> Int? {
        guard let value = body["version"], !value.isNull else { return nil }
        guard let version = value.integerValue.flatMap({ Int32(exactly: $0) }) else {
            throw .unacceptable([.init(pointer: "/version", detail: "must be the version that was read")])
        }
        return Int(version)
    }

    private func testUsers(_ value: JSONValue) throws(Problem) -> [UserID] {
        var body = try BodyReader(value)
        let given = body.member("users")?.arrayValue ?? []
        let users = given.compactMap { $0.stringValue.flatMap(UserID.init) }
        if users.count != given.count { body.report("users", "must be user ids: \(UserID.rule)") }
        if !(1...Self.mostTestUsers).contains(given.count) || Set(users).count != users.count {
            body.report("users", "must hold 1 to \(Self.mostTestUsers) different users")
        }
        try body.finish()
        return users
    }

    private func timing(_ value: JSONValue) throws(Problem) -> CampaignTiming {
        var body = try BodyReader(value)
        let moment = body.moment("at")
        let text = body.text("localTime", limit: 19)
        let local = text.flatMap { CampaignTiming.LocalTime($0) }
        if text != nil, local == nil { body.report("localTime", "must be a date and time such as 2026-12-24T09:30") }
        if (body.member("at") == nil) == (body.member("localTime") == nil) {
            body.report("", "must hold either \"at\" or \"localTime\"")
        }
        let latest = clock.now + NotificationLimits.horizon
        if let moment, moment > latest { body.report("at", "must lie within 90 days") }
        // The last zone is twelve hours behind UTC, the first one fourteen ahead.
        if let local, local.first > latest || local.first + .seconds(26 * 3600) < clock.now {
            body.report("localTime", "must be still to come somewhere, and lie within 90 days")
        }
        try body.finish()
        if let local { return .local(local) }
        return .at(max(moment ?? clock.now, clock.now))
    }

    // MARK: Doing

    /// - Parameter version: the one that the caller saw; without it the one that is judged here.
    private func schedule(
        _ request: HTTPRequest,
        _ timing: CampaignTiming,
        _ version: Int?,
        _ credential: ServiceCredential
    ) async throws -> HTTPResponse {
        let campaign = try await campaign(request)
        let version = version ?? campaign.version
        if !campaign.content.audience.usesList {
            let listed = try await desk.listSize(campaign.id)
            guard listed == 0 else { throw Problem.listUnused(listed) }
        }
        if let pace = campaign.content.pace {
            let users = try await counts(campaign).reduce(0) { $0 + $1.users }
            guard Duration.seconds(users / pace * 60) <= Self.longestRun else {
                throw Problem.unacceptable([
                    .init(
                        pointer: "/pacePerMinute",
                        detail: "is so low that \(users) users take more than ten days: at least \(users / 14_400 + 1)"
                    )
                ])
            }
        }
        let change = try await desk.schedule(campaign.id, timing, version: version, by: credential.id)
        return .data(try change.campaign(at: version).json)
    }

    private func counts(_ campaign: Campaign) async throws -> [CampaignStore.Count] {
        try await countTurnstile.pass {
            try await desk.counts(campaign, isOnByDefault: reader.category.isEnabledByDefault)
        }
    }

    /// Refuses what only the database knows to be wrong.
    private func checked(_ content: CampaignContent) async throws -> CampaignContent {
        guard let zones = content.audience.zones else { return content }
        let unknown = try await desk.unknownZones(zones)
        guard let first = unknown.first else { return content }
        throw Problem.unacceptable([
            .init(pointer: "/audience/zones", detail: "holds \"\(first)\", which is no IANA time zone")
        ])
    }

    private func upload(_ request: HTTPRequest, _ credential: ServiceCredential) async throws -> HTTPResponse {
        guard !request.body.isEmpty else {
            throw Problem.unacceptable([.init(pointer: "", detail: "is empty; name one user a line")])
        }
        let type = request.headers["content-type"]?.lowercased() ?? ""
        guard type.hasPrefix("text/csv") || type.hasPrefix("text/plain") else { throw Problem.noList }
        let mode = request.query("mode") ?? "replace"
        guard ["replace", "add"].contains(mode) else { throw Problem.badParameter("mode", "must be replace or add") }
        let list = UserList(request.body, limit: Self.longestList)
        guard !list.isTooLong else { throw Problem.listTooLong(Self.longestList) }
        do {
            let (size, change) = try await desk.addToList(
                try id(request),
                list.users,
                replacing: mode == "replace",
                limit: Self.longestList,
                by: credential.id
            )
            _ = try change.campaign()
            let faults = list.faults.map { fault -> JSONValue in
                ["line": .integer(fault.line), "problem": .string(fault.problem)]
            }
            return .data([
                "accepted": .integer(list.users.count), "repeated": .integer(list.repeats),
                "refused": .integer(list.faultCount), "faults": .array(faults), "users": .integer(size ?? 0),
            ])
        } catch is CampaignStore.ListTooLong {
            throw Problem.listTooLong(Self.longestList)
        }
    }

    private func preview(_ campaign: Campaign) async throws -> JSONValue {
        let counts = try await counts(campaign)
        var byLocale: [ServerLocale: (users: Int, reachable: Int)] = [:]
        for count in counts {
            let locale = campaign.content.texts.text(for: count.tag.isEmpty ? nil : count.tag).locale
            byLocale[locale, default: (0, 0)].users += count.users
            byLocale[locale, default: (0, 0)].reachable += count.reachable
        }
        let languages = ServerLocale.allCases.compactMap { locale -> JSONValue? in
            guard let text = campaign.content.texts.byLocale[locale] else { return nil }
            let words = reader.catalog.campaignText(text, category: reader.category, locale: locale)
            let count = byLocale[locale] ?? (0, 0)
            return [
                "language": .string(locale.rawValue), "users": .integer(count.users),
                "reachable": .integer(count.reachable), "title": .string(words.title), "body": .string(words.body),
            ]
        }
        return [
            "users": .integer(counts.reduce(0) { $0 + $1.users }),
            "reachable": .integer(counts.reduce(0) { $0 + $1.reachable }),
            "withoutZone": .integer(counts.reduce(0) { $0 + $1.withoutZone }), "languages": .array(languages),
        ]
    }
}
