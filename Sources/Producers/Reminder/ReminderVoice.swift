package import Kernel
package import Notifications
import PostgresClient
package import Store

/// What the reminder producer would say to a user now, by the days of absence. Window and week are the run's concern.
package struct ReminderVoice: CategoryVoice {
    private let activity: ActivityStore
    private let clock: any WallClock

    package init(activity: ActivityStore, clock: any WallClock) {
        self.activity = activity
        self.clock = clock
    }

    package func words(for user: UserID) async throws -> VoiceAnswer {
        Self.words(lastActivity: try await activity.lastActivity(of: user), now: clock.now)
    }

    static func words(lastActivity: Timestamp?, now: Timestamp) -> VoiceAnswer {
        guard let lastActivity else { return .silent(reason: "no_activity") }
        if let phrase = ReminderRule.phrase(days: ReminderRule.days(since: lastActivity, at: now)) {
            return .says(key: phrase.key, variables: [:])
        }
        return .silent(reason: lastActivity > ReminderRule.absence(at: now).upTo ? "active" : "silent")
    }
}
