import Kernel
import Notifications
import PostgresClient

/// The statements about campaigns as operators see them.
enum CampaignSQL {
    /// The columns that a campaign is read from.
    static let columns = """
        id, name, state, version::bigint AS version, texts, deeplink_url, audience, pace::bigint AS pace, starts_at, local_time::text AS local_time, started_at,
        ended_at, users::bigint AS users, created_by, created_at, updated_at
        """

    static func create(_ id: CampaignID, _ content: CampaignContent, by credential: String) -> SQL {
        """
        INSERT INTO campaigns (id, name, texts, deeplink_url, audience, pace, created_by)
        VALUES (\(id.bits), \(content.name), \(content.texts.json), \(content.deeplinkURL), \(content.audience.json),
            \(content.pace), \(credential))
        ON CONFLICT DO NOTHING
        """
    }

    static func edit(_ id: CampaignID, _ content: CampaignContent, version: Int?) -> SQL {
        """
        UPDATE campaigns SET name = \(content.name), texts = \(content.texts.json), deeplink_url = \(content.deeplinkURL),
            audience = \(content.audience.json), pace = \(content.pace), version = version + 1, updated_at = now()
        WHERE id = \(id.bits) AND state = ANY(\(states(.edit))) AND version = coalesce(\(version), version)
        """
    }

    static func find(_ id: CampaignID) -> SQL {
        "SELECT \(unescaped: columns) FROM campaigns WHERE id = \(id.bits)"
    }

    static func list(state: CampaignState?, limit: Int, offset: Int) -> SQL {
        """
        SELECT counted.total, c.* FROM (
            SELECT count(*) AS total FROM campaigns WHERE state = coalesce(\(state?.rawValue), state)
        ) AS counted
        LEFT JOIN LATERAL (
            SELECT \(unescaped: columns) FROM campaigns WHERE state = coalesce(\(state?.rawValue), state)
            ORDER BY id DESC LIMIT \(limit) OFFSET \(offset)
        ) AS c ON true
        ORDER BY c.id DESC
        """
    }

    static func remove(_ id: CampaignID) -> SQL {
        "DELETE FROM campaigns WHERE id = \(id.bits) AND state = ANY(\(states(.edit)))"
    }

    /// Holds the row while its list changes, so that a start in between takes all of it or none.
    static func lockForEditing(_ id: CampaignID) -> SQL {
        "SELECT id FROM campaigns WHERE id = \(id.bits) AND state = ANY(\(states(.edit))) FOR UPDATE"
    }

    static func clearList(_ id: CampaignID) -> SQL {
        "DELETE FROM campaign_list_users WHERE campaign_id = \(id.bits)"
    }

    static func addToList(_ id: CampaignID, _ users: [String]) -> SQL {
        """
        INSERT INTO campaign_list_users (campaign_id, user_id)
        SELECT \(id.bits), user_id FROM unnest(\(users)) AS u(user_id)
        ON CONFLICT DO NOTHING
        """
    }

    static func listSize(_ id: CampaignID) -> SQL {
        "SELECT count(*) AS n FROM campaign_list_users WHERE campaign_id = \(id.bits)"
    }

    /// - Parameter startsAt: when the producer begins.
    static func schedule(_ id: CampaignID, startsAt: Timestamp, localTime: String?, version: Int?) -> SQL {
        """
        UPDATE campaigns SET state = 'scheduled', starts_at = \(startsAt), local_time = \(localTime)::timestamp,
            updated_at = now()
        WHERE id = \(id.bits) AND state = ANY(\(states(.schedule))) AND version = coalesce(\(version), version)
          AND ((audience ->> 'list')::boolean
            OR NOT EXISTS (SELECT FROM campaign_list_users l WHERE l.campaign_id = campaigns.id))
        """
    }

    static let open: SQL = """
        SELECT \(unescaped: columns) FROM campaigns WHERE state IN ('scheduled', 'sending') ORDER BY starts_at LIMIT 20
        """

    /// Whether a chunk that names the user was not handed over yet.
    static func isWaiting(_ id: CampaignID, _ user: UserID) -> SQL {
        """
        SELECT EXISTS (SELECT FROM campaign_chunks WHERE campaign_id = \(id.bits) AND state = 'pending'
            AND \(user.rawValue) = ANY(user_ids)) AS found
        """
    }

