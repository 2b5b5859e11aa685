package import DeliveryEngine
import HTTPServer
import Kernel
import NotificationContract
package import Notifications

/// Tells for every category whether a notification would pass the gates at this moment. It reads what the engine reads and
/// changes nothing.
package struct ConsentDiagnosis: Sendable {
    private let recipients: any RecipientReading
    private let caps: any WeeklyCaps
    private let registry: CategoryRegistry
    private let globalCap: Int
    private let ids: MessageIDGenerator

    package init(
        recipients: any RecipientReading,
        caps: any WeeklyCaps,
        registry: CategoryRegistry,
        globalCap: Int,
        ids: MessageIDGenerator
    ) {
        self.recipients = recipients
        self.caps = caps
        self.registry = registry
        self.globalCap = globalCap
        self.ids = ids
    }

    /// What the engine would read of the user for one category.
    func recipient(_ user: UserID, _ category: Category) async throws -> (recipient: Recipient, now: Timestamp) {
        let id = ids.next()
        let query = RecipientQuery(
            messageID: id,
            userID: user,
            category: category.id,
            sourceEntityID: nil,
            enqueuedAt: id.instant,
            openingMinute: category.window?.opens
        )
        let batch = try await recipients.recipients(for: [query])
        guard let recipient = batch.recipients.first else {
            throw Unavailable(dependency: "postgresql", reason: "no recipient was read")
        }
        return (recipient, batch.now)
    }

    /// The user's present week.
    func weekKey(of user: UserID) async throws -> String {
        guard let category = registry.all.first else { return "" }
        return try await recipient(user, category).recipient.weekKey
    }

    /// - Parameter name: one category, `nil` for all.
    func diagnose(_ user: UserID, only name: String?) async throws -> JSONValue {
        let categories: [Category]
        if let name {
            do {
                categories = [try registry.category(CategoryID(name))]
            } catch {
                throw Problem.unacceptable([.init(pointer: "/category", detail: error.description)])
            }
        } else {
            categories = registry.all
        }
        var entries: [JSONMember] = []
        var shared: (Recipient, CapUsage)?
        var now: Timestamp?
        for category in categories {
            let (recipient, moment) = try await recipient(user, category)
            now = moment
            let usage =
                if let shared { shared.1 } else {
                    try await caps.usage(of: user, categories: registry.all.map(\.id), weekKey: recipient.weekKey)
                }
            shared = (recipient, usage)
            entries.append(JSONMember(category.id.rawValue, verdict(category, recipient, usage, moment)))
        }
        guard let (recipient, usage) = shared else { return .null }
        return [
            "userId": .string(user.rawValue), "checkedAt": .optional(now?.rfc3339),
            "permission": .bool(recipient.isPermissionGranted), "devices": .integer(recipient.devices.count),
            "silenceUntil": .optional(recipient.silenceUntil?.rfc3339), "language": .optional(recipient.language),
            "localMinute": .integer(recipient.localMinute), "weekKey": .string(recipient.weekKey),
            "globalCap": ["used": .integer(usage.global), "limit": .integer(globalCap)],
            "categories": .object(entries),
        ]
    }

    private func verdict(_ category: Category, _ recipient: Recipient, _ usage: CapUsage, _ now: Timestamp) -> JSONValue
    {
        let used = usage.categories[category.id] ?? 0
        let isEnabled = recipient.categorySwitch ?? category.isEnabledByDefault
        let blocked = refusal(category, recipient, usage, now)
        return [
            "allowed": .bool(blocked == nil), "blockedBy": .optional(blocked),
            "enabled": .bool(category.isUserToggleable ? isEnabled : true), "usedThisWeek": .integer(used),
            "maxPerWeek": .integer(category.maxPerWeek),
            "insideWindow": .bool(category.window?.contains(localMinute: recipient.localMinute) ?? true),
            "nextOpening": .optional(recipient.nextOpening?.rfc3339),
        ]
    }

    /// The first gate that would not let it through now: the engine's own gates, then the caps, looked at but not taken.
    private func refusal(_ category: Category, _ recipient: Recipient, _ usage: CapUsage, _ now: Timestamp) -> String? {
        let candidate = GateCandidate(category: category, messageID: ids.next(), due: now, recipient: recipient)
        switch GateChain.judge(candidate, now: now)?.answer {
        case .drop(_, let reason): return reason
        case .defer: return "outside_window"
        case .proceed, nil: break
        }
        if usage.categories[category.id] ?? 0 >= category.maxPerWeek { return "cap_category" }
        if category.countsTowardGlobalCap, usage.global >= globalCap { return "cap_global" }
        return nil
    }
}
