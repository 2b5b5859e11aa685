import Notifications
import PostgresClient

extension PersonalTable {
    /// Lists of users that a campaign is for, and what is still to be handed to the queue.
    static let campaigns: [PersonalTable] = [
        PersonalTable(
            name: "campaign_list_users",
            exported: { user, limit, offset in
                """
                SELECT to_jsonb(t)::text AS line FROM campaign_list_users t
                WHERE user_id = \(user.rawValue) ORDER BY campaign_id LIMIT \(limit) OFFSET \(offset)
                """
            },
            erased: { user, _ in "DELETE FROM campaign_list_users WHERE user_id = \(user.rawValue)" }
        ),
        // Only chunks that wait hold names.
        PersonalTable(
            name: "campaign_chunks",
            exported: { user, limit, offset in
                """
                SELECT jsonb_build_object('campaign_id', campaign_id, 'due_at', due_at)::text AS line FROM campaign_chunks
                WHERE state = 'pending' AND user_ids @> ARRAY[\(user.rawValue)]
                ORDER BY campaign_id, chunk LIMIT \(limit) OFFSET \(offset)
                """
            },
            erased: { user, _ in
                """
                UPDATE campaign_chunks SET user_ids = array_remove(user_ids, \(user.rawValue))
                WHERE state = 'pending' AND user_ids @> ARRAY[\(user.rawValue)]
                """
            }
        ),
    ]
}
