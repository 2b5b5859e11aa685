import Foundation
public import NotificationContract

/// A button under a notification.
public struct NotificationAction: Sendable, Equatable {
    /// Unique over all categories, as iOS reports it: `reminder.open`.
    public var id: String
    /// The category whose notifications show it.
    public var category: CategoryID
    /// The button's words.
    public var title: LocalizedText
    /// Where it leads; `{id}` is the push's `entityId`.
    public var link: LinkTemplate
    /// Where it leads when the push lacks a value of `link`.
    public var plainLink: String

    /// Describes a button.
    public init(id: String, category: CategoryID, title: LocalizedText, link: LinkTemplate, plainLink: String) {
        self.id = id
        self.category = category
        self.title = title
        self.link = link
        self.plainLink = plainLink
    }
}

/// The buttons of every category (I1). A new one is one entry in the list and one text.
public struct ActionRegistry: Sendable {
    /// What iOS reports when the notification itself was tapped (`UNNotificationDefaultActionIdentifier`).
    public static let tap = "com.apple.UNNotificationDefaultActionIdentifier"
    /// What iOS reports when the notification was swept away (`UNNotificationDismissActionIdentifier`).
    public static let dismissal = "com.apple.UNNotificationDismissActionIdentifier"

    /// In the order in which they are shown.
    public let actions: [NotificationAction]
    /// Where everything leads that has no link of its own.
    public let home: String

    /// A registry of these buttons. Of two with one id the first counts.
    public init(_ actions: [NotificationAction], home: String = "im://home?source=notification") {
        var seen: Set<String> = []
        self.actions = actions.filter { seen.insert($0.id).inserted }
        self.home = home
    }

    /// The buttons that ship with the platform.
    public static let standard = ActionRegistry([
        NotificationAction(
            id: "reminder.open",
            category: .reminder,
            title: .openImpulse,
            link: "im://home?impulseId={id}",
            plainLink: "im://home?source=notification"
        ),
        NotificationAction(
            id: "lifecycle.renew",
            category: .lifecycle,
            title: .renewSubscription,
            link: "im://profile/subscription",
            plainLink: "im://profile/subscription"
        ),
    ])

    /// The buttons of a category.
    public func actions(of category: CategoryID) -> [NotificationAction] {
        actions.filter { $0.category == category }
    }

    /// The categories that have buttons, each once, in the list's order: what the notification center is told at launch.
    public var categories: [CategoryID] {
        var seen: Set<CategoryID> = []
        return actions.map(\.category).filter { seen.insert($0).inserted }
    }

    /// Where a response to a push leads: a button to its link, a tap to the push's own. A button of another category or one that is no
    /// longer known counts as a tap.
    /// - Returns: `nil` when the notification was dismissed.
    public func link(for actionID: String, of push: NotificationPayload) -> String? {
        if actionID == Self.dismissal { return nil }
        if let action = actions.first(where: { $0.id == actionID && $0.category == push.category }) {
            return action.link.link(values(of: push)) ?? action.plainLink
        }
        return push.deeplinkURL ?? actions(of: push.category).first?.plainLink ?? home
    }

    private func values(of push: NotificationPayload) -> [String: String] {
        var values: [String: String] = [:]
        values["id"] = push.entityID
        values["messageId"] = push.messageID?.uuidString.lowercased()
        return values
    }
}
