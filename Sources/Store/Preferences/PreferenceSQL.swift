import Kernel
import Notifications
import PostgresClient

/// The statements about preferences.
enum PreferenceSQL {
    static func read(_ user: UserID) -> SQL {
        """
        SELECT ios_permission_status, categories, timezone, language, silence_until
        FROM user_notification_preferences WHERE user_id = \(user.rawValue)
        """
    }

    /// Everything but the switches. Provisional and ephemeral permission count as granted.
    static func change(_ change: PreferenceStore.Change, of user: UserID) -> SQL {
        let permission: String? =
            switch change.permission {
            case nil: nil
            case .granted, .provisional, .ephemeral: "granted"
            case .denied: "denied"
            case .notDetermined: "notDetermined"
            }
        let silence: Timestamp? = change.silenceUntil ?? nil
        return """
            INSERT INTO user_notification_preferences AS p
                (user_id, ios_permission_status, timezone, language, silence_until)
            VALUES (\(user.rawValue), coalesce(\(permission), 'notDetermined'), \(change.timezone), \(change.language),
                \(silence))
            ON CONFLICT (user_id) DO UPDATE SET
                ios_permission_status = coalesce(\(permission), p.ios_permission_status),
                timezone = coalesce(EXCLUDED.timezone, p.timezone),
                language = coalesce(EXCLUDED.language, p.language),
                silence_until = CASE WHEN \(change.silenceUntil != nil) THEN EXCLUDED.silence_until
                    ELSE p.silence_until END,
                updated_at = now()
            """
    }

    static func setSwitch(_ isEnabled: Bool, category: String, of user: UserID) -> SQL {
        """
        UPDATE user_notification_preferences
        SET categories = jsonb_set(categories, ARRAY[\(category)],
                coalesce(categories -> \(category), '{}'::jsonb) || jsonb_build_object('enabled', \(isEnabled))),
            updated_at = now()
        WHERE user_id = \(user.rawValue)
        """
    }

    static func forgetHistory(of user: UserID) -> SQL {
        """
        UPDATE user_notification_preferences
        SET silence_until = NULL, updated_at = now(), categories = coalesce(
            (SELECT jsonb_object_agg(key, value - 'lastSentAt') FROM jsonb_each(categories)
             WHERE jsonb_typeof(value) = 'object'), '{}'::jsonb)
        WHERE user_id = \(user.rawValue)
        """
    }
}
