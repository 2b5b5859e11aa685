import NotificationContract

@testable import Notifications

/// The first file of a new category: its entry.
extension Category {
    static let mirror = Category(
        id: CategoryID("mirror"),
        icon: "sparkles",
        maxPerWeek: 2,
        countsTowardGlobalCap: true,
        isUserToggleable: true,
        isEnabledByDefault: true,
        usesAI: true,
        window: DeliveryWindow(openingHour: 9, closingHour: 20, outside: .drop),
        timeToLive: .seconds(3 * 3600),
        queuePriority: 10,
        presentation: PushPresentation(apnsPriority: 5, interruptionLevel: .passive, sound: nil),
        defaultDeeplink: "im://mirror"
    )
}
