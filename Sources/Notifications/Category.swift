package import NotificationContract

/// What the platform needs to know of one kind of notification. A new kind is one value of this type in the registry.
package struct Category: Sendable {
    package let id: CategoryID
    /// The symbol that a settings screen shows.
    package let icon: String
    /// How many a user may get in one ISO week.
    package let maxPerWeek: Int
    /// Whether it uses up the cap over all categories.
    package let countsTowardGlobalCap: Bool
    /// Whether the user can switch it off; `false` also means that the opt-in gate is skipped.
    package let isUserToggleable: Bool
    /// What a user who never chose gets.
    package let isEnabledByDefault: Bool
    /// Whether its texts come from a language model.
    package let usesAI: Bool
    /// The local hours in which it may be shown, `nil` for any hour.
    package let window: DeliveryWindow?
    /// How long after its due time it is still welcome.
    package let timeToLive: Duration
    /// BullMQ's priority: 0 for the plain list, which is served first; else 1 (first) to 2,097,151.
    package let queuePriority: Int
    package let presentation: PushPresentation
    /// Where a tap leads when the producer gave no link.
    package let defaultDeeplink: String

    /// The catalog key of the title shown when the producer gave none.
    package var titleKey: String { "\(id.rawValue).title" }
    /// The catalog key of the name on the settings screen.
    package var nameKey: String { "\(id.rawValue).name" }
}

/// How a push of a category appears on the device.
package struct PushPresentation: Sendable, Equatable {
    /// Apple's `interruption-level`.
    package enum InterruptionLevel: String, Sendable {
        case passive
        case active
        case timeSensitive = "time-sensitive"
    }

    /// `apns-priority`: 10 at once, 5 as power allows, 1 never waking the device.
    package let apnsPriority: Int
    package let interruptionLevel: InterruptionLevel
    /// Apple's `sound`, `nil` for a silent push.
    package let sound: String?
}

/// Local hours in which a category is welcome: half-open, so that a window from 8 to 21 ends as the clock shows 21:00.
package struct DeliveryWindow: Sendable, Equatable {
    /// What becomes of a notification that comes outside the window.
    package enum Outside: Sendable, Equatable {
        /// It is dropped; its producer decides anew.
        case drop
        /// It moves to the next opening, spread over the given time.
        case `defer`(jitter: Duration)
    }

    /// Minutes since local midnight.
    package let opens: Int
    /// Minutes since local midnight, not included.
    package let closes: Int
    package let outside: Outside

    /// All day.
    package static let always = DeliveryWindow(openingHour: 0, closingHour: 24, outside: .drop)

    package init(openingHour: Int, closingHour: Int, outside: Outside) {
        opens = openingHour * 60
        closes = closingHour * 60
        self.outside = outside
    }

    /// Whether the window is open at a local time, in minutes since midnight.
    package func contains(localMinute: Int) -> Bool {
        (opens..<closes).contains(localMinute)
    }
}
