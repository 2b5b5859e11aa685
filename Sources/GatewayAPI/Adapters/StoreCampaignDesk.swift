import JobQueue
package import Kernel
package import NotificationBus
package import Notifications
package import Producers
package import Store

/// Campaigns in PostgreSQL, and the bus for their test sends.
package struct StoreCampaignDesk: CampaignDesk {
    private let store: CampaignStore
    /// For what looks through all users or all messages.
    private let patient: CampaignStore
    private let messages: CampaignMessages
    private let bus: NotificationBus

    /// - Parameter patient: over a pool whose statements may take long, and that nobody else waits for.
    package init(_ store: CampaignStore, patient: CampaignStore, messages: CampaignMessages, bus: NotificationBus) {
        self.store = store
        self.patient = patient
        self.messages = messages
        self.bus = bus
    }

    package func create(_ id: CampaignID, _ content: CampaignContent, by credential: String) async throws
        -> CampaignStore.Change
    {
        try await asking { try await store.create(id, content, by: credential) }
    }

    package func edit(_ id: CampaignID, _ content: CampaignContent, version: Int?, by credential: String) async throws
        -> CampaignStore.Change
    {
        try await asking { try await store.edit(id, content, version: version, by: credential) }
    }

    package func remove(_ id: CampaignID, by credential: String) async throws -> CampaignStore.Change {
        try await asking { try await store.remove(id, by: credential) }
    }

    package func campaign(_ id: CampaignID) async throws -> Campaign? {
        try await asking { try await store.campaign(id) }
    }

    package func campaigns(in state: CampaignState?, limit: Int, offset: Int) async throws
        -> (total: Int, list: [Campaign])
    {
        try await asking { try await store.campaigns(in: state, limit: limit, offset: offset) }
    }

    package func addToList(
        _ id: CampaignID,
        _ users: [UserID],
        replacing: Bool,
        limit: Int,
        by credential: String
    ) async throws -> (size: Int?, change: CampaignStore.Change) {
        try await asking {
            try await patient.addToList(id, users, replacing: replacing, limit: limit, by: credential)
        }
    }

    package func listSize(_ id: CampaignID) async throws -> Int {
        try await asking { try await patient.listSize(id) }
    }

    package func unknownZones(_ names: [String]) async throws -> [String] {
        try await asking { try await store.unknownZones(names) }
    }

    package func schedule(_ id: CampaignID, _ timing: CampaignTiming, version: Int?, by credential: String) async throws
        -> CampaignStore.Change
    {
        try await asking { try await store.schedule(id, timing, version: version, by: credential) }
    }

    package func unschedule(_ id: CampaignID, by credential: String) async throws -> CampaignStore.Change {
        try await asking { try await store.unschedule(id, by: credential) }
    }

    package func stop(_ id: CampaignID, now: Timestamp, by credential: String) async throws -> CampaignStore.Change {
        try await asking { try await store.stop(id, now: now, by: credential) }
    }

    package func audit(_ id: CampaignID, limit: Int, offset: Int) async throws
        -> (total: Int, list: [CampaignStore.AuditEntry])
    {
        try await asking { try await store.audit(id, limit: limit, offset: offset) }
    }

    package func progress(_ id: CampaignID) async throws -> CampaignStore.Progress? {
        try await asking { try await store.progress(id) }
    }

    package func outcomes(of campaign: Campaign) async throws -> [CampaignStore.Outcome] {
        try await asking { try await patient.outcomes(of: campaign) }
    }

    package func counts(_ campaign: Campaign, isOnByDefault: Bool) async throws -> [CampaignStore.Count] {
        try await asking { try await patient.counts(campaign, isOnByDefault: isOnByDefault) }
    }

    package func sendTest(
        _ campaign: Campaign,
        to users: [UserID],
        run: String,
        at moment: Timestamp,
        by credential: String
    ) async throws -> [NotificationReceipt] {
        let languages = try await asking {
            // First noted, then sent: a test that nobody can find in the audit must not exist.
            try await store.note(
                campaign.id,
                "test",
                by: credential,
                detail: ["users": .integer(users.count), "run": .string(run)]
            )
            return try await store.languages(of: users)
        }
        let requests = users.map { user in
            messages.testRequest(campaign, for: user, language: languages[user.rawValue], run: run, at: moment)
        }
        do {
            return try await bus.enqueueNotifications(requests).map { receipt in
                NotificationReceipt(
                    messageID: receipt.messageID,
                    jobID: receipt.jobID,
                    isDuplicate: receipt.isDuplicate
                )
            }
        } catch let error as JobQueueError where error.code == .redis {
            throw Unavailable(dependency: "redis", reason: error.description)
        }
    }
}
