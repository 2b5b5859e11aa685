import Kernel
import Notifications
import PostgresClient

/// The statements about Live Activities.
enum LiveActivitySQL {
    /// Whoever registers a token has the device it came from: older sessions with the token go.
    static func removeOthers(_ session: LiveActivitySession, user: UserID) -> SQL {
        """
        DELETE FROM live_activity_sessions
        WHERE md5(token) = md5(\(session.token)) AND token = \(session.token)
          AND (stream_id, user_id, device_id) <> (\(session.streamID.rawValue), \(user.rawValue), \(session.deviceID))
        """
    }

    /// Makes or renews the session. What the app does not say of environment and topic is known from its device.
    static func save(
        _ session: LiveActivitySession,
        user: UserID,
        environment: PushEnvironment,
        topic: String
    ) -> SQL {
        """
        INSERT INTO live_activity_sessions AS s (stream_id, user_id, device_id, token, environment, topic, activity_id)
        SELECT \(session.streamID.rawValue), \(user.rawValue), \(session.deviceID), \(session.token),
            coalesce(\(session.environment?.rawValue), d.environment, \(environment.rawValue)),
            coalesce(\(session.topic), d.topic, \(topic)), \(session.activityID)
        FROM (SELECT 1) AS one
        LEFT JOIN devices d ON d.user_id = \(user.rawValue) AND d.device_id = \(session.deviceID)
        ON CONFLICT (stream_id, user_id, device_id) DO UPDATE SET
            token = EXCLUDED.token, environment = EXCLUDED.environment, topic = EXCLUDED.topic,
            activity_id = EXCLUDED.activity_id, registered_at = now()
        """
    }

    /// Removes a user's oldest sessions above the limit: those an app forgot to take back.
    static func trim(_ user: UserID, keeping limit: Int) -> SQL {
        """
        DELETE FROM live_activity_sessions s USING (
            SELECT stream_id, device_id FROM live_activity_sessions WHERE user_id = \(user.rawValue)
            ORDER BY registered_at DESC, stream_id, device_id OFFSET \(limit)
        ) AS old
        WHERE s.user_id = \(user.rawValue) AND s.stream_id = old.stream_id AND s.device_id = old.device_id
        """
    }

    static func remove(stream: StreamID, device: String, of user: UserID) -> SQL {
        """
        DELETE FROM live_activity_sessions
        WHERE stream_id = \(stream.rawValue) AND user_id = \(user.rawValue) AND device_id = \(device)
        """
    }

    /// A page of a stream's sessions in the order of user and device.
    /// - Parameter users: `nil` for all.
    static func page(
        of stream: StreamID,
        users: [String]?,
        after: (user: String, device: String)?,
        limit: Int
    ) -> SQL {
        """
        SELECT clock_timestamp() AS now, user_id, 0::bigint AS row_id, device_id, 'apns' AS provider, token, environment,
            topic
        FROM live_activity_sessions
        WHERE stream_id = \(stream.rawValue)
          AND (\(users == nil) OR user_id = ANY(\(users ?? [])))
          AND (user_id, device_id) > (\(after?.user ?? ""), \(after?.device ?? ""))
        ORDER BY user_id, device_id LIMIT \(limit)
        """
    }

    /// The push-to-start tokens of users, the newest of each first. Of a device whose app is gone only a token told since.
    static func startTargets(of users: [String], eachAtMost limit: Int) -> SQL {
        """
        SELECT clock_timestamp() AS now, user_id, id AS row_id, device_id, 'apns' AS provider,
            push_to_start_token AS token, environment, topic
        FROM (
            SELECT d.*, row_number() OVER (
                PARTITION BY user_id ORDER BY coalesce(push_to_start_registered_at, registered_at) DESC, id) AS place
            FROM devices d
            WHERE user_id = ANY(\(users)) AND push_to_start_token IS NOT NULL
              AND (invalidated_at IS NULL OR push_to_start_registered_at > invalidated_at)
        ) AS placed
        WHERE place <= \(limit) ORDER BY user_id, id
        """
    }

    /// Ends sessions by token; one that was told a new token since, or told this one again, stays.
    static func end(_ spent: [SpentTarget], of stream: StreamID) -> SQL {
        """
        DELETE FROM live_activity_sessions s
        USING unnest(
            \(spent.map(\.target.userID.rawValue)), \(spent.map { $0.target.deviceID ?? "" }),
            \(spent.map(\.target.token)), \(spent.map(\.registeredBefore))
        ) AS e(user_id, device_id, token, before)
        WHERE s.stream_id = \(stream.rawValue) AND s.user_id = e.user_id AND s.device_id = e.device_id
          AND s.token = e.token AND s.registered_at < coalesce(e.before, 'infinity')
        """
    }

    /// Forgets push-to-start tokens by the same rule.
    static func forgetStartTokens(_ spent: [SpentTarget]) -> SQL {
        """
        UPDATE devices d SET push_to_start_token = NULL, push_to_start_registered_at = NULL, updated_at = now()
        FROM unnest(
            \(spent.map { Int($0.target.deviceRowID) }), \(spent.map(\.target.userID.rawValue)),
            \(spent.map(\.target.token)), \(spent.map(\.registeredBefore))
        ) AS e(id, user_id, token, before)
        WHERE d.id = e.id AND d.user_id = e.user_id AND d.push_to_start_token = e.token
          AND coalesce(d.push_to_start_registered_at, d.registered_at) < coalesce(e.before, 'infinity')
        """
    }
}
