import Kernel
import Notifications
import PostgresClient
import Store

/// Tells the story of messages in words: what happened, when, and why.
struct Explanation {
    /// Neither a message nor a user of this name is known.
    struct NothingKnown: Error, CustomStringConvertible {
        let description: String
    }

    private let store: StoryStore

    init(pool: PostgresPool) {
        store = StoryStore(pool: pool)
    }

    /// - Parameter subject: a message id or a user id.
    func text(subject: String, limit: Int) async throws -> String {
        if let message = MessageID(subject) {
            guard let story = try await store.story(of: message) else {
                throw NothingKnown(description: "no message \(subject) is known: not yet delivered, or removed by age")
            }
            return Self.lines(story).joined(separator: "\n")
        }
        guard let user = UserID(subject) else {
            throw NothingKnown(description: "\"\(subject)\" is neither a message id nor a user id: \(UserID.rule)")
        }
        let stories = try await store.stories(of: user, limit: limit)
        guard !stories.isEmpty else {
            throw NothingKnown(description: "no message for user \(subject) is known")
        }
        return stories.map { Self.lines($0).joined(separator: "\n") }.joined(separator: "\n\n")
    }

    static func lines(_ story: StoryStore.Story) -> [String] {
        let outcome = story.row.map { row in row.reason.map { "\(row.status) (\($0))" } ?? row.status }
        var lines = ["message \(story.messageID)", "  user \(story.userID), category \(story.category ?? "unknown")"]
        if let outcome { lines.append("  status \(outcome)\(story.row?.weekKey.map { ", slot of week \($0)" } ?? "")") }
        for event in story.events {
            var words = ["  \(event.at.rfc3339)", event.kind.rawValue]
            if let gate = event.gate { words.append("gate=\(gate)") }
            if let reason = event.reason { words.append("reason=\(reason)") }
            if let device = event.device { words.append("device=\(device)") }
            if event.attempt > 0 { words.append("attempt=\(event.attempt)") }
            if let detail = event.detail { words.append(detail.text) }
            lines.append(words.joined(separator: " "))
        }
        return lines
    }
}
