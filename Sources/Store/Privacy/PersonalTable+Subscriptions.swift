import Kernel
import Notifications
import PostgresClient

extension PersonalTable {
    /// What the App Store told about a user's subscriptions. Notifications are found by way of the subscription, so they go first;
    /// a subscription whose user was erased is nobody's until somebody links it anew. What nobody is linked to is the user's when it
    /// carries the user's id as its account token.
    static let subscriptions: [PersonalTable] = [
        PersonalTable(
            name: "app_store_notifications",
            exported: { user, limit, offset in
                """
                SELECT (to_jsonb(t) - 'signed_payload')::text AS line FROM app_store_notifications t
                WHERE \(notificationBelongs(to: user))
                ORDER BY t.signed_at, t.notification_uuid LIMIT \(limit) OFFSET \(offset)
                """
            },
            erased: { user, before in
                """
                DELETE FROM app_store_notifications t
                WHERE t.received_at < \(before) AND \(notificationBelongs(to: user))
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
                WHERE \(subscriptionBelongs(to: user)) ORDER BY environment, original_transaction_id
                LIMIT \(limit) OFFSET \(offset)
                """
            },
            erased: { user, before in
                "DELETE FROM subscriptions t WHERE \(subscriptionBelongs(to: user)) AND created_at < \(before)"
            }
        ),
    ]
    /// Two searches by index; one condition with OR over both tables would read all rows.
    private static func notificationBelongs(to user: UserID) -> SQL {
        """
        (t.environment, t.notification_uuid) IN (
            SELECT n.environment, n.notification_uuid FROM subscriptions s JOIN app_store_notifications n
                ON n.environment = s.environment AND n.original_transaction_id = s.original_transaction_id
            WHERE s.user_id = \(user.rawValue)
            UNION ALL
            SELECT n.environment, n.notification_uuid FROM app_store_notifications n
                LEFT JOIN subscriptions s
                ON s.environment = n.environment AND s.original_transaction_id = n.original_transaction_id
            WHERE n.facts #>> '{transaction,appAccountToken}' = \(accountToken(of: user)?.description)
              AND s.user_id IS NULL
        )
        """
    }

    private static func subscriptionBelongs(to user: UserID) -> SQL {
        """
        (t.user_id = \(user.rawValue) OR (t.user_id IS NULL AND t.app_account_token = \(accountToken(of: user))))
        """
    }

    /// A user's id as Apple carries it, `nil` for one that is no UUID.
    private static func accountToken(of user: UserID) -> UUIDBits? { UUIDBits(user.rawValue) }
}
