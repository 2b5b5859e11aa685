package import Kernel

/// A campaign's id: a UUIDv7 like that of a message.
package struct CampaignID: Hashable, Sendable, CustomStringConvertible {
    package let bits: UUIDBits

    package init(_ bits: UUIDBits) {
        self.bits = bits
    }

    /// Accepts the text of a UUID.
    package init?(_ text: String) {
        guard let bits = UUIDBits(text) else { return nil }
        self.bits = bits
    }

    package var description: String { bits.description }

    /// The handle by which its messages are called back, and their batch reference.
    package var source: String { "cmp:\(bits)" }
}

/// What an operator writes and chooses.
package struct CampaignContent: Sendable, Equatable {
    /// For operators; never sent.
    package var name: String
    package var texts: CampaignTexts
    package var deeplinkURL: String?
    package var audience: CampaignAudience
    /// Users a minute, `nil` for as fast as it goes.
    package var pace: Int?

    package init(
        name: String,
        texts: CampaignTexts,
        deeplinkURL: String? = nil,
        audience: CampaignAudience = CampaignAudience(),
        pace: Int? = nil
    ) {
        self.name = name
        self.texts = texts
        self.deeplinkURL = deeplinkURL
        self.audience = audience
        self.pace = pace
    }
}

/// A campaign as it stands.
package struct Campaign: Sendable, Equatable {
    package var id: CampaignID
    package var content: CampaignContent
    package var state: CampaignState
    /// Grows with every change of the content, from 1.
    package var version: Int
    /// When it begins.
    package var startsAt: Timestamp?
    /// The wall's time in each zone, such as `2026-12-24T09:30:00`.
    package var localTime: String?
    /// When the audience was frozen: the instant of its message ids.
    package var startedAt: Timestamp?
    package var endedAt: Timestamp?
    /// The frozen audience's size.
    package var users: Int?
    /// The credential that made it.
    package var createdBy: String
    package var createdAt: Timestamp
    package var updatedAt: Timestamp

    package init(
        id: CampaignID,
        content: CampaignContent,
        state: CampaignState,
        version: Int,
        startsAt: Timestamp? = nil,
        localTime: String? = nil,
        startedAt: Timestamp? = nil,
        endedAt: Timestamp? = nil,
        users: Int? = nil,
        createdBy: String,
        createdAt: Timestamp,
        updatedAt: Timestamp
    ) {
        self.id = id
        self.content = content
        self.state = state
        self.version = version
        self.startsAt = startsAt
        self.localTime = localTime
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.users = users
        self.createdBy = createdBy
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// When a campaign is due.
package enum CampaignTiming: Sendable, Equatable {
    /// At one moment everywhere.
    case at(Timestamp)
    /// When the wall in each zone shows this time.
    case local(LocalTime)

    /// A date and a time of day, without a zone.
    package struct LocalTime: Sendable, Equatable {
        /// As PostgreSQL reads it, such as `2026-12-24T09:30:00`.
        package let text: String
        /// The moment at which the first zone shows it, fourteen hours ahead of UTC.
        package let first: Timestamp

        /// Reads `2026-12-24T09:30`, with or without seconds.
        package init?(_ text: String) {
            let full = text.utf8.count == 16 ? text + ":00" : text
            guard full.utf8.count == 19, let moment = Timestamp(rfc3339: full + "Z") else { return nil }
            self.text = full
            first = moment - .seconds(14 * 3600)
        }
    }
}
