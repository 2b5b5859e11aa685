public import Foundation

/// Everything a plan depends on beside the time.
public struct WindowSettings: Sendable, Equatable {
    /// The ids of the windows that are switched on.
    public var enabled: Set<String>
    /// What the user has marked as done; days past can be dropped.
    public var completed: Set<WindowOccurrence>
    /// What was announced already: after a move west a window opens later on the same day, and is not told of twice.
    public var announced: Set<WindowOccurrence>
    /// Where the user is, `nil` while that is unknown: then nothing is planned.
    public var place: Place?
    /// The device's zone.
    public var zone: TimeZone

    /// Describes the settings.
    public init(
        enabled: Set<String>,
        completed: Set<WindowOccurrence> = [],
        announced: Set<WindowOccurrence> = [],
        place: Place?,
        zone: TimeZone
    ) {
        self.enabled = enabled
        self.completed = completed
        self.announced = announced
        self.place = place
        self.zone = zone
    }
}

/// What a plan was made from: kept across starts, to tell whether it still holds.
public struct PlanRecord: Sendable, Equatable, Codable {
    /// When it was made.
    public var madeAt: Date
    /// The local day it was made on.
    public var date: LocalDate
    /// The zone's IANA name.
    public var zone: String
    /// Seconds the zone was ahead of UTC.
    public var zoneOffset: Int
    /// Where the user was.
    public var place: Place?
    /// The windows that were switched on.
    public var enabled: Set<String>
    /// What was marked as done.
    public var completed: Set<WindowOccurrence>
    /// The languages the texts were chosen by.
    public var languages: [String]

    /// When the windows of its first days fire, and what was announced lately.
    public var fireDates: [WindowOccurrence: Date]

    /// Notes what a plan was made from, and what of it fires within two days.
    public init(_ settings: WindowSettings, plan: WindowPlan, now: Date, languages: [String]) {
        fireDates = [:]
        for request in plan.requests where request.fireDate.timeIntervalSince(now) < 2 * 86_400 {
            fireDates[request.occurrence] = request.fireDate
        }
        let yesterday = LocalDate(of: now, in: settings.zone).adding(-1)
        for occurrence in settings.announced where occurrence.date >= yesterday {
            fireDates[occurrence] = now
        }
        madeAt = now
        date = LocalDate(of: now, in: settings.zone)
        zone = settings.zone.identifier
        zoneOffset = settings.zone.secondsFromGMT(for: now)
        place = settings.place
        enabled = settings.enabled
        completed = settings.completed
        self.languages = languages
    }
}

extension PlanRecord {
    /// What has been announced by then: the next plan's `announced`.
    public func announced(by now: Date) -> Set<WindowOccurrence> {
        Set(fireDates.filter { $0.value <= now }.keys)
    }
}

/// When a plan has to be made again, asked as the app comes to the foreground.
public struct ReplanRule: Sendable {
    /// Why.
    public enum Reason: Sendable, Hashable {
        case first, moved, newDay, zone, settings, language, clockSetBack
    }

    /// How many metres count as a move. 25 km change the sun's times by a minute or two.
    public var distance: Double

    /// - Parameter distance: metres, see `distance`.
    public init(distance: Double = 25_000) {
        self.distance = distance
    }

    /// The reasons to plan again; none when the plan holds.
    public func reasons(since last: PlanRecord?, _ settings: WindowSettings, now: Date, languages: [String]) -> Set<
        Reason
    > {
        guard let last else { return [.first] }
        var reasons: Set<Reason> = []
        switch (last.place, settings.place) {
        case (let from?, let to?): if from.distance(to: to) > distance { reasons.insert(.moved) }
        case (nil, nil): break
        default: reasons.insert(.moved)
        }
        if last.date != LocalDate(of: now, in: settings.zone) { reasons.insert(.newDay) }
        if last.zone != settings.zone.identifier || last.zoneOffset != settings.zone.secondsFromGMT(for: now) {
            reasons.insert(.zone)
        }
        if last.enabled != settings.enabled || last.completed != settings.completed { reasons.insert(.settings) }
        if last.languages != languages { reasons.insert(.language) }
        if now < last.madeAt { reasons.insert(.clockSetBack) }
        return reasons
    }
}
