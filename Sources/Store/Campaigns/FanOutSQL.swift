import Kernel
import Notifications
import PostgresClient

/// The statements of the campaign producer.
enum FanOutSQL {
    static let due: SQL = """
        SELECT id FROM campaigns WHERE state = 'scheduled' AND starts_at <= now() ORDER BY starts_at LIMIT 10
        """

    /// Takes a campaign to begin it. Another producer that is about to holds the row, and is left alone.
    static func takeDue(_ id: CampaignID) -> SQL {
        """
        SELECT \(unescaped: CampaignSQL.columns) FROM campaigns
        WHERE id = \(id.bits) AND state = 'scheduled' AND starts_at <= now() FOR UPDATE SKIP LOCKED
        """
    }

    /// A moment that no other campaign started at.
    static let startInstant: SQL = """
        SELECT greatest(date_trunc('milliseconds', clock_timestamp()),
            (SELECT max(started_at) + interval '1 millisecond' FROM campaigns)) AS at
        """

    /// Fixes who gets it and when: everybody at the given moment, or when the wall in their zone shows the local time, and at once
    /// where it has shown it already. Users of unknown zone get it between 12 and 17 o'clock of the default zone.
    ///
    /// A pace moves chunks back behind each other: chunk n is due when its users are, and no sooner than n - m chunks after any
    /// chunk m before it.
    static func freeze(
        _ campaign: Campaign,
        tags: [String]?,
        _ plan: CampaignFanOutStore.FreezePlan,
        at moment: Timestamp
    )
        -> SQL
    {
        let size = plan.chunkSize(pace: campaign.content.pace)
        let step = campaign.content.pace.map { Double(size) * 60 / Double($0) } ?? 0
        return """
            WITH audience AS (
                SELECT a.user_id, z.name AS zone, greatest(\(moment), coalesce(
                    \(campaign.localTime)::timestamp AT TIME ZONE coalesce(z.name, \(plan.defaultZone)), \(moment))) AS due
                FROM (\(AudienceSQL.select(campaign.content.audience, of: campaign.id, tags: tags))) AS a
                LEFT JOIN time_zones z ON z.name = a.timezone
            ), timed AS (
                SELECT user_id, CASE WHEN zone IS NULL THEN varsel_afternoon(due, \(plan.defaultZone)) ELSE due END AS due
                FROM audience
            ), placed AS (
                SELECT user_id, due, (row_number() OVER (PARTITION BY due ORDER BY user_id) - 1) / \(size) AS part FROM timed
            ), parts AS (
                SELECT due, array_agg(user_id ORDER BY user_id) AS user_ids, row_number() OVER (ORDER BY due, part) - 1 AS chunk
                FROM placed GROUP BY due, part
            )
            INSERT INTO campaign_chunks (campaign_id, chunk, due_at, users, user_ids)
            SELECT \(campaign.id.bits), chunk,
                max(due - chunk * \(step) * interval '1 second') OVER (ORDER BY chunk) + chunk * \(step) * interval '1 second',
                cardinality(user_ids), user_ids
            FROM parts
            """
    }

    static func begin(_ id: CampaignID, at moment: Timestamp) -> SQL {
        """
        UPDATE campaigns SET state = 'sending', started_at = \(moment), updated_at = now(),
            users = (SELECT coalesce(sum(users), 0) FROM campaign_chunks WHERE campaign_id = \(id.bits))
        WHERE id = \(id.bits) RETURNING users::bigint AS users
        """
    }

    /// Chunks whose moment comes within a second and that no producer was told of lately. Telling twice is harmless.
    static func handOut(limit: Int) -> SQL {
        """
        UPDATE campaign_chunks SET handed_at = now()
        WHERE (campaign_id, chunk) IN (
            SELECT c.campaign_id, c.chunk FROM campaign_chunks c
            JOIN campaigns p ON p.id = c.campaign_id AND p.state = 'sending'
            WHERE c.state = 'pending' AND c.due_at <= now() + interval '1 second'
              AND (c.handed_at IS NULL OR c.handed_at < now() - interval '10 seconds')
            ORDER BY c.due_at, c.chunk LIMIT \(limit) FOR UPDATE OF c SKIP LOCKED
        )
        RETURNING campaign_id, chunk::bigint AS chunk
        """
    }

    static func chunk(_ id: CampaignID, _ chunk: Int) -> SQL {
        """
        SELECT \(unescaped: CampaignSQL.columns), due_at
        FROM campaigns JOIN (
            SELECT campaign_id, due_at FROM campaign_chunks
            WHERE campaign_id = \(id.bits) AND chunk = \(chunk) AND state = 'pending'
        ) AS c ON c.campaign_id = id
        WHERE state = 'sending'
        """
    }

    static func recipients(_ id: CampaignID, _ chunk: Int) -> SQL {
        """
        SELECT user_id, p.language
        FROM (
            SELECT u.user_id, u.place FROM campaign_chunks c, unnest(c.user_ids) WITH ORDINALITY AS u(user_id, place)
            WHERE c.campaign_id = \(id.bits) AND c.chunk = \(chunk) AND c.state = 'pending'
        ) AS u
        LEFT JOIN user_notification_preferences p USING (user_id) ORDER BY u.place
        """
    }

    /// Takes the next place of a campaign with a pace, for a backlog: chunks are due one after another anyway.
    static func takePlace(_ id: CampaignID, for duration: Duration) -> SQL {
        """
        UPDATE campaigns SET paced_until = now() + \(duration.milliseconds) * interval '1 millisecond'
        WHERE id = \(id.bits) AND (paced_until IS NULL OR paced_until <= now())
        """
    }

    static func pacedUntil(_ id: CampaignID) -> SQL {
        "SELECT paced_until FROM campaigns WHERE id = \(id.bits)"
    }

    /// A chunk's users were handed to the queue; their names are needed no longer.
    static func finishChunk(_ id: CampaignID, _ chunk: Int) -> SQL {
        """
        UPDATE campaign_chunks SET state = 'enqueued', user_ids = '{}', ended_at = now()
        WHERE campaign_id = \(id.bits) AND chunk = \(chunk) AND state = 'pending'
        """
    }

    static let finish: SQL = """
        WITH ended AS (
            UPDATE campaigns p SET state = 'sent', ended_at = now(), updated_at = now()
            WHERE p.state = 'sending'
              AND NOT EXISTS (SELECT FROM campaign_chunks c WHERE c.campaign_id = p.id AND c.state = 'pending')
            RETURNING p.id, p.users
        ), noted AS (
            INSERT INTO campaign_audit (campaign_id, credential, action, detail)
            SELECT id, 'campaign-producer', 'finish', jsonb_build_object('users', users) FROM ended
        )
        SELECT id FROM ended
        """
}
