public import Foundation

/// A place on the Earth.
public struct Place: Sendable, Equatable, Codable {
    /// Degrees, north positive, from -90 to 90.
    public let latitude: Double
    /// Degrees, east positive, from -180 to 180.
    public let longitude: Double

    /// - Returns: `nil` for what is no place.
    public init?(latitude: Double, longitude: Double) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Metres along the surface of a sphere (haversine).
    public func distance(to other: Place) -> Double {
        let first = latitude * .pi / 180
        let second = other.latitude * .pi / 180
        let across = (other.longitude - longitude) * .pi / 180
        let a =
            pow(sin((second - first) / 2), 2) + cos(first) * cos(second) * pow(sin(across / 2), 2)
        return 2 * 6_371_008.8 * asin(min(1, a.squareRoot()))
    }
}

/// A moment of the day that the sun gives.
public enum SunMoment: String, Sendable, Codable, CaseIterable {
    /// The centre is 6° below the horizon and rising.
    case civilDawn
    /// The upper edge appears.
    case sunrise
    /// The highest place; there is one every day.
    case noon
    /// The upper edge disappears.
    case sunset
    /// The centre is 6° below the horizon and sinking.
    case civilDusk
}

/// The sun's moments on one local day.
public struct SunTimes: Sendable, Equatable {
    /// The day they belong to.
    public let date: LocalDate
    private let place: Place
    private let turn: Int

    /// - Parameter zone: the clock the day is counted by; the place may lie elsewhere.
    public init(on date: LocalDate, at place: Place, in zone: TimeZone) {
        self.date = date
        self.place = place
        // Of the Earth's turns, the one whose noon lies nearest to the clock's noon of that day: across the date line that is another
        // day of Greenwich.
        let noon = Date(timeIntervalSince1970: Double(date.day) * 86_400 + 43_200)
        let offset = Double(zone.secondsFromGMT(for: noon.addingTimeInterval(-Double(zone.secondsFromGMT(for: noon)))))
        turn = date.day + Int(((place.longitude * 240 - offset) / 86_400).rounded())
    }

    /// When the sun is there.
    /// - Returns: `nil` when it is not on this day: in polar day and night.
    public func moment(_ moment: SunMoment) -> Date? {
        let seconds: Double? =
            switch moment {
            case .noon: Sun.noon(turn: turn, longitude: place.longitude)
            case .sunrise: crossing(Sun.horizonDepression, isRising: true)
            case .sunset: crossing(Sun.horizonDepression, isRising: false)
            case .civilDawn: crossing(6, isRising: true)
            case .civilDusk: crossing(6, isRising: false)
            }
        return seconds.map { Date(timeIntervalSince1970: $0) }
    }

    private func crossing(_ depression: Double, isRising: Bool) -> Double? {
        Sun.crossing(
            turn: turn,
            latitude: place.latitude,
            longitude: place.longitude,
            depression: depression,
            isRising: isRising
        )
    }
}
