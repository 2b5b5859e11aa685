package import Kernel
package import NotificationContract
package import Notifications

/// A message row to be written before anything is sent.
package struct NewMessage: Sendable {
    package let id: MessageID
    package let userID: UserID
    package let category: CategoryID
    package let text: PushText
    package let deeplinkURL: String
    package let metadata: JSONValue?
    package let sourceEntityID: String?
    package let batchReference: String?
    package let language: String?
    package let jobID: String
    package let enqueuedAt: Timestamp
    package let dueAt: Timestamp
    /// The week whose slots were taken, `nil` when none were.
    package let weekKey: String?
    /// Whether it passed the cap gate uncounted, because the caps could not be asked.
    package let isCapOpen: Bool
    /// Whether it is a test send, which is nothing for the inbox.
    package let isTest: Bool

    package init(
        id: MessageID,
        userID: UserID,
        category: CategoryID,
        text: PushText,
        deeplinkURL: String,
        metadata: JSONValue?,
        sourceEntityID: String?,
        batchReference: String?,
        language: String?,
        jobID: String,
        enqueuedAt: Timestamp,
        dueAt: Timestamp,
        weekKey: String?,
        isCapOpen: Bool,
        isTest: Bool = false
    ) {
        self.id = id
        self.userID = userID
        self.category = category
        self.text = text
        self.deeplinkURL = deeplinkURL
        self.metadata = metadata
        self.sourceEntityID = sourceEntityID
        self.batchReference = batchReference
        self.language = language
        self.jobID = jobID
        self.enqueuedAt = enqueuedAt
        self.dueAt = dueAt
        self.weekKey = weekKey
        self.isCapOpen = isCapOpen
        self.isTest = isTest
    }
}

/// What became of one row of a group.
package enum WriteResult: Sendable, Equatable {
    /// The row is there now, as `pending`.
    case written
    /// Another run wrote it since the recipients were read.
    case existed
    /// The database refuses this row alone (SQLSTATE class 22 or 23): it would never succeed.
    case refused(reason: String)
}

/// Writes message rows in groups. One row that the database refuses never spoils the others.
package protocol MessageWriting: Sendable {
    /// Inserts rows as `pending`; a row that exists (any status) is left alone, except that `reopening` ids among them,
    /// which ended `failed`, become `pending` again with the new week key.
    /// - Returns: one result a message, in order.
    /// - Throws: when the store cannot be reached; rows may or may not have been written.
    func write(_ messages: [NewMessage], reopening: Set<MessageID>) async throws -> [WriteResult]
}
