public import Foundation
public import NotificationContract

/// What the system says about push permission.
public enum PushPermission: String, Codable, Sendable, CaseIterable {
    case granted, provisional, ephemeral, denied, notDetermined

    /// Whether a push reaches the user.
    public var allowsPushes: Bool {
        switch self {
        case .granted, .provisional, .ephemeral: true
        case .denied, .notDetermined: false
        }
    }
}

/// A category as `GET /api/v1/notifications/categories` describes it.
public struct CategoryInfo: Sendable, Equatable, Decodable {
    /// The category's id.
    public var id: CategoryID
    /// In the language asked for.
    public var name: String
    /// An SF Symbol.
    public var icon: String
    /// Whether the user can switch it off.
    public var isUserToggleable: Bool
    /// Whether it is on.
    public var isEnabled: Bool

    /// Describes a category.
    public init(id: CategoryID, name: String, icon: String, isUserToggleable: Bool, isEnabled: Bool) {
        self.id = id
        self.name = name
        self.icon = icon
        self.isUserToggleable = isUserToggleable
        self.isEnabled = isEnabled
    }

    private enum CodingKeys: String, CodingKey {
        case id, name, icon, userToggleable, enabled
    }

    /// Reads the gateway's JSON.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        id = CategoryID(try members.decode(String.self, forKey: .id))
        name = try members.decode(String.self, forKey: .name)
        icon = try members.decodeIfPresent(String.self, forKey: .icon) ?? "bell"
        isUserToggleable = try members.decode(Bool.self, forKey: .userToggleable)
        isEnabled = try members.decode(Bool.self, forKey: .enabled)
    }
}

/// What the user chose, as the gateway keeps it.
public struct Preferences: Sendable, Equatable, Decodable {
    /// What the gateway knows of the permission on the user's devices; its own word where this app does not know it.
    public var permission: PushPermission?
    /// Which categories are on.
    public var switches: [CategoryID: Bool]
    /// IANA name of the zone.
    public var timezone: String?
    /// BCP 47 tag.
    public var language: String?
    /// When the silence ends, `nil` for none.
    public var silenceUntil: Date?

    /// Wraps preferences.
    public init(
        permission: PushPermission?,
        switches: [CategoryID: Bool] = [:],
        timezone: String? = nil,
        language: String? = nil,
        silenceUntil: Date? = nil
    ) {
        self.permission = permission
        self.switches = switches
        self.timezone = timezone
        self.language = language
        self.silenceUntil = silenceUntil
    }

    private enum CodingKeys: String, CodingKey {
        case permissionStatus, categories, timezone, language, silenceUntil
    }

    private struct Switch: Decodable {
        let enabled: Bool
    }

    /// Reads the gateway's JSON.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        permission = try members.decodeIfPresent(String.self, forKey: .permissionStatus).flatMap(PushPermission.init)
        let categories = try members.decodeIfPresent([String: Switch].self, forKey: .categories) ?? [:]
        switches = Dictionary(uniqueKeysWithValues: categories.map { (CategoryID($0), $1.enabled) })
        timezone = try members.decodeIfPresent(String.self, forKey: .timezone)
        language = try members.decodeIfPresent(String.self, forKey: .language)
        silenceUntil = try members.decodeIfPresent(Date.self, forKey: .silenceUntil)
    }
}

/// A change of preferences; `nil` leaves a value alone.
public struct PreferenceUpdate: Sendable, Equatable, Encodable {
    /// Categories to switch on or off.
    public var switches: [CategoryID: Bool]
    /// IANA name of the zone.
    public var timezone: String?
    /// BCP 47 tag.
    public var language: String?

    /// Describes a change.
    public init(switches: [CategoryID: Bool] = [:], timezone: String? = nil, language: String? = nil) {
        self.switches = switches
        self.timezone = timezone
        self.language = language
    }

    private enum CodingKeys: String, CodingKey {
        case categories, timezone, language
    }

    /// Writes the gateway's JSON.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        if !switches.isEmpty {
            let named = Dictionary(uniqueKeysWithValues: switches.map { ($0.rawValue, $1) })
            try members.encode(named, forKey: .categories)
        }
        try members.encodeIfPresent(timezone, forKey: .timezone)
        try members.encodeIfPresent(language, forKey: .language)
    }
}
