public import Foundation

/// A local notification that ought to be pending.
public struct WindowRequest: Sendable, Equatable {
    /// The window and its day.
    public var occurrence: WindowOccurrence
    /// When the window opens, a whole second.
    public var fireDate: Date
    /// The window's title in the user's language.
    public var title: String
    /// The window's body in the user's language.
    public var body: String

    /// The identifier it is pending under.
    public var identifier: String { occurrence.identifier }
}

/// A request that the system holds.
public struct PendingRequest: Sendable, Equatable {
    /// Its identifier.
    public var identifier: String
    /// When it fires, `nil` when that cannot be told.
    public var fireDate: Date?
    /// Title and body as they would be shown.
    public var title: String
    /// See `title`.
    public var body: String

    /// Describes a pending request.
    public init(identifier: String, fireDate: Date?, title: String, body: String) {
        self.identifier = identifier
        self.fireDate = fireDate
        self.title = title
        self.body = body
    }
}

/// What to change at the system, so that exactly the planned requests are pending.
public struct WindowPlan: Sendable, Equatable {
    /// To be taken away first.
    public var removes: [String]
    /// To be added; one whose identifier is pending takes the place of the old.
    public var adds: [WindowRequest]
    /// Pending already, just so.
    public var keeps: [WindowRequest]

    /// Everything that is pending afterwards, the earliest first.
    public var requests: [WindowRequest] { (adds + keeps).sorted { $0.fireDate < $1.fireDate } }
    /// Whether there is nothing to do.
    public var isSettled: Bool { removes.isEmpty && adds.isEmpty }
}

/// Plans the local notifications of the coming days (I4).
public struct WindowPlanner: Sendable {
    /// What iOS holds for one app; further ones it forgets silently.
    public static let systemLimit = 64
    /// How far the plan reaches at most, in days: what lies further is made when the app comes to the foreground.
    public static let horizon = 64

    /// All windows, switched on or not.
    public let windows: [SolarWindow]

    /// - Parameter windows: of two with one id the first counts.
    public init(windows: [SolarWindow] = SolarWindow.standard) {
        var seen: Set<String> = []
        self.windows = windows.filter { seen.insert($0.id).inserted }
    }

    /// The plan for a moment: one request for each window that is switched on, opens later than `now` and is neither completed nor announced, for as many
    /// whole days as fit. Where not even the first day fits, as much of it as does.
    /// - Parameters:
    ///   - settings: switches, completions, place and zone.
    ///   - pending: everything the system holds, of others too: those take up room and are left alone.
    ///   - languages: the user's, as `Locale.preferredLanguages` orders them.
    public func plan(
        _ settings: WindowSettings,
        now: Date,
        pending: [PendingRequest],
        languages: [String]
    ) -> WindowPlan {
        let ours = pending.filter { $0.identifier.hasPrefix(WindowOccurrence.identifierPrefix) }
        let room = max(0, Self.systemLimit - (pending.count - ours.count))
        let wanted = requests(settings, now: now, room: room, languages: languages)
        let held = Dictionary(ours.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })
        let names = Set(wanted.map(\.identifier))
        var plan = WindowPlan(
            removes: ours.map(\.identifier).filter { !names.contains($0) },
            adds: [],
            keeps: []
        )
        for request in wanted {
            let old = held[request.identifier]
            // Triggers hold whole seconds, so anything closer is the same second.
            let isSame =
                old.map { old in
                    old.title == request.title && old.body == request.body
                        && old.fireDate.map { abs($0.timeIntervalSince(request.fireDate)) < 1 } == true
                } ?? false
            if isSame { plan.keeps.append(request) } else { plan.adds.append(request) }
        }
        return plan
    }

    private func requests(_ settings: WindowSettings, now: Date, room: Int, languages: [String]) -> [WindowRequest] {
        guard let place = settings.place else { return [] }
        let enabled = windows.filter { settings.enabled.contains($0.id) }
        guard !enabled.isEmpty, room > 0 else { return [] }
        let texts = enabled.map { ($0.title.text(preferring: languages), $0.body.text(preferring: languages)) }
        let today = LocalDate(of: now, in: settings.zone)
        var requests: [WindowRequest] = []
        // A window of yesterday may open after midnight.
        for offset in -1..<Self.horizon {
            let sun = SunTimes(on: today.adding(offset), at: place, in: settings.zone)
            var day: [WindowRequest] = []
            for (window, text) in zip(enabled, texts) {
                let occurrence = WindowOccurrence(window: window.id, date: sun.date)
                guard !settings.completed.contains(occurrence), !settings.announced.contains(occurrence),
                    let opening = window.opening(on: sun),
                    opening.start > now
                else { continue }
                day.append(
                    WindowRequest(occurrence: occurrence, fireDate: opening.start, title: text.0, body: text.1)
                )
            }
            day.sort { $0.fireDate < $1.fireDate }
            if requests.count + day.count > room {
                return requests.isEmpty ? Array(day.prefix(room)) : requests
            }
            requests += day
        }
        return requests
    }
}
