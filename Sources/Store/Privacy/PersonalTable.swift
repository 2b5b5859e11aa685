import Kernel
import Notifications
import PostgresClient

/// A table that holds something of users: how it is told to them and how it is erased.
///
/// A migration that makes a table with a user's id or anything of theirs adds an entry to `PersonalTable.all`; a test compares the
/// list with the schema. Entries stand in the order of erasing: a table that is found by way of another stands before it.
struct PersonalTable: Sendable {
    /// As the database and the export call it.
    let name: String
    /// Gives a user's rows as a column `line` with one JSON object a row, in an order that stays; `nil` for what tells the user
    /// nothing that is not told by another table.
    let exported: (@Sendable (UserID, _ limit: Int, _ offset: Int) -> SQL)?
    /// Removes what came into being before a moment. What a user who returned has made since then stays.
    let erased: @Sendable (UserID, _ before: Timestamp) -> SQL

    static let all: [PersonalTable] =
        subscriptions + campaigns + [
            PersonalTable(name: "idempotency_keys", exported: nil, erased: idempotencyKeys),
            PersonalTable(
                name: "scheduled_notifications",
                exported: { user, limit, offset in
                    """
                    SELECT (to_jsonb(t) - 'credential')::text AS line FROM scheduled_notifications t
                    WHERE user_id = \(user.rawValue) ORDER BY message_id LIMIT \(limit) OFFSET \(offset)
                    """
                },
                erased: { user, before in
                    "DELETE FROM scheduled_notifications WHERE user_id = \(user.rawValue) AND created_at < \(before)"
                }
            ),
            PersonalTable(
                name: "notification_messages",
                exported: { user, limit, offset in
                    """
                    SELECT to_jsonb(t)::text AS line FROM notification_messages t
                    WHERE user_id = \(user.rawValue) ORDER BY id LIMIT \(limit) OFFSET \(offset)
                    """
                },
                erased: { user, before in
                    "DELETE FROM notification_messages WHERE user_id = \(user.rawValue) AND enqueued_at < \(before)"
                }
            ),
            // Events of what was in flight are younger than the erasure, and carry no time of the message's creation.
            PersonalTable(
                name: "notification_events",
                exported: { user, limit, offset in
                    """
                    SELECT (to_jsonb(t) - 'id')::text AS line FROM notification_events t
                    WHERE user_id = \(user.rawValue) ORDER BY at, id LIMIT \(limit) OFFSET \(offset)
                    """
                },
                erased: { user, before in
                    """
                    DELETE FROM notification_events WHERE user_id = \(user.rawValue) AND at < greatest(\(before), now())
                    """
                }
            ),
            PersonalTable(
                name: "live_activity_sessions",
                exported: { user, limit, offset in
                    """
                    SELECT to_jsonb(t)::text AS line FROM live_activity_sessions t
                    WHERE user_id = \(user.rawValue) ORDER BY stream_id, device_id LIMIT \(limit) OFFSET \(offset)
                    """
                },
                erased: { user, before in
                    "DELETE FROM live_activity_sessions WHERE user_id = \(user.rawValue) AND registered_at < \(before)"
                }
            ),
            PersonalTable(
                name: "user_activity",
                exported: { user, limit, offset in
                    """
                    SELECT to_jsonb(t)::text AS line FROM user_activity t
                    WHERE user_id = \(user.rawValue) LIMIT \(limit) OFFSET \(offset)
                    """
                },
                erased: { user, before in
                    "DELETE FROM user_activity WHERE user_id = \(user.rawValue) AND last_activity_at < \(before)"
                }
            ),
            PersonalTable(
                name: "reminder_weeks",
                exported: { user, limit, offset in
                    """
                    SELECT to_jsonb(t)::text AS line FROM reminder_weeks t
                    WHERE user_id = \(user.rawValue) ORDER BY week_key LIMIT \(limit) OFFSET \(offset)
                    """
                },
                erased: { user, before in
                    "DELETE FROM reminder_weeks WHERE user_id = \(user.rawValue) AND claimed_at < \(before)"
                }
            ),
            // Keys of the caps, which are erased too.
            PersonalTable(
                name: "slot_debts",
                exported: nil,
                erased: { user, before in
                    "DELETE FROM slot_debts WHERE user_id = \(user.rawValue) AND created_at < \(before)"
                }
            ),
            PersonalTable(
                name: "devices",
                exported: { user, limit, offset in
                    """
                    SELECT to_jsonb(t)::text AS line FROM devices t
                    WHERE user_id = \(user.rawValue) ORDER BY id LIMIT \(limit) OFFSET \(offset)
                    """
                },
                erased: { user, before in
                    "DELETE FROM devices WHERE user_id = \(user.rawValue) AND registered_at < \(before)"
                }
            ),
            PersonalTable(
                name: "user_notification_preferences",
                exported: { user, limit, offset in
                    """
                    SELECT to_jsonb(t)::text AS line FROM user_notification_preferences t
                    WHERE user_id = \(user.rawValue) LIMIT \(limit) OFFSET \(offset)
                    """
                },
                erased: { user, before in
                    "DELETE FROM user_notification_preferences WHERE user_id = \(user.rawValue) AND created_at < \(before)"
                }
            ),
        ]

    /// Answers to requests that concerned this user alone go. Others stay without the user's name, because a repeat of a request
    /// without a record would be done again for everybody in it; they leave within a day.
    private static func idempotencyKeys(_ user: UserID, _ before: Timestamp) -> SQL {
        // The characters of a user id are written as they are in JSON.
        let name = "\"\(user.rawValue)\""
        return """
            WITH redacted AS (
                UPDATE idempotency_keys SET response = replace(response, \(name), '"erased"')
                WHERE (strpos(response, '"userId"') > 0 OR strpos(response, '"usersWithoutToken"') > 0)
                  AND strpos(response, \(name)) > 0 AND created_at < \(before)
            )
            DELETE FROM idempotency_keys
            WHERE cardinality(message_ids) = 1 AND created_at < \(before) AND message_ids[1] IN (
                SELECT message_id FROM scheduled_notifications WHERE user_id = \(user.rawValue)
                UNION ALL SELECT id FROM notification_messages WHERE user_id = \(user.rawValue)
                UNION ALL SELECT message_id FROM notification_events WHERE user_id = \(user.rawValue)
            )
            """
    }
}
