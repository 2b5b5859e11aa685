import Kernel
import PostgresClient

/// The statements about subscriptions.
enum SubscriptionSQL {
    static func notification(environment: String, uuid: UUIDBits) -> SQL {
        """
        SELECT facts, state FROM app_store_notifications
        WHERE environment = \(environment) AND notification_uuid = \(uuid) FOR UPDATE
        """
    }

    static func settle(environment: String, uuid: UUIDBits, _ settlement: SubscriptionSession.Settlement) -> SQL {
        """
        UPDATE app_store_notifications SET state = \(settlement.state), outcome = \(settlement.outcome),
            event = \(settlement.event), message_id = \(settlement.messageID), settled_at = now()
        WHERE environment = \(environment) AND notification_uuid = \(uuid)
        """
    }

    static func make(environment: String, id: String) -> SQL {
        """
        INSERT INTO subscriptions (environment, original_transaction_id) VALUES (\(environment), \(id))
        ON CONFLICT (environment, original_transaction_id) DO NOTHING
        """
    }

    static func lock(environment: String, id: String) -> SQL {
        """
        SELECT \(unescaped: SubscriptionRecord.columns) FROM subscriptions
        WHERE environment = \(environment) AND original_transaction_id = \(id) FOR UPDATE
        """
    }

    static func save(_ record: SubscriptionRecord) -> SQL {
        """
        UPDATE subscriptions SET user_id = \(record.user), app_account_token = \(record.appAccountToken),
            product_id = \(record.productID), next_product_id = \(record.nextProductID),
            subscription_group = \(record.subscriptionGroup), is_family_shared = \(record.isFamilyShared),
            status = \(record.status), auto_renews = \(record.autoRenews), expires_at = \(record.expiresAt),
            grace_expires_at = \(record.graceExpiresAt), commitment_expires_at = \(record.commitmentExpiresAt),
            revoked_at = \(record.revokedAt), transaction_signed_at = \(record.transactionSignedAt),
            renewal_signed_at = \(record.renewalSignedAt), event_signed_at = \(record.eventSignedAt),
            announced = \(record.announcedJSON), updated_at = now()
        WHERE environment = \(record.environment) AND original_transaction_id = \(record.originalTransactionID)
        """
    }

    static func owned(by user: String) -> SQL {
        """
        SELECT \(unescaped: SubscriptionRecord.columns) FROM subscriptions WHERE user_id = \(user)
        ORDER BY expires_at, original_transaction_id LIMIT 20
        """
    }

    static func user(spelled names: [String]) -> SQL {
        "SELECT user_id FROM user_notification_preferences WHERE user_id = ANY(\(names)) ORDER BY user_id LIMIT 1"
    }

    static func audience(of user: String, at moment: Timestamp?) -> SQL {
        """
        SELECT p.language, to_char(\(moment) AT TIME ZONE coalesce(z.name, 'UTC'), 'YYYY-MM-DD') AS local_date
        FROM (SELECT \(user) AS user_id) u
        LEFT JOIN user_notification_preferences p ON p.user_id = u.user_id
        LEFT JOIN time_zones z ON z.name = p.timezone
        """
    }

    static func hasOther(than record: SubscriptionRecord, user: String, group: String, at moment: Timestamp) -> SQL {
        """
        SELECT EXISTS (SELECT FROM subscriptions
            WHERE environment = \(record.environment) AND user_id = \(user) AND subscription_group = \(group)
              AND original_transaction_id <> \(record.originalTransactionID)
              AND ((status = 1 AND expires_at > \(moment)) OR (status = 4 AND grace_expires_at > \(moment)))) AS found
        """
    }

    static func expiring(
        now: Timestamp,
        defaultZone: String,
        after: (expiresAt: Timestamp, id: String)?,
        limit: Int
    ) -> SQL {
        """
        \(unescaped: expiringSelect)
        CROSS JOIN (SELECT \(now) AS now, \(defaultZone) AS fallback) c
        \(unescaped: expiringWhere)
          AND (s.expires_at, s.original_transaction_id)
            > (coalesce(\(after?.expiresAt), '-infinity'), coalesce(\(after?.id), ''))
        ORDER BY s.expires_at, s.original_transaction_id LIMIT \(limit)
        """
    }

    static func isExpiring(_ id: String, now: Timestamp, defaultZone: String) -> SQL {
        """
        \(unescaped: expiringSelect)
        CROSS JOIN (SELECT \(now) AS now, \(defaultZone) AS fallback) c
        \(unescaped: expiringWhere) AND s.original_transaction_id = \(id)
        """
    }

    private static let expiringSelect = """
        SELECT s.original_transaction_id, s.expires_at
        FROM subscriptions s
        LEFT JOIN user_notification_preferences p ON p.user_id = s.user_id
        LEFT JOIN time_zones z ON z.name = p.timezone
        """

    /// Local dates are whole days, so that a notice of the 1st speaks of the 4th wherever its reader lives.
    private static let expiringWhere = """
        WHERE s.environment = 'production' AND s.auto_renews = false AND s.user_id IS NOT NULL
          AND s.status = 1 AND NOT s.is_family_shared AND s.revoked_at IS NULL
          AND (s.commitment_expires_at IS NULL OR s.commitment_expires_at <= s.expires_at)
          AND s.expires_at >= c.now + interval '12 hours' AND s.expires_at < c.now + interval '4 days 12 hours'
          AND (s.expires_at AT TIME ZONE coalesce(z.name, c.fallback))::date
            - (c.now AT TIME ZONE coalesce(z.name, c.fallback))::date <= 3
          AND extract(hour FROM c.now AT TIME ZONE coalesce(z.name, c.fallback))
            BETWEEN CASE WHEN z.name IS NULL THEN 12 ELSE 9 END AND CASE WHEN z.name IS NULL THEN 16 ELSE 20 END
          AND (s.announced ->> 'subscription_expiring')::bigint
            IS DISTINCT FROM (extract(epoch FROM s.expires_at) * 1000)::bigint
        """

    static func link(environment: String, id: String, user: String) -> SQL {
        """
        SELECT transaction FROM subscription_links
        WHERE environment = \(environment) AND original_transaction_id = \(id) AND user_id = \(user)
          AND state = 'received' FOR UPDATE
        """
    }

    static func settleLink(environment: String, id: String, user: String, isGranted: Bool) -> SQL {
        """
        UPDATE subscription_links SET state = \(isGranted ? "done" : "refused"), settled_at = now()
        WHERE environment = \(environment) AND original_transaction_id = \(id) AND user_id = \(user)
        """
    }

    static func unlinked(environment: String, id: String) -> SQL {
        """
        SELECT notification_uuid AS uuid, facts FROM app_store_notifications
        WHERE environment = \(environment) AND original_transaction_id = \(id) AND state = 'unlinked'
        ORDER BY signed_at DESC, notification_uuid FOR UPDATE
        """
    }
}
