package import Store

/// Activity in PostgreSQL.
package struct StoreActivityLog: ActivityLog {
    private let store: ActivityStore

    package init(_ store: ActivityStore) {
        self.store = store
    }

    package func record(_ reports: [ActivityReport]) async throws {
        try await asking { try await store.record(reports.map { .init(userID: $0.userID, at: $0.at) }) }
    }
}
