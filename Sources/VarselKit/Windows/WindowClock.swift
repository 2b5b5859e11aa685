public import Foundation

/// The clock inside the app: which window is open, and which opens next. It needs no permission, only a place.
public struct WindowClock: Sendable, Equatable {
    /// A window and when it is open.
    public struct Entry: Sendable, Equatable {
        /// The window and its day.
        public var occurrence: WindowOccurrence
        /// From opening to closing.
        public var interval: DateInterval
        /// Whether the user has marked it as done.
        public var isCompleted: Bool
    }

    /// Windows that are open now, the one that closes first in front.
    public private(set) var open: [Entry] = []
    /// The next to open within a year, `nil` when there is none.
    public private(set) var next: Entry?

    /// Reads the clock. All windows show, switched on or not: a switch is about notifications.
    public init(_ windows: [SolarWindow], _ settings: WindowSettings, now: Date) {
        guard let place = settings.place, !windows.isEmpty else { return }
        let today = LocalDate(of: now, in: settings.zone)
        for offset in -1...366 {
            let sun = SunTimes(on: today.adding(offset), at: place, in: settings.zone)
            var upcoming: [Entry] = []
            for window in windows {
                guard let interval = window.opening(on: sun), interval.end > now else { continue }
                let occurrence = WindowOccurrence(window: window.id, date: sun.date)
                let entry = Entry(
                    occurrence: occurrence,
                    interval: interval,
                    isCompleted: settings.completed.contains(occurrence)
                )
                if interval.start <= now { open.append(entry) } else { upcoming.append(entry) }
            }
            // Windows of one day may reach into the next, never two days on.
            if let first = upcoming.min(by: { $0.interval.start < $1.interval.start }),
                next.map({ first.interval.start < $0.interval.start }) ?? true
            {
                next = first
            }
            if next != nil, offset >= 1 { break }
        }
        open.sort { $0.interval.end < $1.interval.end }
    }
}

/// What the app shows about notifications of windows: never a dead end.
public enum WindowScreen: Sendable, Equatable {
    /// What the button under the clock does.
    public enum CallToAction: Sendable, Equatable {
        /// Shows the page that explains what notifications are for.
        case explain
        /// Asks the system.
        case ask
        /// Opens the system's settings, where the user can change their mind.
        case openSystemSettings
    }

    /// The clock, with notifications planned.
    case planned
    /// The clock, and a way to notifications.
    case clock(CallToAction)

    /// The page that explains comes before the system is asked, always.
    /// - Parameter wasExplained: whether the user has seen that page.
    public init(permission: PushPermission, wasExplained: Bool) {
        switch permission {
        case .granted, .provisional, .ephemeral: self = .planned
        case .denied: self = .clock(.openSystemSettings)
        case .notDetermined: self = .clock(wasExplained ? .ask : .explain)
        }
    }
}
