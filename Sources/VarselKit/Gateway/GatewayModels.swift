public import Foundation
public import NotificationContract

/// A Live Activity that runs on a device.
public struct LiveActivitySession: Sendable, Equatable, Codable {
    /// What the activity shows.
    public var streamID: String
    /// The app's own name for the device.
    public var deviceID: String
    /// ActivityKit's update token in hexadecimal.
    public var token: String
    /// ActivityKit's id of the activity.
    public var activityID: String?

    /// Describes a running activity.
    public init(streamID: String, deviceID: String, token: String, activityID: String? = nil) {
        self.streamID = streamID
        self.deviceID = deviceID
        self.token = token
        self.activityID = activityID
    }

    private enum CodingKeys: String, CodingKey {
        case streamID = "streamId"
        case deviceID = "deviceId"
        case token = "liveActivityToken"
        case activityID = "activityId"
    }
}

/// Something the user did, which postpones reminders.
public struct Activity: Sendable, Equatable, Encodable {
    /// What kind.
    public enum Kind: String, Sendable, Encodable {
        case impulse, entry
    }

    /// What kind.
    public var type: Kind
    /// When; the gateway's own time when `nil`.
    public var occurredAt: Date?

    /// Describes an activity.
    public init(_ type: Kind, occurredAt: Date? = nil) {
        self.type = type
        self.occurredAt = occurredAt
    }
}

/// A notification in the inbox.
public struct InboxItem: Sendable, Equatable, Identifiable, Decodable {
    /// The push's `messageId`.
    public var id: UUID
    /// Its kind.
    public var category: CategoryID
    /// The title as sent.
    public var title: String
    /// The body as sent.
    public var body: String
    /// Where a tap leads.
    public var deeplinkURL: String?
    /// Whether the user has read it.
    public var isRead: Bool
    /// When it was read.
    public var readAt: Date?
    /// When it was sent.
    public var createdAt: Date

    private enum CodingKeys: String, CodingKey {
        case id, category, title, body, isRead, readAt, createdAt
        case deeplinkURL = "deeplinkUrl"
    }

    /// Reads the gateway's JSON.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        id = try members.decode(UUID.self, forKey: .id)
        category = CategoryID(try members.decode(String.self, forKey: .category))
        title = try members.decode(String.self, forKey: .title)
        body = try members.decode(String.self, forKey: .body)
        deeplinkURL = try members.decodeIfPresent(String.self, forKey: .deeplinkURL)
        isRead = try members.decode(Bool.self, forKey: .isRead)
        readAt = try members.decodeIfPresent(Date.self, forKey: .readAt)
        createdAt = try members.decode(Date.self, forKey: .createdAt)
    }
}

/// A page of the inbox.
public struct InboxPage: Sendable, Equatable, Decodable {
    /// Where the page stands.
    public struct Pagination: Sendable, Equatable, Decodable {
        /// From 1.
        public var page: Int
        /// Items on a full page.
        public var limit: Int
        /// Items on all pages.
        public var total: Int
        /// How many pages there are.
        public var totalPages: Int
        /// Whether another follows.
        public var hasNext: Bool
    }

    /// The newest first.
    public var list: [InboxItem]
    /// Where the page stands.
    public var pagination: Pagination
}
