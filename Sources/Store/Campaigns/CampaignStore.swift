package import Kernel
package import Notifications
package import PostgresClient

/// Campaigns as operators see them. Every change leaves a line in the audit, in the same transaction.
package struct CampaignStore: Sendable {
    /// What became of a change.
    package enum Change: Sendable, Equatable {
        case done(Campaign)
        case missing
        /// The campaign's state does not allow it, or the content was changed since the version that the caller saw.
        case refused(Campaign)
    }

    /// One line of the audit.
    package struct AuditEntry: Sendable, Equatable {
        package let at: Timestamp
        package let credential: String
        package let action: String
        package let detail: JSONValue?
    }

    /// How many users of an audience have one language tag, empty for none.
    package struct Count: Sendable, Equatable {
        package let tag: String
        package let users: Int
        /// Those who allow pushes and have campaigns on.
        package let reachable: Int
        /// Those whose zone is not known.
        package let withoutZone: Int
    }

    /// How far the fan-out is, in users.
    package struct Progress: Sendable, Equatable {
        package let chunks: Int
        package let enqueuedChunks: Int
        package let users: Int
        package let enqueued: Int
        /// Called off before they were handed to the queue.
        package let stopped: Int
        /// When the next chunk is due.
        package let nextDue: Timestamp?
    }

    /// How many messages ended in one way, or stand where they are.
    package struct Outcome: Sendable, Equatable {
        package let kind: String
        package let reason: String?
        package let messages: Int
    }

    /// A stop holds for everything a campaign ever enqueued or will: its id is not used again.
    private static let forever = Duration.seconds(400 * 86_400)

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Makes a draft. Repeating it with the same id changes nothing.
    package func create(_ id: CampaignID, _ content: CampaignContent, by credential: String) async throws -> Change {
        try await change(id, CampaignSQL.create(id, content, by: credential), "create", by: credential) {
            ["name": .string(content.name)]
        }
        .taken
    }

    /// - Parameter version: the one the caller saw; `nil` for whichever.
    package func edit(_ id: CampaignID, _ content: CampaignContent, version: Int?, by credential: String) async throws
        -> Change
    {
        try await change(id, CampaignSQL.edit(id, content, version: version), "edit", by: credential) {
            ["name": .string(content.name)]
        }
    }

    package func remove(_ id: CampaignID, by credential: String) async throws -> Change {
        try await retryingTransient {
            try await pool.transaction { transaction in
                guard let campaign = try await Self.find(id, transaction) else { return .missing }
                guard try await transaction.query(CampaignSQL.remove(id)).affected > 0 else {
                    return .refused(campaign)
                }
                _ = try await transaction.query(
                    CampaignSQL.note(id, "delete", by: credential, detail: ["name": .string(campaign.content.name)])
                )
                return .done(campaign)
            }
        }
    }

    package func campaign(_ id: CampaignID) async throws(PostgresError) -> Campaign? {
        try await pool.query(CampaignSQL.find(id)).first.map { row throws(PostgresError) in try Campaign(row) }
    }

    /// A page of campaigns, the newest first, and how many there are.
    package func campaigns(in state: CampaignState?, limit: Int, offset: Int) async throws(PostgresError)
        -> (total: Int, list: [Campaign])
    {
        var total = 0
        var list: [Campaign] = []
        for row in try await pool.query(CampaignSQL.list(state: state, limit: limit, offset: offset)) {
            total = try row.int("total")
            if try row.optionalUUID("id") != nil { list.append(try Campaign(row)) }
        }
        return (total, list)
    }

    /// Adds users to a draft's list, in pieces within one transaction.
    /// - Parameters:
    ///   - replacing: whether the list begins anew.
    ///   - limit: the most users the list may have.
    /// - Returns: how many the list has now, with the change; `nil` in place of the number when it would be too long, with nothing
    ///   changed.
    package func addToList(
        _ id: CampaignID,
        _ users: [UserID],
        replacing: Bool,
        limit: Int,
        by credential: String
    ) async throws -> (size: Int?, change: Change) {
        try await retryingTransient {
            try await pool.transaction { transaction in
                guard let campaign = try await Self.find(id, transaction) else { return (nil, .missing) }
                guard try await transaction.query(CampaignSQL.lockForEditing(id)).first != nil else {
                    return (nil, .refused(campaign))
                }
                if replacing { _ = try await transaction.query(CampaignSQL.clearList(id)) }
                for start in stride(from: 0, to: users.count, by: 10_000) {
                    let part = users[start..<min(start + 10_000, users.count)]
                    _ = try await transaction.query(CampaignSQL.addToList(id, part.map(\.rawValue)))
                }
                let size = try await transaction.query(CampaignSQL.listSize(id)).first?.int("n") ?? 0
                guard size <= limit else { throw ListTooLong() }
                _ = try await transaction.query(
                    CampaignSQL.note(
                        id,
                        replacing ? "list-replace" : "list-add",
                        by: credential,
                        detail: ["given": .integer(users.count), "users": .integer(size)]
                    )
                )
                return (size, .done(campaign))
            }
        }
    }

    /// A list would hold more users than it may.
    package struct ListTooLong: Error {}

    /// Refused too while users were uploaded to a campaign that does not use its list: it would go to everybody.
    /// - Parameter version: the one the caller saw; `nil` for whichever.
    package func schedule(_ id: CampaignID, _ timing: CampaignTiming, version: Int?, by credential: String) async throws
        -> Change
    {
        let (startsAt, local): (Timestamp, String?) =
            switch timing {
            case .at(let moment): (moment, nil)
            case .local(let time): (time.first, time.text)
            }
        let statement = CampaignSQL.schedule(id, startsAt: startsAt, localTime: local, version: version)
        return try await change(id, statement, "schedule", by: credential) {
            ["startsAt": .string(startsAt.rfc3339), "localTime": .optional(local)]
        }
    }

    /// The oldest campaign that is for a user and was not handed to the queue for them: one that is being sent, or is scheduled.
    package func next(for user: UserID) async throws -> Campaign? {
        for row in try await pool.query(CampaignSQL.open) {
            let campaign = try Campaign(row)
            let statement: SQL
            if campaign.state == .sending {
                statement = CampaignSQL.isWaiting(campaign.id, user)
            } else {
                let tags = try await Self.tags(campaign.content) { statement in try await pool.query(statement) }
                statement = AudienceSQL.contains(user, campaign.content.audience, of: campaign.id, tags: tags)
            }
            if try await pool.query(statement).first?.bool("found") == true { return campaign }
        }
        return nil
    }

    /// How many users the list holds.
    package func listSize(_ id: CampaignID) async throws(PostgresError) -> Int {
        try await pool.query(CampaignSQL.listSize(id)).first?.int("n") ?? 0
    }

    /// Those of the names that are no time zones.
    package func unknownZones(_ names: [String]) async throws(PostgresError) -> [String] {
        try await pool.query(CampaignSQL.unknownZones(names)).map { row throws(PostgresError) in try row.string("name")
        }
    }

    package func unschedule(_ id: CampaignID, by credential: String) async throws -> Change {
        try await change(id, CampaignSQL.unschedule(id), "unschedule", by: credential)
    }

    /// Ends a campaign: no chunk is enqueued any more, and what is queued ends as cancelled at gate 0, what a producer enqueues at
    /// this very moment included.
    package func stop(_ id: CampaignID, now: Timestamp, by credential: String) async throws -> Change {
        try await change(
            id,
            CampaignSQL.stop(id),
            "stop",
            by: credential,
            then: [
                CancellationStore.cancel(
                    .source,
                    key: id.source,
                    before: now + Self.forever,
                    reason: "campaign_stopped"
                ),
                CampaignSQL.stopChunks(id), CampaignSQL.clearList(id),
            ]
        )
    }

    /// Leaves a line in the audit for what changes nothing here, such as a test send.
    package func note(_ id: CampaignID, _ action: String, by credential: String, detail: JSONValue?)
        async throws(PostgresError)
    {
        _ = try await pool.queryRetryingTransient(CampaignSQL.note(id, action, by: credential, detail: detail))
    }

    package func audit(_ id: CampaignID, limit: Int, offset: Int) async throws(PostgresError)
        -> (total: Int, list: [AuditEntry])
    {
        var total = 0
        var list: [AuditEntry] = []
        for row in try await pool.query(CampaignSQL.audit(id, limit: limit, offset: offset)) {
            total = try row.int("total")
            guard try row.optionalInt64("id") != nil else { continue }
            list.append(
                AuditEntry(
                    at: try row.timestamp("at"),
                    credential: try row.string("credential"),
                    action: try row.string("action"),
                    detail: try row.optionalJSON("detail")
                )
            )
        }
        return (total, list)
    }

    package func progress(_ id: CampaignID) async throws(PostgresError) -> Progress? {
        guard let row = try await pool.query(CampaignSQL.progress(id)).first else { return nil }
        return Progress(
            chunks: try row.int("chunks"),
            enqueuedChunks: try row.int("enqueued_chunks"),
            users: try row.int("users"),
            enqueued: try row.int("enqueued"),
            stopped: try row.int("stopped"),
            nextDue: try row.optionalTimestamp("next_due")
        )
    }

    /// What became of the messages so far.
    package func outcomes(of campaign: Campaign) async throws(PostgresError) -> [Outcome] {
        guard let startedAt = campaign.startedAt else { return [] }
        var outcomes: [Outcome] = []
        for row in try await pool.query(CampaignSQL.outcomes(startedAt: startedAt)) {
            outcomes.append(
                Outcome(
                    kind: try row.string("kind"),
                    reason: try row.optionalString("reason"),
                    messages: try row.int("n")
                )
            )
        }
        return outcomes
    }

    /// How many users the campaign would be for, by language tag.
    package func counts(_ campaign: Campaign, isOnByDefault: Bool) async throws -> [Count] {
        let audience = campaign.content.audience
        let tags = try await Self.tags(campaign.content) { statement in try await pool.query(statement) }
        let statement = AudienceSQL.counts(audience, of: campaign.id, tags: tags, isOnByDefault: isOnByDefault)
        return try await pool.query(statement).map { row in
            Count(
                tag: try row.string("tag"),
                users: try row.int("users"),
                reachable: try row.int("reachable"),
                withoutZone: try row.int("without_zone")
            )
        }
    }

    /// The users' languages, for those whom a test is sent to.
    package func languages(of users: [UserID]) async throws(PostgresError) -> [String: String] {
        var languages: [String: String] = [:]
        for row in try await pool.query(CampaignSQL.languages(of: users)) {
            languages[try row.string("user_id")] = try row.optionalString("language")
        }
        return languages
    }

    /// Which tags of those that users have count as the audience's languages; `nil` for all.
    static func tags(_ content: CampaignContent, _ ask: (SQL) async throws -> PostgresRows) async throws -> [String]? {
        guard let languages = content.audience.languages else { return nil }
        return try await ask(AudienceSQL.tags).map { row in try row.string("tag") }
            .filter { languages.contains(content.texts.locale(for: $0.isEmpty ? nil : $0)) }
    }

    private static func find(_ id: CampaignID, _ transaction: PostgresTransaction) async throws -> Campaign? {
        try await transaction.query(CampaignSQL.find(id)).first.map { row in try Campaign(row) }
    }

    private func change(
        _ id: CampaignID,
        _ statement: SQL,
        _ action: String,
        by credential: String,
        then more: [SQL] = [],
        detail: @Sendable () -> JSONValue? = { nil }
    ) async throws -> Change {
        try await retryingTransient {
            try await pool.transaction { transaction in
                let isDone = try await transaction.query(statement).affected > 0
                guard let campaign = try await Self.find(id, transaction) else { return .missing }
                guard isDone else { return .refused(campaign) }
                for statement in more { _ = try await transaction.query(statement) }
                _ = try await transaction.query(CampaignSQL.note(id, action, by: credential, detail: detail()))
                return .done(campaign)
            }
        }
    }
}

extension CampaignStore.Change {
    /// For a creation: one that was there already is as good as made.
    fileprivate var taken: CampaignStore.Change {
        if case .refused(let campaign) = self { .done(campaign) } else { self }
    }
}
