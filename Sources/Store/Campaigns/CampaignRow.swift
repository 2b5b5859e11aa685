import Kernel
import Notifications
import PostgresClient

extension Campaign {
    /// Reads a row of `CampaignSQL.columns`.
    init(_ row: PostgresRow) throws(PostgresError) {
        let id = CampaignID(try row.uuid("id"))
        guard let state = CampaignState(rawValue: try row.string("state")),
            let texts = CampaignTexts(json: try row.json("texts"))
        else { throw PostgresError(.decoding, message: "campaign \(id) has an unknown state or no texts") }
        self.init(
            id: id,
            content: CampaignContent(
                name: try row.string("name"),
                texts: texts,
                deeplinkURL: try row.optionalString("deeplink_url"),
                audience: CampaignAudience(json: try row.json("audience")),
                pace: try row.optionalInt64("pace").map { Int($0) }
            ),
            state: state,
            version: try row.int("version"),
            startsAt: try row.optionalTimestamp("starts_at"),
            localTime: try row.optionalString("local_time"),
            startedAt: try row.optionalTimestamp("started_at"),
            endedAt: try row.optionalTimestamp("ended_at"),
            users: try row.optionalInt64("users").map { Int($0) },
            createdBy: try row.string("created_by"),
            createdAt: try row.timestamp("created_at"),
            updatedAt: try row.timestamp("updated_at")
        )
    }
}
