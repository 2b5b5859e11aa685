package import Kernel
package import Notifications
package import PostgresClient

/// Campaigns as their producer sees them: what begins, and the chunks of what has begun.
package struct CampaignFanOutStore: Sendable {
    /// How an audience is frozen.
    package struct FreezePlan: Sendable {
        /// For users of unknown zone.
        package var defaultZone: String
        /// The most users of a chunk.
        package var chunkSize: Int

        package init(defaultZone: String, chunkSize: Int = 1000) {
            self.defaultZone = defaultZone
            self.chunkSize = chunkSize
        }

        /// Chunks of ten seconds where there is a pace, so that it does not come in bursts of minutes.
        func chunkSize(pace: Int?) -> Int {
            min(chunkSize, max((pace ?? .max) / 6, 1))
        }
    }

    /// A chunk's place in the queue of chunks.
    package struct ChunkReference: Sendable, Hashable {
        package let campaign: CampaignID
        package let chunk: Int

        package init(campaign: CampaignID, chunk: Int) {
            self.campaign = campaign
            self.chunk = chunk
        }
    }

    /// A chunk that is to be handed to the queue.
    package struct Chunk: Sendable {
        package let campaign: Campaign
        /// The instant of its message ids.
        package let startedAt: Timestamp
        package let dueAt: Timestamp
        package let users: Int
        /// When its hours begin, `nil` when it may be handed over now.
        package let opensAt: Timestamp?
    }

    private let pool: PostgresPool

    /// - Parameter pool: one whose statements may take minutes: a million users are frozen in one.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Scheduled campaigns whose moment has come.
    package func due() async throws(PostgresError) -> [CampaignID] {
        var ids: [CampaignID] = []
        for row in try await pool.query(FanOutSQL.due) { ids.append(CampaignID(try row.uuid("id"))) }
        return ids
    }

    /// Freezes the audience and begins, in one transaction: of several producers one does it, and one that dies leaves nothing.
    /// - Returns: how many users it is for; `nil` when it is not to begin, or another producer is at it.
    package func begin(_ id: CampaignID, _ plan: FreezePlan) async throws -> Int? {
        try await pool.transaction { transaction in
            guard let row = try await transaction.query(FanOutSQL.takeDue(id)).first else { return nil }
            let campaign = try Campaign(row)
            guard let moment = try await transaction.query(FanOutSQL.startInstant).first?.timestamp("at") else {
                throw PostgresError(.decoding, message: "no instant to start at")
            }
            let tags = try await CampaignStore.tags(campaign.content) { statement in
                try await transaction.query(statement)
            }
            _ = try await transaction.query(FanOutSQL.freeze(campaign, tags: tags, plan, at: moment))
            let users = try await transaction.query(FanOutSQL.begin(id, at: moment)).first?.int("users") ?? 0
            _ = try await transaction.query(CampaignSQL.clearList(id))
            _ = try await transaction.query(
                CampaignSQL.note(id, "begin", by: "campaign-producer", detail: ["users": .integer(users)])
            )
            return users
        }
    }

    /// Chunks that are due and that no producer was told of lately.
    /// - Parameter chunkSize: the most users of a chunk, as it was frozen.
    package func handOut(limit: Int, chunkSize: Int) async throws(PostgresError) -> [ChunkReference] {
        var chunks: [ChunkReference] = []
        for row in try await pool.queryRetryingTransient(FanOutSQL.handOut(limit: limit, chunkSize: chunkSize)) {
            chunks.append(
                ChunkReference(campaign: CampaignID(try row.uuid("campaign_id")), chunk: try row.int("chunk"))
            )
        }
        return chunks
    }

    /// - Returns: `nil` when there is nothing left to do: it was enqueued, or its campaign was stopped.
    package func chunk(_ reference: ChunkReference, _ window: DeliveryWindow) async throws(PostgresError) -> Chunk? {
        guard let row = try await pool.query(FanOutSQL.chunk(reference.campaign, reference.chunk, window)).first else {
            return nil
        }
        let campaign = try Campaign(row)
        guard let startedAt = campaign.startedAt else {
            throw PostgresError(.decoding, message: "campaign \(campaign.id) is sending and never started")
        }
        return Chunk(
            campaign: campaign,
            startedAt: startedAt,
            dueAt: try row.timestamp("due_at"),
            users: try row.int("chunk_users"),
            opensAt: try row.optionalTimestamp("opens_at")
        )
    }

    /// The users of a chunk with their languages; none when it was enqueued or called off meanwhile.
    package func recipients(of reference: ChunkReference) async throws(PostgresError)
        -> [(user: UserID, language: String?)]
    {
        var recipients: [(user: UserID, language: String?)] = []
        for row in try await pool.query(FanOutSQL.recipients(reference.campaign, reference.chunk)) {
            if let user = UserID(try row.string("user_id")) {
                recipients.append((user, try row.optionalString("language")))
            }
        }
        return recipients
    }

    /// Puts a chunk off until its hours come.
    package func postpone(_ reference: ChunkReference, until moment: Timestamp) async throws(PostgresError) {
        _ = try await pool.queryRetryingTransient(
            FanOutSQL.postpone(reference.campaign, reference.chunk, until: moment)
        )
    }

    /// Takes the next place of a campaign with a pace.
    /// - Returns: `nil` when it was taken, else until when others hold it.
    package func takePlace(of id: CampaignID, for duration: Duration) async throws(PostgresError) -> Timestamp? {
        if try await pool.queryRetryingTransient(FanOutSQL.takePlace(id, for: duration)).affected > 0 { return nil }
        return try await pool.query(FanOutSQL.pacedUntil(id)).first?.optionalTimestamp("paced_until")
    }

    /// Notes that a chunk's users were handed to the queue.
    package func finish(_ reference: ChunkReference) async throws(PostgresError) {
        _ = try await pool.queryRetryingTransient(FanOutSQL.finishChunk(reference.campaign, reference.chunk))
    }

    /// Ends the campaigns of which no chunk is left.
    /// - Returns: those that it ended.
    package func finishCampaigns() async throws(PostgresError) -> [CampaignID] {
        var ids: [CampaignID] = []
        for row in try await pool.queryRetryingTransient(FanOutSQL.finish) {
            ids.append(CampaignID(try row.uuid("id")))
        }
        return ids
    }
}
