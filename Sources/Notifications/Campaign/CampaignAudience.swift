package import Kernel

/// Whom a campaign is for. Every criterion that is given must hold.
package struct CampaignAudience: Sendable, Equatable {
    /// Users who read one of these languages; a user without one, or with one that nobody writes texts in, reads the campaign's fallback.
    /// `nil` for all.
    package var languages: [ServerLocale]?
    /// IANA names; `nil` for all.
    package var zones: [String]?
    /// Users with a usable device of one of these, such as `ios`. `nil` for any.
    package var platforms: [String]?
    /// Users seen within so many days.
    package var activeWithinDays: Int?
    /// Users not seen for so many days. Users of whom no activity is on record are left out.
    package var inactiveForDays: Int?
    /// Only users of the uploaded list.
    package var usesList: Bool

    package init(
        languages: [ServerLocale]? = nil,
        zones: [String]? = nil,
        platforms: [String]? = nil,
        activeWithinDays: Int? = nil,
        inactiveForDays: Int? = nil,
        usesList: Bool = false
    ) {
        self.languages = languages
        self.zones = zones
        self.platforms = platforms
        self.activeWithinDays = activeWithinDays
        self.inactiveForDays = inactiveForDays
        self.usesList = usesList
    }

    /// The form in which it is stored and shown.
    package var json: JSONValue {
        func list(_ values: [String]?) -> JSONValue { values.map { .array($0.map { .string($0) }) } ?? .null }
        return [
            "languages": list(languages?.map(\.rawValue)), "zones": list(zones), "platforms": list(platforms),
            "activeWithinDays": activeWithinDays.map { .integer($0) } ?? .null,
            "inactiveForDays": inactiveForDays.map { .integer($0) } ?? .null, "list": .bool(usesList),
        ]
    }

    /// Reads the stored form; what is not there means no restriction.
    package init(json: JSONValue) {
        func list(_ name: String) -> [String]? { json[name]?.arrayValue?.compactMap(\.stringValue) }
        self.init(
            languages: list("languages")?.compactMap(ServerLocale.init),
            zones: list("zones"),
            platforms: list("platforms"),
            activeWithinDays: json["activeWithinDays"]?.integerValue.map { Int($0) },
            inactiveForDays: json["inactiveForDays"]?.integerValue.map { Int($0) },
            usesList: json["list"]?.boolValue ?? false
        )
    }
}
