/// Durations as people write them in settings: a whole number and a unit.
package enum DurationText {
    private static let units: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// Parses `250ms`, `20s`, `15m`, `24h`, `7d`; a bare number counts seconds, one space before the unit is allowed.
    package static func parse(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let rest = text[digits.endIndex...]
        let suffix = rest.first == " " ? rest.dropFirst() : rest
        guard let number = Int64(digits),
            let unit = units.first(where: { $0.suffix == (suffix.isEmpty ? "s" : suffix) })
        else { return nil }
        let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
        return overflow ? nil : .milliseconds(milliseconds)
    }

    /// The shortest spelling with a whole number.
    package static func render(_ duration: Duration) -> String {
        let milliseconds = duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
        let unit = units.last { milliseconds % $0.milliseconds == 0 && milliseconds >= $0.milliseconds } ?? ("ms", 1)
        return milliseconds == 0 ? "0s" : "\(milliseconds / unit.milliseconds)\(unit.suffix)"
    }
}
