package import Kernel
package import Notifications
package import Store

/// What a run would do now, without doing it: who would get which words, and how many others would not, for which reason.
package struct ReminderRehearsal: Sendable {
    private static let page = 1000

    private let producer: ReminderProducer
    private let store: ReminderStore
    private let catalog: Catalog
    private let now: Timestamp

    package init(producer: ReminderProducer, store: ReminderStore, catalog: Catalog, now: Timestamp) {
        self.producer = producer
        self.store = store
        self.catalog = catalog
        self.now = now
    }

    /// Tells everything, line by line, in bounded memory.
    package func tell(_ line: (String) -> Void) async throws {
        let zones = try await producer.openZones(at: now)
        line("at \(now.rfc3339), in \(zones.count) zones where it is day for reminders")
        for zone in zones {
            for try await found in DuePages(store: store, search: producer.search(zone, now), size: Self.page) {
                for user in found { line(describe(user, zone)) }
            }
        }
        let anywhere = ReminderZone(name: "UTC", localMinute: 0, weekKey: "", hour: "")
        line("users by what becomes of them:")
        for (reason, count) in try await store.census(producer.search(anywhere, now), open: zones) {
            line("  \(reason) \(count)")
        }
    }

    private func describe(_ user: ReminderSearch.Found, _ zone: ReminderZone) -> String {
        let days = ReminderRule.days(since: user.lastActivity, at: now)
        guard let phrase = ReminderRule.phrase(days: days) else { return "\(user.userID) nothing" }
        let words = catalog.t(phrase.key, ServerLocale.resolve(user.language))
        return "\(user.userID)  \(zone.name)  \(zone.weekKey)  \(days) days  step \(phrase.step)  \(words)"
    }
}
