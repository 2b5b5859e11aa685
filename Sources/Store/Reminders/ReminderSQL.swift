import Kernel
import Notifications
import PostgresClient

/// The statements about reminders.
enum ReminderSQL {
    /// What stands on the wall in every zone that a user with activity lives in.
    static func zones(at now: Timestamp) -> SQL {
        """
        SELECT z.name, extract(epoch FROM wall.time::time)::int / 60 AS local_minute,
            to_char(wall.time, 'IYYY-"W"IW') AS week_key, to_char(wall.time, 'ID"T"HH24') AS hour
        FROM time_zones z
        CROSS JOIN LATERAL (SELECT \(now) AT TIME ZONE z.name AS time OFFSET 0) AS wall
        WHERE EXISTS (SELECT FROM user_activity a WHERE a.timezone = z.name)
        ORDER BY z.name
        """
    }

    /// One page of the users of a zone who are to be reminded, the longest away first.
    ///
    /// The index on zone and activity gives the order, so that a page costs what is on it. Everything else is looked up user by user:
    /// the sub-selects are written so that the planner cannot turn them into joins over whole tables, which it would prefer
    /// for a middling number of users and which cost half a second a page with a million rows. What drops most comes first.
    static func due(_ search: ReminderSearch, behind cursor: ReminderSearch.Cursor?, limit: Int) -> SQL {
        """
        SELECT a.user_id, a.last_activity_at, p.language
        FROM user_activity a
        CROSS JOIN LATERAL (
            SELECT q.language FROM user_notification_preferences q
            WHERE q.user_id = a.user_id AND q.timezone = a.timezone AND q.ios_permission_status = 'granted'
              AND (q.silence_until IS NULL OR q.silence_until <= \(search.now))
              AND CASE q.categories -> \(search.category) ->> 'enabled' WHEN 'true' THEN true WHEN 'false' THEN false
                ELSE \(search.isEnabledByDefault) END
            OFFSET 0
        ) AS p
        WHERE a.timezone = \(search.zone.name)
          AND a.last_activity_at > \(search.after) AND a.last_activity_at <= \(search.upTo)
          AND (a.last_activity_at, a.user_id)
            > (\(cursor?.lastActivity ?? search.after), \(cursor?.userID ?? "") COLLATE "C")
          AND (SELECT true FROM reminder_weeks r
            WHERE r.user_id = a.user_id AND r.week_key = \(search.zone.weekKey)) IS NULL
          AND (SELECT true FROM devices d
            WHERE d.user_id = a.user_id AND d.token IS NOT NULL AND d.invalidated_at IS NULL
              AND d.permission_status IN ('granted', 'provisional', 'ephemeral') LIMIT 1)
        ORDER BY a.last_activity_at, a.user_id
        LIMIT \(limit)
        """
    }

    /// Claims the weeks of users. Whoever has a row already is left out of what is returned.
    static func claim(_ claims: [ReminderClaim], at now: Timestamp) -> SQL {
        """
        INSERT INTO reminder_weeks (user_id, week_key, message_id, step, state, claimed_at)
        SELECT user_id, week_key, message_id, step, 'claimed', \(now)
        FROM unnest(\(claims.map(\.userID.rawValue)), \(claims.map(\.weekKey)), \(claims.map(\.messageID.bits)),
            \(claims.map(\.step))) AS c(user_id, week_key, message_id, step)
        ON CONFLICT DO NOTHING
        RETURNING message_id
        """
    }

    static func markEnqueued(_ claims: [(userID: String, weekKey: String)]) -> SQL {
        """
        UPDATE reminder_weeks r SET state = 'enqueued'
        FROM unnest(\(claims.map(\.userID)), \(claims.map(\.weekKey))) AS c(user_id, week_key)
        WHERE r.user_id = c.user_id AND r.week_key = c.week_key
        """
    }

    /// Takes up claims that were made before a moment and never marked, in zones that are open now and still have the claim's week.
    /// Taking one up moves its time, so that another machine leaves it alone.
    static func takeUp(claimedBefore moment: Timestamp, zones: [ReminderZone], now: Timestamp, limit: Int) -> SQL {
        """
        UPDATE reminder_weeks r SET claimed_at = \(now)
        FROM user_activity a
        WHERE a.user_id = r.user_id AND (r.user_id, r.week_key) IN (
            SELECT s.user_id, s.week_key
            FROM reminder_weeks s
            JOIN user_activity b ON b.user_id = s.user_id
            JOIN unnest(\(zones.map(\.name)), \(zones.map(\.weekKey))) AS z(name, week_key)
                ON z.name = b.timezone AND z.week_key = s.week_key
            WHERE s.state = 'claimed' AND s.claimed_at <= \(moment) AND s.claimed_at > \(moment) - interval '8 days'
            ORDER BY s.user_id LIMIT \(limit)
            FOR UPDATE OF s SKIP LOCKED
        )
        RETURNING r.user_id, r.week_key, r.message_id, a.last_activity_at
        """
    }

    /// Removes the rows of reminders that nobody saw. A message row in another state than expired forbids it: a device may have
    /// shown it.
    static func release(category: String, now: Timestamp) -> SQL {
        """
        DELETE FROM reminder_weeks r
        USING notification_events e
        WHERE e.kind = 'expired' AND e.at > \(now) - interval '8 days' AND e.category = \(category)
          AND r.user_id = e.user_id AND r.message_id = e.message_id
          AND NOT EXISTS (SELECT FROM notification_messages m WHERE m.id = e.message_id AND m.status <> 'expired')
        """
    }

    /// How many users a sweep would remind, and how many not for which reason, the first that applies.
    static func census(_ search: ReminderSearch, open: [ReminderZone]) -> SQL {
        """
        SELECT reason, count(*) AS n FROM (
            SELECT CASE
                WHEN a.user_id IS NULL THEN 'no_activity'
                WHEN z.name IS NULL THEN 'unknown_zone'
                WHEN a.last_activity_at > \(search.upTo) THEN 'active'
                WHEN a.last_activity_at <= \(search.after) THEN 'silent'
                WHEN o.name IS NULL THEN 'outside_window'
                WHEN p.ios_permission_status <> 'granted' OR NOT EXISTS (
                    SELECT FROM devices d WHERE d.user_id = a.user_id AND d.token IS NOT NULL AND d.invalidated_at IS NULL
                    AND d.permission_status IN ('granted', 'provisional', 'ephemeral')) THEN 'permission'
                WHEN p.silence_until > \(search.now) THEN 'silence'
                WHEN NOT CASE p.categories -> \(search.category) ->> 'enabled' WHEN 'true' THEN true
                    WHEN 'false' THEN false ELSE \(search.isEnabledByDefault) END THEN 'category_off'
                WHEN EXISTS (SELECT FROM reminder_weeks r WHERE r.user_id = a.user_id AND r.week_key = o.week_key)
                    THEN 'this_week'
                ELSE 'due' END AS reason
            FROM user_notification_preferences p
            FULL JOIN user_activity a ON a.user_id = p.user_id
            LEFT JOIN time_zones z ON z.name = p.timezone
            LEFT JOIN unnest(\(open.map(\.name)), \(open.map(\.weekKey))) AS o(name, week_key) ON o.name = z.name
        ) AS judged
        GROUP BY reason ORDER BY reason
        """
    }

    /// A week's rows are of use until the week is over in every zone.
    static let removeOld: SQL = "DELETE FROM reminder_weeks WHERE claimed_at < now() - interval '35 days'"
}
