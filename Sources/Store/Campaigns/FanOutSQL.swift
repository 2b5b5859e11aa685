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
    /// where it has shown it already. Users of unknown zone get it between 12 and 17 o'clock of the default zone, in chunks of their
    /// own. With a pace every chunk is of one zone, so that it can wait for the morning there.
    ///
    /// A pace moves chunks back behind each other: each is due when its users are, and no sooner after any chunk before it than the
    /// users between them take.
    static func freeze(
        _ campaign: Campaign,
        tags: [String]?,
        _ plan: CampaignFanOutStore.FreezePlan,
        at moment: Timestamp
    )
        -> SQL
    {
        let size = plan.chunkSize(pace: campaign.content.pace)
        let secondsForOne = campaign.content.pace.map { 60 / Double($0) } ?? 0
        return """
            WITH audience AS (
                SELECT a.user_id, z.name AS zone, greatest(\(moment), coalesce(
                    \(campaign.localTime)::timestamp AT TIME ZONE coalesce(z.name, \(plan.defaultZone)), \(moment))) AS due
                FROM (\(AudienceSQL.select(campaign.content.audience, of: campaign.id, tags: tags))) AS a
                LEFT JOIN time_zones z ON z.name = a.timezone
            ), timed AS (
                SELECT user_id, zone IS NULL AS is_afternoon,
                    CASE WHEN zone IS NULL THEN varsel_next_within(due, \(plan.defaultZone), time '12:00', time '17:00') ELSE due END AS due,
                    CASE WHEN zone IS NULL THEN \(plan.defaultZone) WHEN \(campaign.content.pace) IS NOT NULL THEN zone END AS zone
                FROM audience
            ), placed AS (
                SELECT *, (row_number() OVER (PARTITION BY due, zone, is_afternoon ORDER BY user_id) - 1) / \(size) AS part
                FROM timed
            ), parts AS (
                SELECT due, zone, is_afternoon, array_agg(user_id ORDER BY user_id) AS user_ids, count(*) AS users,
                    row_number() OVER (ORDER BY due, part, zone, is_afternoon) - 1 AS chunk
                FROM placed GROUP BY due, zone, is_afternoon, part
            ), behind AS (
                SELECT *, (sum(users) OVER (ORDER BY chunk) - users) * \(secondsForOne) * interval '1 second' AS shift
                FROM parts
            )
            INSERT INTO campaign_chunks (campaign_id, chunk, due_at, users, user_ids, zone, is_afternoon)
            SELECT \(campaign.id.bits), chunk, max(due - shift) OVER (ORDER BY chunk) + shift, users, user_ids, zone, is_afternoon
            FROM behind
            """
    }

    static func begin(_ id: CampaignID, at moment: Timestamp) -> SQL {
        """
        UPDATE campaigns SET state = 'sending', started_at = \(moment), updated_at = now(),
            users = (SELECT coalesce(sum(users), 0) FROM campaign_chunks WHERE campaign_id = \(id.bits))
        WHERE id = \(id.bits) RETURNING users::bigint AS users
        """
    }

    /// Chunks whose moment comes within a second and that no producer was told of lately. Telling twice is harmless. Of a campaign
    /// with a pace, only as many of the next as it may hand over in two seconds: the rest of a backlog is left in peace.
    static func handOut(limit: Int, chunkSize: Int) -> SQL {
        """
        UPDATE campaign_chunks SET handed_at = now()
        WHERE (campaign_id, chunk) IN (
            SELECT c.campaign_id, c.chunk FROM campaigns p
            CROSS JOIN LATERAL (
                SELECT n.campaign_id, n.chunk FROM campaign_chunks n
                WHERE n.campaign_id = p.id AND n.state = 'pending' AND n.due_at <= now() + interval '1 second'
                ORDER BY n.due_at, n.chunk
                LIMIT CASE WHEN p.pace IS NOT NULL
                    THEN greatest(1, ceil(p.pace / 30.0 / least(\(chunkSize), greatest(p.pace / 6, 1)))) END
            ) AS next
            JOIN campaign_chunks c ON c.campaign_id = next.campaign_id AND c.chunk = next.chunk
            WHERE p.state = 'sending' AND c.state = 'pending'
              AND (c.handed_at IS NULL OR c.handed_at < now() - interval '10 seconds')
            ORDER BY c.due_at, c.chunk LIMIT \(limit) FOR UPDATE OF c SKIP LOCKED
        )
        RETURNING campaign_id, chunk::bigint AS chunk
        """
    }

    /// A chunk without its users, and when it may be handed over: now, or at the next opening of its hours.
    static func chunk(_ id: CampaignID, _ chunk: Int, _ window: DeliveryWindow) -> SQL {
        """
        SELECT \(unescaped: CampaignSQL.columns), due_at, chunk_users::bigint AS chunk_users,
            CASE WHEN opens_at > now() THEN opens_at END AS opens_at
        FROM campaigns JOIN (
            SELECT campaign_id, due_at, users AS chunk_users, CASE
                WHEN is_afternoon THEN varsel_next_within(now(), zone, time '12:00', time '17:00')
                WHEN zone IS NOT NULL THEN varsel_next_within(now(), zone, make_time(\(window.opens)::int / 60, \(window.opens)::int % 60, 0),
                    make_time(\(window.closes)::int / 60, \(window.closes)::int % 60, 0))
            END AS opens_at
            FROM campaign_chunks WHERE campaign_id = \(id.bits) AND chunk = \(chunk) AND state = 'pending'
        ) AS c ON c.campaign_id = id
        WHERE state = 'sending'
        """
    }

    /// Puts a chunk off until its hours come.
    static func postpone(_ id: CampaignID, _ chunk: Int, until moment: Timestamp) -> SQL {
        """
        UPDATE campaign_chunks SET due_at = \(moment), handed_at = NULL
        WHERE campaign_id = \(id.bits) AND chunk = \(chunk) AND state = 'pending'
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
