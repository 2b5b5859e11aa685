public import Foundation

/// A stretch of the day between two moments of the sun, of which the app tells the user when it opens.
public struct SolarWindow: Sendable, Equatable, Identifiable {
    /// A moment of the sun and how long after it.
    public struct Edge: Sendable, Equatable {
        /// The moment.
        public var moment: SunMoment
        /// Seconds after it, negative before it; up to half a day either way.
        public var offset: TimeInterval

        /// Names an edge.
        public init(_ moment: SunMoment, offset: TimeInterval = 0) {
            self.moment = moment
            self.offset = min(43_200, max(-43_200, offset))
        }
    }

    /// Stable across versions of the app: part of the identifiers of what is pending.
    public var id: String
    /// When it opens.
    public var opens: Edge
    /// When it closes.
    public var closes: Edge
    /// The notification's title.
    public var title: LocalizedText
    /// The notification's body.
    public var body: LocalizedText

    /// Defines a window.
    public init(id: String, opens: Edge, closes: Edge, title: LocalizedText, body: LocalizedText = .windowIsOpen) {
        self.id = id
        self.opens = opens
        self.closes = closes
        self.title = title
        self.body = body
    }

    /// Two hours from sunrise, two around noon, two up to sunset.
    public static let standard = [
        SolarWindow(
            id: "morning",
            opens: Edge(.sunrise),
            closes: Edge(.sunrise, offset: 7200),
            title: .morningWindow
        ),
        SolarWindow(
            id: "midday",
            opens: Edge(.noon, offset: -3600),
            closes: Edge(.noon, offset: 3600),
            title: .middayWindow
        ),
        SolarWindow(
            id: "evening",
            opens: Edge(.sunset, offset: -7200),
            closes: Edge(.sunset),
            title: .eveningWindow
        ),
    ]

    /// When it is open on a day, in whole seconds.
    /// - Returns: `nil` when it does not open: the sun does not rise or set, or it would close before it opens.
    public func opening(on day: SunTimes) -> DateInterval? {
        guard let from = day.moment(opens.moment), let until = day.moment(closes.moment) else { return nil }
        let start = (from.timeIntervalSince1970 + opens.offset).rounded()
        let end = (until.timeIntervalSince1970 + closes.offset).rounded()
        guard end > start else { return nil }
        return DateInterval(start: Date(timeIntervalSince1970: start), end: Date(timeIntervalSince1970: end))
    }
}

/// One window on one local day.
public struct WindowOccurrence: Hashable, Sendable, Codable {
    /// The window's id.
    public var window: String
    /// The local day it belongs to.
    public var date: LocalDate

    /// Names an occurrence.
    public init(window: String, date: LocalDate) {
        self.window = window
        self.date = date
    }

    /// What the identifiers of this library's requests begin with.
    public static let identifierPrefix = "varsel.window."
    /// The key of the window's id in a request's `userInfo`.
    public static let windowKey = "varselWindow"
    /// The key of the local date in a request's `userInfo`.
    public static let dateKey = "varselDate"

    /// The pending request's identifier: the same however often the plan is made.
    public var identifier: String { "\(Self.identifierPrefix)\(window).\(date)" }

    /// What a request carries, so that a tap finds its window: nothing else, and nothing about the user.
    public var userInfo: [String: String] { [Self.windowKey: window, Self.dateKey: date.description] }

    /// The marking screen of this window: `im://window?id=morning&date=2026-12-02`.
    public var link: String {
        LinkTemplate("im://window?id={id}&date={date}").link(["id": window, "date": date.description]) ?? "im://window"
    }

    /// Reads what a tapped notification carries; `nil` when it is none of a window.
    public init?(userInfo: [AnyHashable: Any]) {
        guard let window = userInfo[Self.windowKey] as? String, !window.isEmpty,
            let date = (userInfo[Self.dateKey] as? String).flatMap(LocalDate.init)
        else { return nil }
        self.init(window: window, date: date)
    }
}
