import GatewayAPI
import Kernel
import Notifications
import Store

/// A desk whose database is away; what campaigns do is tested against a real one.
struct NoCampaignDesk: CampaignDesk {
    private func away<Value>() throws -> Value { throw Unavailable(dependency: "postgresql", reason: "none here") }

    func create(_ id: CampaignID, _ content: CampaignContent, by credential: String) async throws
        -> CampaignStore.Change
    { try away() }
    func edit(_ id: CampaignID, _ content: CampaignContent, version: Int?, by credential: String) async throws
        -> CampaignStore.Change
    { try away() }
    func remove(_ id: CampaignID, by credential: String) async throws -> CampaignStore.Change { try away() }
    func campaign(_ id: CampaignID) async throws -> Campaign? { try away() }
    func campaigns(in state: CampaignState?, limit: Int, offset: Int) async throws -> (total: Int, list: [Campaign]) {
        try away()
    }
    func addToList(_ id: CampaignID, _ users: [UserID], replacing: Bool, limit: Int, by credential: String) async throws
        -> (size: Int?, change: CampaignStore.Change)
    { try away() }
    func listSize(_ id: CampaignID) async throws -> Int { try away() }
    func unknownZones(_ names: [String]) async throws -> [String] { try away() }
    func schedule(_ id: CampaignID, _ timing: CampaignTiming, version: Int?, by credential: String) async throws
        -> CampaignStore.Change
    { try away() }
    func unschedule(_ id: CampaignID, by credential: String) async throws -> CampaignStore.Change { try away() }
    func stop(_ id: CampaignID, now: Timestamp, by credential: String) async throws -> CampaignStore.Change {
        try away()
    }
    func audit(_ id: CampaignID, limit: Int, offset: Int) async throws
        -> (total: Int, list: [CampaignStore.AuditEntry])
    { try away() }
    func progress(_ id: CampaignID) async throws -> CampaignStore.Progress? { try away() }
    func outcomes(of campaign: Campaign) async throws -> [CampaignStore.Outcome] { try away() }
    func counts(_ campaign: Campaign, isOnByDefault: Bool) async throws -> [CampaignStore.Count] { try away() }
    func sendTest(_ campaign: Campaign, to users: [UserID], run: String, at moment: Timestamp, by credential: String)
        async throws -> [NotificationReceipt]
    { try away() }
}
