package import NotificationContract

/// Every category the platform knows. Bus, engine, rate limiter and settings screens all read this list.
package struct CategoryRegistry: Sendable {
    /// Why a category was refused, with the ones that would have been accepted.
    package struct UnknownCategory: Error, Equatable, CustomStringConvertible {
        package let id: String
        package let known: [String]

        package var description: String {
            "unknown category \"\(id.prefix(64))\"; known are \(known.joined(separator: ", "))"
        }
    }

    package let all: [Category]
    private let byID: [CategoryID: Category]

    package init(_ categories: [Category]) {
        all = categories
        byID = Dictionary(categories.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The category with this id.
    /// - Throws: `UnknownCategory` naming the known ones.
    package func category(_ id: CategoryID) throws(UnknownCategory) -> Category {
        guard let found = byID[id] else {
            throw UnknownCategory(id: id.rawValue, known: all.map(\.id.rawValue))
        }
        return found
    }

    /// The categories that ship with Varsel.
    package static let standard = CategoryRegistry([
        Category(
            id: .reminder,
            icon: "bell",
            maxPerWeek: 1,
            countsTowardGlobalCap: true,
            isUserToggleable: true,
            isEnabledByDefault: true,
            usesAI: false,
            window: DeliveryWindow(openingHour: 8, closingHour: 21, outside: .drop),
            timeToLive: .seconds(6 * 3600),
            queuePriority: 10,
            presentation: PushPresentation(apnsPriority: 5, interruptionLevel: .passive, sound: nil),
            defaultDeeplink: "im://home?source=notification"
        ),
        Category(
            id: .lifecycle,
            icon: "person.crop.circle",
            maxPerWeek: 5,
            countsTowardGlobalCap: false,
            isUserToggleable: false,
            isEnabledByDefault: true,
            usesAI: false,
            window: nil,
            timeToLive: .seconds(72 * 3600),
            queuePriority: 0,
            presentation: PushPresentation(apnsPriority: 10, interruptionLevel: .active, sound: "default"),
            defaultDeeplink: "im://profile/subscription"
        ),
        Category(
            id: .campaign,
            icon: "megaphone",
            maxPerWeek: 1,
            countsTowardGlobalCap: true,
            isUserToggleable: true,
            isEnabledByDefault: false,
            usesAI: false,
            window: DeliveryWindow(openingHour: 8, closingHour: 21, outside: .defer(jitter: .seconds(30 * 60))),
            timeToLive: .seconds(24 * 3600),
            queuePriority: 20,
            presentation: PushPresentation(apnsPriority: 5, interruptionLevel: .active, sound: "default"),
            defaultDeeplink: "im://home?source=notification"
        ),
    ])

    /// The cap over all categories that count toward it, unless the operator sets another.
    package static let standardGlobalCap = 4
}
