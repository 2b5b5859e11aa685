package import Kernel
package import Notifications
package import Store

/// Where campaigns are written, started and watched. Every call throws `Unavailable` when a server does not answer.
package protocol CampaignDesk: Sendable {
    /// Makes a draft; repeating it with the same id changes nothing.
    func create(_ id: CampaignID, _ content: CampaignContent, by credential: String) async throws
        -> CampaignStore.Change
    /// - Parameter version: the one the caller saw; `nil` for whichever.
    func edit(_ id: CampaignID, _ content: CampaignContent, version: Int?, by credential: String) async throws
        -> CampaignStore.Change
    func remove(_ id: CampaignID, by credential: String) async throws -> CampaignStore.Change
    func campaign(_ id: CampaignID) async throws -> Campaign?
    func campaigns(in state: CampaignState?, limit: Int, offset: Int) async throws -> (total: Int, list: [Campaign])
    /// - Throws: `CampaignStore.ListTooLong`, with nothing changed.
    func addToList(_ id: CampaignID, _ users: [UserID], replacing: Bool, limit: Int, by credential: String) async throws
        -> (size: Int?, change: CampaignStore.Change)
    func listSize(_ id: CampaignID) async throws -> Int
    /// Those of the names that are no time zones.
    func unknownZones(_ names: [String]) async throws -> [String]
    /// - Parameter version: the one the caller saw; `nil` for whichever.
    func schedule(_ id: CampaignID, _ timing: CampaignTiming, version: Int?, by credential: String) async throws
        -> CampaignStore.Change
    func unschedule(_ id: CampaignID, by credential: String) async throws -> CampaignStore.Change
    func stop(_ id: CampaignID, now: Timestamp, by credential: String) async throws -> CampaignStore.Change
    func audit(_ id: CampaignID, limit: Int, offset: Int) async throws
        -> (total: Int, list: [CampaignStore.AuditEntry])
    func progress(_ id: CampaignID) async throws -> CampaignStore.Progress?
    func outcomes(of campaign: Campaign) async throws -> [CampaignStore.Outcome]
    func counts(_ campaign: Campaign, isOnByDefault: Bool) async throws -> [CampaignStore.Count]
    /// Hands a campaign's test to the queue for some users.
    /// - Parameter run: tells this test from others; a repeat with the same one and moment changes nothing.
    func sendTest(_ campaign: Campaign, to users: [UserID], run: String, at moment: Timestamp, by credential: String)
        async throws -> [NotificationReceipt]
}
