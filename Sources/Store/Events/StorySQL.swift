import Kernel
import Notifications
import PostgresClient

/// The statements about events and what they tell of messages.
enum StorySQL {
    /// The ids of a user's newest messages. A message that was suppressed has events only; one whose events left by age has a
    /// row only.
    static func newest(of user: UserID, limit: Int) -> SQL {
        """
        SELECT message_id FROM (
            (SELECT id AS message_id, created_at AS at FROM notification_messages
             WHERE user_id = \(user.rawValue) AND id < \(unescaped: InboxSQL.end)
             ORDER BY id DESC LIMIT \(limit))
            UNION ALL
            (SELECT message_id, at FROM notification_events
             WHERE user_id = \(user.rawValue) AND at < now() + interval '1 day'
             ORDER BY at DESC LIMIT \(limit * 10))
        ) AS found
        GROUP BY message_id ORDER BY max(at) DESC, message_id DESC LIMIT \(limit)
        """
    }

    static func rows(_ ids: [MessageID], user: String?) -> SQL {
        """
        SELECT id, user_id, category, status, reason, week_key, created_at, sent_at, read_at, deliveries
        FROM notification_messages
        WHERE id = ANY(\(ids.map(\.bits))) AND (\(user) IS NULL OR user_id = \(user))
        """
    }

    static func events(_ ids: [MessageID], user: String?, limit: Int) -> SQL {
        """
        SELECT at, message_id, user_id, job_id, ats, attempt, kind, category, gate, reason, device, detail
        FROM notification_events
        WHERE message_id = ANY(\(ids.map(\.bits))) AND (\(user) IS NULL OR user_id = \(user))
        ORDER BY at, id LIMIT \(limit)
        """
    }

    static func append(_ events: [DeliveryEvent]) -> SQL {
        """
        INSERT INTO notification_events
            (at, message_id, user_id, job_id, ats, attempt, kind, category, gate, reason, device, detail)
        SELECT at, message_id, user_id, job_id, ats, attempt, kind, category, gate, reason, device, detail
        FROM unnest(
            \(events.map(\.at)), \(events.map(\.messageID.bits)), \(events.map(\.userID)), \(events.map(\.jobID)),
            \(events.map(\.attemptsStarted)), \(events.map(\.attempt)), \(events.map(\.kind.rawValue)),
            \(events.map(\.category)), \(events.map(\.gate)), \(events.map(\.reason)), \(events.map(\.device)),
            \(events.map(\.detail))
        ) AS e(at, message_id, user_id, job_id, ats, attempt, kind, category, gate, reason, device, detail)
        """
    }
}
