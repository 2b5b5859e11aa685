import Notifications
import PostgresClient

/// The statements of erasures beside those of the tables.
enum PersonalDataSQL {
    /// The request's moment has whole milliseconds, like every time this program compares with it, and lies after what was
    /// committed before.
    static func begin(_ user: UserID, after seconds: Int) -> SQL {
        """
        INSERT INTO erasures AS e (user_id, requested_at, due_at)
        SELECT \(user.rawValue), moment, moment + make_interval(secs => \(seconds))
        FROM (SELECT date_trunc('milliseconds', clock_timestamp()) + interval '1 millisecond' AS moment) AS given
        ON CONFLICT (user_id) DO UPDATE SET requested_at = EXCLUDED.requested_at, due_at = EXCLUDED.due_at, passes = 0
        RETURNING user_id, requested_at, due_at, passes
        """
    }

    static func jobIDs(of user: UserID, limit: Int) -> SQL {
        """
        SELECT DISTINCT job_id FROM (
            SELECT job_id FROM notification_messages WHERE user_id = \(user.rawValue)
            UNION ALL SELECT job_id FROM notification_events WHERE user_id = \(user.rawValue)
            UNION ALL SELECT message_id::text FROM scheduled_notifications WHERE user_id = \(user.rawValue)
        ) AS found LIMIT \(limit)
        """
    }

    /// Slots live eight days from their last use, and a week may begin a day early east of here.
    static let recentWeeks: SQL = """
        SELECT DISTINCT to_char(now() AT TIME ZONE 'UTC' + make_interval(days => day), 'IYYY-"W"IW') AS week
        FROM generate_series(-9, 1) AS day ORDER BY week
        """

    static func finishPass(_ erasure: PersonalDataStore.Erasure, interval: Int) -> SQL {
        """
        UPDATE erasures SET passes = passes + 1, due_at = now() + make_interval(secs => \(interval))
        WHERE user_id = \(erasure.userID.rawValue) AND requested_at = \(erasure.requestedAt)
        """
    }

    static func remove(_ erasure: PersonalDataStore.Erasure, passes: Int) -> SQL {
        """
        DELETE FROM erasures
        WHERE user_id = \(erasure.userID.rawValue) AND requested_at = \(erasure.requestedAt) AND passes >= \(passes)
        """
    }

    static func claimDue(limit: Int, lease: Int) -> SQL {
        """
        UPDATE erasures SET due_at = now() + make_interval(secs => \(lease))
        WHERE user_id IN (
            SELECT user_id FROM erasures WHERE due_at <= now() ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        )
        RETURNING user_id, requested_at, due_at, passes
        """
    }
}
