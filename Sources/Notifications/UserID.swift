/// A user of the app: 1 to 128 characters of `A–Z a–z 0–9 . _ - | @ : +`.
package struct UserID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let rawValue: String

    /// - Returns: `nil` when the text breaks the rule.
    package init?(_ text: String) {
        let utf8 = text.utf8
        guard (1...128).contains(utf8.count), utf8.allSatisfy(Self.isAllowed) else { return nil }
        rawValue = text
    }

    /// The rule in words, for error texts.
    package static let rule = "1 to 128 characters of A-Z a-z 0-9 . _ - | @ : +"

    package var description: String { rawValue }

    package static func < (lhs: UserID, rhs: UserID) -> Bool { lhs.rawValue < rhs.rawValue }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "|"), UInt8(ascii: "@"),
            UInt8(ascii: ":"), UInt8(ascii: "+"):
            true
        default: false
        }
    }
}
