import Kernel
import Notifications
import PostgresClient

/// The statements about scheduled notifications.
enum ScheduleSQL {
    static func record(_ entries: [ScheduleStore.Entry], credential: String) -> SQL {
        let ids = entries.map(\.messageID.bits)
        return """
            INSERT INTO scheduled_notifications (message_id, handle, credential, user_id, category, due_at)
            SELECT id, id, \(credential), user_id, category, due
            FROM unnest(\(ids), \(entries.map(\.userID.rawValue)), \(entries.map(\.category)),
                \(entries.map(\.dueAt))) AS e(id, user_id, category, due)
            ON CONFLICT DO NOTHING
            """
    }

    /// Every id that the notification has or had, the newest first, and whether it was called back.
    static func find(_ id: MessageID, credential: String) -> SQL {
        """
        SELECT s.message_id, s.user_id, s.category, s.cancelled_at IS NOT NULL AS cancelled
        FROM scheduled_notifications s
        JOIN scheduled_notifications given ON given.handle = s.handle
        WHERE given.message_id = \(id.bits) AND given.credential = \(credential)
        ORDER BY s.created_at DESC, s.message_id
        """
    }

    /// A row for the id that the notification is about to get.
    static func addMove(of id: MessageID, to newID: MessageID, due: Timestamp) -> SQL {
        """
        INSERT INTO scheduled_notifications (message_id, handle, credential, user_id, category, due_at)
        SELECT \(newID.bits), handle, credential, user_id, category, \(due) FROM scheduled_notifications
        WHERE message_id = \(id.bits) AND cancelled_at IS NULL
        """
    }

    static func markCancelled(_ ids: [MessageID]) -> SQL {
        """
        UPDATE scheduled_notifications SET cancelled_at = coalesce(cancelled_at, now())
        WHERE message_id = ANY(\(ids.map(\.bits)))
        """
    }

    /// Whether a message has left a trace: it was written, or something happened to it other than that it was moved.
    static func hasBegun(_ ids: [MessageID]) -> SQL {
        """
        SELECT EXISTS (SELECT FROM notification_messages WHERE id = ANY(\(ids.map(\.bits))))
            OR EXISTS (SELECT FROM notification_events WHERE message_id = ANY(\(ids.map(\.bits)))
                AND kind NOT IN ('enqueued', 'deferred')
                AND (kind, reason) IS DISTINCT FROM ('cancelled', 'moved')) AS begun
        """
    }

    /// When a message is due that is still to come or was called back.
    static func dueTime(of id: MessageID) -> SQL {
        """
        SELECT message_id, user_id, category, due_at FROM scheduled_notifications WHERE message_id = \(id.bits)
        """
    }
}
