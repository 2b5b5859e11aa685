package import Notifications
package import PostgresClient

/// The statements about the inbox. No message is newer than now: the bound on id spares the partitions that lie ready for the
/// coming months, and their order lets a page stop at the newest ones. A day is left for clocks that differ.
package enum InboxSQL {
    package static func page(of user: UserID, limit: Int, offset: Int) -> SQL {
        """
        SELECT counted.total, m.id, m.category, m.title, m.body, m.deeplink_url, m.metadata, m.read_at, m.created_at
        FROM (
            SELECT count(*) AS total FROM notification_messages
            WHERE user_id = \(user.rawValue) AND status IN ('sent', 'unknown') AND NOT is_test
              AND id < varsel_uuid_floor(now() + interval '1 day')
        ) AS counted
        LEFT JOIN LATERAL (
            SELECT id, category, title, body, deeplink_url, metadata, read_at, created_at FROM notification_messages
            WHERE user_id = \(user.rawValue) AND status IN ('sent', 'unknown') AND NOT is_test
              AND id < varsel_uuid_floor(now() + interval '1 day')
            ORDER BY id DESC LIMIT \(limit) OFFSET \(offset)
        ) AS m ON true
        ORDER BY m.id DESC
        """
    }

    static func unreadCount(of user: UserID) -> SQL {
        """
        SELECT count(*) AS unread FROM notification_messages
        WHERE user_id = \(user.rawValue) AND status IN ('sent', 'unknown') AND NOT is_test AND read_at IS NULL
          AND id < varsel_uuid_floor(now() + interval '1 day')
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
          AND id < varsel_uuid_floor(now() + interval '1 day')
        """
    }
}
