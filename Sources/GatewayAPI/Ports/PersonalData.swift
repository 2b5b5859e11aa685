package import Kernel
package import Notifications

/// One page of everything the store holds of a user.
package struct PersonalDataPage: Sendable {
    /// Rows by table.
    package var tables: [(name: String, rows: [JSONValue])]
    package var hasNext: Bool

    package init(tables: [(name: String, rows: [JSONValue])], hasNext: Bool) {
        self.tables = tables
        self.hasNext = hasNext
    }
}

/// An erasure that is under way.
package struct RequestedErasure: Sendable, Equatable {
    package var userID: UserID
    /// What came into being before goes.
    package var requestedAt: Timestamp
    /// When the last pass is due.
    package var completesAt: Timestamp

    package init(userID: UserID, requestedAt: Timestamp, completesAt: Timestamp) {
        self.userID = userID
        self.requestedAt = requestedAt
        self.completesAt = completesAt
    }
}

/// What the platform holds of users: tells and erases it. Every call throws `Unavailable` when a server does not answer.
package protocol PersonalData: Sendable {
    func page(of user: UserID, limit: Int, offset: Int) async throws -> PersonalDataPage
    /// Records the erasure; from here on it happens, whatever fails. Then does the first pass, if it can.
    func erase(_ user: UserID) async throws -> RequestedErasure
}