    static func unknownZones(_ names: [String]) -> SQL {
        "SELECT name FROM unnest(\(names)) AS n(name) WHERE NOT EXISTS (SELECT FROM time_zones z WHERE z.name = n.name)"
    }

    static func unschedule(_ id: CampaignID) -> SQL {
        """
        UPDATE campaigns SET state = 'draft', starts_at = NULL, local_time = NULL, updated_at = now()
        WHERE id = \(id.bits) AND state = ANY(\(states(.unschedule)))
        """
    }

    static func stop(_ id: CampaignID) -> SQL {
        """
        UPDATE campaigns SET state = 'stopped', updated_at = now(),
            ended_at = CASE state WHEN 'stopped' THEN ended_at ELSE now() END
        WHERE id = \(id.bits) AND state = ANY(\(states(.stop)))
        """
    }

    static func stopChunks(_ id: CampaignID) -> SQL {
        """
        UPDATE campaign_chunks SET state = 'stopped', user_ids = '{}', ended_at = now()
        WHERE campaign_id = \(id.bits) AND state = 'pending'
        """
    }

    static func note(_ id: CampaignID, _ action: String, by credential: String, detail: JSONValue?) -> SQL {
        """
        INSERT INTO campaign_audit (campaign_id, credential, action, detail)
        VALUES (\(id.bits), \(credential), \(action), \(detail))
        """
    }

    static func audit(_ id: CampaignID, limit: Int, offset: Int) -> SQL {
        """
        SELECT counted.total, a.id, a.at, a.credential, a.action, a.detail FROM (
            SELECT count(*) AS total FROM campaign_audit WHERE campaign_id = \(id.bits)
        ) AS counted
        LEFT JOIN LATERAL (
            SELECT id, at, credential, action, detail FROM campaign_audit WHERE campaign_id = \(id.bits)
            ORDER BY id DESC LIMIT \(limit) OFFSET \(offset)
        ) AS a ON true
        ORDER BY a.id DESC
        """
    }

    static func progress(_ id: CampaignID) -> SQL {
        """
        SELECT count(*) AS chunks, coalesce(sum(users), 0)::bigint AS users,
            count(*) FILTER (WHERE state = 'enqueued') AS enqueued_chunks,
            coalesce(sum(users) FILTER (WHERE state = 'enqueued'), 0) AS enqueued,
            coalesce(sum(users) FILTER (WHERE state = 'stopped'), 0) AS stopped,
            min(due_at) FILTER (WHERE state = 'pending') AS next_due
        FROM campaign_chunks WHERE campaign_id = \(id.bits)
        """
    }

    /// How messages ended, by the last word about each. All ids of a campaign begin with its instant, so they are one range of the
    /// index, and nobody else's ids begin so but by chance: those have another category or reference.
    static func outcomes(startedAt: Timestamp) -> SQL {
        """
        SELECT kind, reason, count(*) AS n FROM (
            SELECT DISTINCT ON (message_id) kind, CASE WHEN kind = 'sent' THEN NULL ELSE reason END AS reason
            FROM notification_events
            WHERE message_id >= varsel_uuid_floor(\(startedAt)::timestamptz)
              AND message_id < varsel_uuid_floor(\(startedAt)::timestamptz + interval '1 millisecond')
              AND category = 'campaign' AND at >= \(startedAt)::timestamptz - interval '1 hour'
              AND kind IN ('sent', 'unknown', 'failed', 'expired', 'suppressed', 'cancelled', 'deferred', 'retrying', 'enqueued')
            ORDER BY message_id, kind = 'enqueued', at DESC, id DESC
        ) AS last
        GROUP BY kind, reason ORDER BY n DESC, kind, reason
        """
    }

    static func languages(of users: [UserID]) -> SQL {
        """
        SELECT user_id, language FROM user_notification_preferences WHERE user_id = ANY(\(users.map(\.rawValue)))
        """
    }

    private static func states(_ action: CampaignAction) -> [String] {
        CampaignState.allowing(action).map(\.rawValue)
    }
}
