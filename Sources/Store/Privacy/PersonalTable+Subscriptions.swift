import Notifications
import PostgresClient

extension PersonalTable {
    /// What the App Store told about a user's subscriptions. Notifications are found by way of the subscription, so they go first;
    /// a subscription whose user was erased is nobody's until somebody links it anew.
    static let subscriptions: [PersonalTable] = [
        PersonalTable(
            name: "app_store_notifications",
            exported: { user, limit, offset in
                """
                SELECT (to_jsonb(t) - 'signed_payload')::text AS line FROM app_store_notifications t
                JOIN subscriptions s USING (environment, original_transaction_id)
                WHERE s.user_id = \(user.rawValue)
                ORDER BY t.signed_at, t.notification_uuid LIMIT \(limit) OFFSET \(offset)
                """
            },
            erased: { user, before in
                """
                DELETE FROM app_store_notifications t USING subscriptions s
                WHERE s.environment = t.environment AND s.original_transaction_id = t.original_transaction_id
                  AND s.user_id = \(user.rawValue) AND t.received_at < \(before)
                """
            }
        ),
        PersonalTable(
            name: "subscription_links",
            exported: { user, limit, offset in
                """
                SELECT to_jsonb(t)::text AS line FROM subscription_links t
                WHERE user_id = \(user.rawValue) ORDER BY environment, original_transaction_id
                LIMIT \(limit) OFFSET \(offset)
                """
            },
            erased: { user, before in
                "DELETE FROM subscription_links WHERE user_id = \(user.rawValue) AND received_at < \(before)"
            }
        ),
        PersonalTable(
            name: "subscriptions",
            exported: { user, limit, offset in
                """
                SELECT to_jsonb(t)::text AS line FROM subscriptions t
                WHERE user_id = \(user.rawValue) ORDER BY environment, original_transaction_id
                LIMIT \(limit) OFFSET \(offset)
                """
            },
            erased: { user, before in
                "DELETE FROM subscriptions WHERE user_id = \(user.rawValue) AND created_at < \(before)"
            }
        ),
    ]
}
