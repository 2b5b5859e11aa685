import Kernel
package import Notifications
package import PostgresClient

/// The statements about devices. A token is found by its digest: it may be longer than an index entry can be.
package enum DeviceSQL {
    /// The whole registration of a device that names itself and has a token, for one round trip and one transaction. Each
    /// statement sees what was committed before it began: so the lock comes first, and whoever holds the token is looked at after
    /// it.
    ///
    /// It leaves rows of other users alone. Where the token is another user's, `saveByDevice` violates its uniqueness and everything
    /// is undone.
    package static func registration(_ device: DeviceRecord, user: UserID) -> [SQL] {
        [lockedPreferences(of: user), removeOwn(device, user: user), saveByDevice(device, user: user)]
            + (device.hasOtherTokens ? [saveOtherTokens(device, user: user, row: nil)] : [])
            + [refresh(user, zone: device.timezone)]
    }

    /// Locks the user's preferences as FOR UPDATE does, and makes them first where there are none: a row whose update is not wanted
    /// is locked all the same.
    private static func lockedPreferences(of user: UserID) -> SQL {
        """
        INSERT INTO user_notification_preferences AS p (user_id) VALUES (\(user.rawValue))
        ON CONFLICT (user_id) DO UPDATE SET user_id = p.user_id WHERE false
        """
    }

    /// Removes rows of this user and of nobody that hold the token but are not the row that the device is about to have. The owner is
    /// compared in a form that no index serves, so that the row is found by its token.
    private static func removeOwn(_ device: DeviceRecord, user: UserID) -> SQL {
        """
        DELETE FROM devices
        WHERE provider = \(device.provider.rawValue) AND topic = \(device.topic)
          AND environment = \(device.environment.rawValue)
          AND md5(token) = md5(\(device.token)) AND token = \(device.token)
          AND coalesce(user_id, \(user.rawValue)) = \(user.rawValue)
          AND (user_id IS NULL OR device_id IS DISTINCT FROM \(device.deviceID))
        """
    }

    /// Works out the permission of one user, as `refresh(_:zone:of:)` does for several. That one's plan would be made anew every
    /// time: for a list of unknown length a plan in advance looks dear.
    private static func refresh(_ user: UserID, zone: String?) -> SQL {
        """
        UPDATE user_notification_preferences p
        SET ios_permission_status = judged.status, timezone = coalesce(judged.zone, p.timezone), updated_at = now()
        FROM (
            SELECT
                CASE
                    WHEN bool_or(d.token IS NOT NULL AND d.invalidated_at IS NULL
                        AND d.permission_status IN ('granted', 'provisional', 'ephemeral')) THEN 'granted'
                    WHEN bool_or(d.permission_status = 'denied' OR d.invalidated_at IS NOT NULL) THEN 'denied'
                    ELSE 'notDetermined'
                END AS status,
                (SELECT name FROM time_zones WHERE name = \(zone)) AS zone
            FROM devices d WHERE d.user_id = \(user.rawValue)
        ) AS judged
        WHERE p.user_id = \(user.rawValue)
          AND (p.ios_permission_status <> judged.status OR coalesce(judged.zone <> p.timezone, judged.zone IS NOT NULL))
        """
    }

    /// Makes sure that the user has preferences to lock, and tells which user holds the token now.
    static func preparedOwner(of device: DeviceRecord, user: UserID) -> SQL {
        """
        WITH made AS (
            INSERT INTO user_notification_preferences (user_id) VALUES (\(user.rawValue)) ON CONFLICT DO NOTHING
        )
        SELECT user_id AS owner FROM devices
        WHERE provider = \(device.provider.rawValue) AND topic = \(device.topic)
          AND environment = \(device.environment.rawValue)
          AND md5(token) = md5(\(device.token)) AND token = \(device.token)
        """
    }

    /// Always in the order of user ids, so that two registrations cannot wait for each other.
    static func lockPreferences(of users: [String]) -> SQL {
        """
        SELECT user_id FROM user_notification_preferences WHERE user_id = ANY(\(users)) ORDER BY user_id FOR UPDATE
        """
    }

    /// Removes rows that hold the token but are not the row that the device is about to have. Without a device id, the user's
    /// own row with the token and one tied to nobody are taken over instead. Live Activities of another user on the phone go
    /// with that user's row.
    static func removeOthers(_ device: DeviceRecord, user: UserID) -> SQL {
        """
        WITH removed AS (
            DELETE FROM devices
            WHERE provider = \(device.provider.rawValue) AND topic = \(device.topic)
              AND environment = \(device.environment.rawValue)
              AND md5(token) = md5(\(device.token)) AND token = \(device.token)
              AND (user_id, device_id) IS DISTINCT FROM (\(user.rawValue), \(device.deviceID))
              AND (\(device.deviceID) IS NOT NULL OR user_id <> \(user.rawValue))
            RETURNING user_id, device_id
        ), sessions AS (
            DELETE FROM live_activity_sessions s USING removed r
            WHERE s.user_id = r.user_id AND s.device_id = r.device_id AND r.user_id <> \(user.rawValue)
        )
        SELECT user_id FROM removed
        """
    }

    /// The statement that makes or changes the user's device and tells the row's id, `nil` when nothing names one.
    static func save(_ device: DeviceRecord, user: UserID) -> SQL? {
        switch (device.token, device.deviceID) {
        case (.some, .some): saveByDevice(device, user: user)
        case (.some, nil): saveByToken(device, user: user)
        case (nil, .some): saveFields(device, user: user)
        case (nil, nil): nil
        }
    }

    private static func saveByDevice(_ device: DeviceRecord, user: UserID) -> SQL {
        """
        INSERT INTO devices AS d (user_id, device_id, provider, platform, token, environment, topic, permission_status,
            timezone, push_to_start_token)
        VALUES (\(user.rawValue), \(device.deviceID), \(device.provider.rawValue), \(device.platform), \(device.token),
            \(device.environment.rawValue), \(device.topic), coalesce(\(device.permission?.rawValue), 'granted'),
            \(device.timezone), \(device.pushToStartToken))
        ON CONFLICT (user_id, device_id) WHERE user_id IS NOT NULL DO UPDATE SET
            provider = EXCLUDED.provider, platform = EXCLUDED.platform, token = EXCLUDED.token,
            environment = EXCLUDED.environment, topic = EXCLUDED.topic, permission_status = EXCLUDED.permission_status,
            timezone = coalesce(EXCLUDED.timezone, d.timezone),
            push_to_start_token = coalesce(EXCLUDED.push_to_start_token, d.push_to_start_token),
            registered_at = now(), updated_at = now(), invalidated_at = NULL, invalid_reason = NULL
        RETURNING id
        """
    }

    /// A device id that came with nobody's row stays behind: the user may have a row of that name.
    private static func saveByToken(_ device: DeviceRecord, user: UserID) -> SQL {
        """
        INSERT INTO devices AS d (user_id, provider, platform, token, environment, topic, permission_status, timezone,
            push_to_start_token)
        VALUES (\(user.rawValue), \(device.provider.rawValue), \(device.platform), \(device.token),
            \(device.environment.rawValue), \(device.topic), coalesce(\(device.permission?.rawValue), 'granted'),
            \(device.timezone), \(device.pushToStartToken))
        ON CONFLICT (provider, md5(token), topic, environment) WHERE token IS NOT NULL DO UPDATE SET
            user_id = EXCLUDED.user_id, device_id = CASE WHEN d.user_id IS NOT NULL THEN d.device_id END,
            platform = EXCLUDED.platform, permission_status = EXCLUDED.permission_status,
            timezone = coalesce(EXCLUDED.timezone, d.timezone),
            push_to_start_token = coalesce(EXCLUDED.push_to_start_token, d.push_to_start_token),
            registered_at = now(), updated_at = now(), invalidated_at = NULL, invalid_reason = NULL
        RETURNING id
        """
    }

    /// Without a token: what belongs to the token (provider, environment, topic, time of registration) stays.
    private static func saveFields(_ device: DeviceRecord, user: UserID) -> SQL {
        """
        INSERT INTO devices AS d (user_id, device_id, provider, platform, environment, topic, permission_status, timezone,
            push_to_start_token)
        VALUES (\(user.rawValue), \(device.deviceID), \(device.provider.rawValue), \(device.platform),
            \(device.environment.rawValue), \(device.topic), coalesce(\(device.permission?.rawValue), 'notDetermined'),
            \(device.timezone), \(device.pushToStartToken))
        ON CONFLICT (user_id, device_id) WHERE user_id IS NOT NULL DO UPDATE SET
            platform = EXCLUDED.platform,
            permission_status = coalesce(\(device.permission?.rawValue), d.permission_status),
            timezone = coalesce(EXCLUDED.timezone, d.timezone),
            push_to_start_token = coalesce(EXCLUDED.push_to_start_token, d.push_to_start_token), updated_at = now()
        RETURNING id
        """
    }

    /// Notes the other tokens that the device told: when, and that no other row has them, whoever it belongs to. They are the
    /// phone's, and the phone has changed hands.
    /// - Parameter row: the row that was saved; `nil` finds it by the device's own name.
    static func saveOtherTokens(_ device: DeviceRecord, user: UserID, row: Int64?) -> SQL {
        """
        WITH own AS (
            SELECT coalesce(\(row), (SELECT id FROM devices
                WHERE user_id = \(user.rawValue) AND device_id = \(device.deviceID))) AS id
        ), others AS (
            UPDATE devices d
            SET push_to_start_token = nullif(d.push_to_start_token, \(device.pushToStartToken)),
                voip_token = nullif(d.voip_token, \(device.voipToken))
            FROM own
            WHERE d.id <> own.id
              AND (md5(d.push_to_start_token) = md5(\(device.pushToStartToken))
                    AND d.push_to_start_token = \(device.pushToStartToken)
                OR md5(d.voip_token) = md5(\(device.voipToken)) AND d.voip_token = \(device.voipToken))
        )
        UPDATE devices d
        SET push_to_start_registered_at =
                CASE WHEN \(device.pushToStartToken) IS NULL THEN d.push_to_start_registered_at ELSE now() END,
            voip_registered_at = CASE WHEN \(device.voipToken) IS NULL THEN d.voip_registered_at ELSE now() END,
            voip_token = coalesce(\(device.voipToken), d.voip_token)
        FROM own WHERE d.id = own.id
        """
    }

    static func saveAnonymous(_ device: DeviceRecord) -> SQL {
        """
        INSERT INTO devices AS d (device_id, provider, platform, token, environment, topic, permission_status, timezone,
            push_to_start_token)
        VALUES (\(device.deviceID), \(device.provider.rawValue), \(device.platform), \(device.token),
            \(device.environment.rawValue), \(device.topic), coalesce(\(device.permission?.rawValue), 'granted'),
            \(device.timezone), \(device.pushToStartToken))
        ON CONFLICT (provider, md5(token), topic, environment) WHERE token IS NOT NULL DO UPDATE SET
            device_id = EXCLUDED.device_id, platform = EXCLUDED.platform, permission_status = EXCLUDED.permission_status,
            timezone = EXCLUDED.timezone, push_to_start_token = EXCLUDED.push_to_start_token,
            registered_at = now(), updated_at = now(), invalidated_at = NULL, invalid_reason = NULL
        WHERE d.user_id IS NULL
        """
    }

    /// Removes a device with its Live Activities: nothing more of the user is shown on it.
    static func remove(token: String, provider: PushProvider, of user: UserID) -> SQL {
        """
        WITH removed AS (
            DELETE FROM devices
            WHERE user_id = \(user.rawValue) AND provider = \(provider.rawValue) AND token = \(token)
            RETURNING device_id
        ), sessions AS (
            DELETE FROM live_activity_sessions s USING removed r
            WHERE s.user_id = \(user.rawValue) AND s.device_id = r.device_id
        )
        SELECT device_id FROM removed
        """
    }

    static func invalidate(id: Int64, of user: UserID, token: String, before: Timestamp, reason: String) -> SQL {
        """
        UPDATE devices SET invalidated_at = now(), invalid_reason = \(reason), updated_at = now()
        WHERE id = \(id) AND user_id = \(user.rawValue) AND token = \(token) AND registered_at < \(before)
          AND invalidated_at IS NULL
        """
    }

    static func revokePermission(of user: UserID) -> SQL {
        """
        UPDATE user_notification_preferences p SET ios_permission_status = 'denied', updated_at = now()
        WHERE p.user_id = \(user.rawValue) AND p.ios_permission_status = 'granted' AND NOT EXISTS (
            SELECT FROM devices d
            WHERE d.user_id = p.user_id AND d.token IS NOT NULL AND d.invalidated_at IS NULL
              AND d.permission_status IN ('granted', 'provisional', 'ephemeral')
        )
        """
    }

    /// Works out the permission of users from their devices, on every platform: granted while one of them may be reached. The
    /// zone goes to one of the users, and only when the database knows it.
    static func refresh(_ users: [String], zone: String?, of user: UserID) -> SQL {
        """
        UPDATE user_notification_preferences p
        SET ios_permission_status = judged.status, timezone = coalesce(judged.zone, p.timezone), updated_at = now()
        FROM (
            SELECT u.user_id,
                CASE
                    WHEN bool_or(d.token IS NOT NULL AND d.invalidated_at IS NULL
                        AND d.permission_status IN ('granted', 'provisional', 'ephemeral')) THEN 'granted'
                    WHEN bool_or(d.permission_status = 'denied' OR d.invalidated_at IS NOT NULL) THEN 'denied'
                    ELSE 'notDetermined'
                END AS status,
                CASE WHEN u.user_id = \(user.rawValue)
                    THEN (SELECT name FROM time_zones WHERE name = \(zone)) END AS zone
            FROM unnest(\(users)) AS u(user_id) LEFT JOIN devices d ON d.user_id = u.user_id
            GROUP BY u.user_id
        ) AS judged
        WHERE p.user_id = judged.user_id
          AND (p.ios_permission_status <> judged.status OR coalesce(judged.zone <> p.timezone, judged.zone IS NOT NULL))
        """
    }
}
