public import Foundation

/// What is shown of a push that arrives while the app is open (I2).
///
/// The server's registry decides: its `interruption-level` and `sound` travel in every push. So account notices (active, with a sound)
/// show banner and sound, reminders (passive) are swallowed, and a category that this app never heard of behaves as the
/// registry wants it.
public struct ForegroundPresentation: OptionSet, Sendable {
    /// The options as bits.
    public let rawValue: Int

    /// Wraps bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The banner at the screen's top.
    public static let banner = ForegroundPresentation(rawValue: 1)
    /// The push's sound.
    public static let sound = ForegroundPresentation(rawValue: 2)
    /// An entry in the notification center.
    public static let list = ForegroundPresentation(rawValue: 4)
    /// The number on the app's icon.
    public static let badge = ForegroundPresentation(rawValue: 8)

    /// What to show of a push. The number on the icon is kept right in any case.
    public init(of push: NotificationPayload) {
        self = push.badge == nil ? [] : .badge
        guard push.interruptionLevel != .passive else { return }
        insert([.banner, .list])
        if push.sound != nil { insert(.sound) }
    }
}

/// What the app does about its inbox after something happened to a push.
public enum InboxEffect: Sendable, Equatable {
    /// The first page and the unread count are out of date: load them again.
    case reloadFirstPage
    /// Tell the gateway that this one is read.
    case markRead(UUID)
    /// Go there.
    case open(String)
}

/// What follows from pushes, for the inbox and for navigation.
public struct PushReactions: Sendable {
    /// The buttons that are known.
    public let actions: ActionRegistry

    /// - Parameter actions: the app's buttons.
    public init(actions: ActionRegistry = .standard) {
        self.actions = actions
    }

    /// A push came, in the foreground or the background.
    public func arrived(_ push: NotificationPayload) -> [InboxEffect] {
        push.messageID == nil ? [] : [.reloadFirstPage]
    }

    /// The user answered a push: opening it marks it read, sweeping it away does not.
    public func answered(_ push: NotificationPayload, actionID: String) -> [InboxEffect] {
        guard let link = actions.link(for: actionID, of: push) else { return [] }
        let read = push.messageID.map { [InboxEffect.markRead($0), .reloadFirstPage] } ?? []
        return read + [.open(link)]
    }
}
