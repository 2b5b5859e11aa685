public import Foundation
public import NotificationContract

/// The notification settings as a screen shows them (I2): built from what the gateway's routes for categories and preferences
/// answer, so that a new category appears without a new app.
public struct SettingsModel: Sendable, Equatable {
    /// One category's line.
    public struct Row: Sendable, Equatable, Identifiable {
        /// The category.
        public var id: CategoryID
        /// In the user's language.
        public var name: String
        /// An SF Symbol.
        public var icon: String
        /// Whether the category is on.
        public var isOn: Bool
        /// Whether the switch is shown as always on.
        public var isLocked: Bool
    }

    /// The card at the top while silence is in force.
    public struct QuietCard: Sendable, Equatable {
        /// When it ends.
        public var until: Date
        /// Days left, a begun one counted whole.
        public var daysLeft: Int
    }

    /// `nil` while no silence is in force.
    public private(set) var quietCard: QuietCard?
    /// In the registry's order.
    public private(set) var rows: [Row]
    /// Whether the system keeps pushes back, so that switches have no effect until the user allows them there.
    public private(set) var needsSystemPermission: Bool

    /// Builds the screen.
    public init(categories: [CategoryInfo], preferences: Preferences, now: Date) {
        rows = categories.map { category in
            Row(
                id: category.id,
                name: category.name,
                icon: category.icon,
                isOn: !category.isUserToggleable || (preferences.switches[category.id] ?? category.isEnabled),
                isLocked: !category.isUserToggleable
            )
        }
        if let until = preferences.silenceUntil, until > now {
            quietCard = QuietCard(until: until, daysLeft: Int((until.timeIntervalSince(now) / 86_400).rounded(.up)))
        }
        needsSystemPermission = preferences.permission == .denied || preferences.permission == .notDetermined
    }

    /// Moves a switch at once, before the gateway has answered.
    /// - Returns: what to send, `nil` when the switch is locked, unknown or already so.
    public mutating func set(_ category: CategoryID, on isOn: Bool) -> PreferenceUpdate? {
        guard let index = rows.firstIndex(where: { $0.id == category }), !rows[index].isLocked, rows[index].isOn != isOn
        else { return nil }
        rows[index].isOn = isOn
        return PreferenceUpdate(switches: [category: isOn])
    }
}
