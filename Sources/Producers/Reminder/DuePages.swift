import Notifications
import Store

/// The users of one zone who are due, page by page.
struct DuePages: AsyncSequence {
    let store: ReminderStore
    let search: ReminderSearch
    let size: Int

    func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let pages: DuePages
        private var cursor: ReminderSearch.Cursor?
        private var isAtEnd = false

        fileprivate init(pages: DuePages) {
            self.pages = pages
        }

        mutating func next() async throws -> [ReminderSearch.Found]? {
            guard !isAtEnd else { return nil }
            let found = try await pages.store.due(pages.search, behind: cursor, limit: pages.size)
            isAtEnd = found.count < pages.size
            guard let last = found.last else { return nil }
            cursor = .init(lastActivity: last.lastActivity, userID: last.userID.rawValue)
            return found
        }
    }
}
