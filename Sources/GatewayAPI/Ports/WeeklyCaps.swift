package import NotificationContract
package import Notifications

/// How many weekly slots a user holds.
package struct CapUsage: Sendable, Equatable {
    package var categories: [CategoryID: Int]
    package var global: Int

    package init(categories: [CategoryID: Int], global: Int) {
        self.categories = categories
        self.global = global
    }
}

/// Looks at weekly slots, and clears them for development. Every call throws `Unavailable` when they cannot be asked.
package protocol WeeklyCaps: Sendable {
    func usage(of user: UserID, categories: [CategoryID], weekKey: String) async throws -> CapUsage
    func clear(user: UserID, categories: [CategoryID], weekKeys: [String]) async throws
}
