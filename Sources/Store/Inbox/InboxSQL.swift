package import Notifications
package import PostgresClient

/// The statements about the inbox. The bound on id spares most partitions that lie ready for the coming months, and their order lets a
/// page stop at the newest ones.
package enum InboxSQL {
    /// Beyond every message that was written. An id may carry an instant to come, such as the end of the period that an account notice
    /// speaks of, but none further ahead than the bus lets through.
    static let end = "varsel_uuid_floor(now() + interval '28 days')"

    package static func page(of user: UserID, limit: Int, offset: Int) -> SQL {
        """
        SELECT counted.total, m.id, m.category, m.title, m.body, m.deeplink_url, m.metadata, m.read_at, m.created_at
        FROM (
            SELECT count(*) AS total FROM notification_messages
            WHERE user_id = \(user.rawValue) AND status IN ('sent', 'unknown') AND NOT is_test
              AND id < \(unescaped: InboxSQL.end)
        ) AS counted
        LEFT JOIN LATERAL (
            SELECT id, category, title, body, deeplink_url, metadata, read_at, created_at FROM notification_messages
            WHERE user_id = \(user.rawValue) AND status IN ('sent', 'unknown') AND NOT is_test
              AND id < \(unescaped: InboxSQL.end)
            ORDER BY id DESC LIMIT \(limit) OFFSET \(offset)
        ) AS m ON true
        ORDER BY m.id DESC
        """
    }

    static func unreadCount(of user: UserID) -> SQL {
        """
        SELECT count(*) AS unread FROM notification_messages
        WHERE user_id = \(user.rawValue) AND status IN ('sent', 'unknown') AND NOT is_test AND read_at IS NULL
          AND id < \(unescaped: InboxSQL.end)
        """
    }

    static func mark(_ id: MessageID, of user: UserID, read: Bool) -> SQL {
        """
        UPDATE notification_messages
        SET read_at = CASE WHEN \(read) THEN coalesce(read_at, now()) END, updated_at = now()
        WHERE id = \(id.bits) AND user_id = \(user.rawValue) AND status IN ('sent', 'unknown') AND NOT is_test
        RETURNING id, category, title, body, deeplink_url, metadata, read_at, created_at
        """
    }

    static func markAllRead(of user: UserID) -> SQL {
        """
        UPDATE notification_messages SET read_at = now(), updated_at = now()
        WHERE user_id = \(user.rawValue) AND status IN ('sent', 'unknown') AND NOT is_test AND read_at IS NULL
          AND id < \(unescaped: InboxSQL.end)
        """
    }
}
