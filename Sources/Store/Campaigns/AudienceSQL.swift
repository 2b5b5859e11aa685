import Kernel
import Notifications
import PostgresClient

/// Whom an audience names.
enum AudienceSQL {
    /// Users as `user_id, timezone, language, granted, switch`. Those of a list are in it even without a device, so that each has an
    /// answer to why nothing came; others must have one that can be reached.
    /// - Parameter tags: the language tags that count as the audience's languages, `nil` for all.
    static func select(_ audience: CampaignAudience, of id: CampaignID, tags: [String]?) -> SQL {
        let source: SQL =
            audience.usesList
            ? """
            (SELECT user_id FROM campaign_list_users WHERE campaign_id = \(id.bits)) AS l
            LEFT JOIN user_notification_preferences p USING (user_id)
            """
            : "user_notification_preferences p"
        return """
            SELECT user_id, p.timezone, p.language, coalesce(p.ios_permission_status = 'granted', false) AS granted,
                p.categories -> 'campaign' ->> 'enabled' AS switch
            FROM \(source) WHERE true\(conditions(audience, tags: tags))
            """
    }

    /// Whether an audience holds a user.
    static func contains(_ user: UserID, _ audience: CampaignAudience, of id: CampaignID, tags: [String]?) -> SQL {
        """
        SELECT EXISTS (SELECT FROM (\(select(audience, of: id, tags: tags))) AS audience
            WHERE user_id = \(user.rawValue)) AS found
        """
    }

    private static func conditions(_ audience: CampaignAudience, tags: [String]?) -> SQL {
        var all: SQL = ""
        if let tags { all = "\(all) AND coalesce(p.language, '') = ANY(\(tags))" }
        if let zones = audience.zones { all = "\(all) AND p.timezone = ANY(\(zones))" }
        if audience.platforms != nil || !audience.usesList {
            let platform: SQL =
                audience.platforms.map { " AND lower(d.platform) = ANY(\($0.map { $0.lowercased() }))" } ?? ""
            all = """
                \(all) AND EXISTS (
                    SELECT FROM devices d WHERE d.user_id = p.user_id AND d.token IS NOT NULL AND d.invalidated_at IS NULL
                      AND d.permission_status IN ('granted', 'provisional', 'ephemeral')\(platform))
                """
        }
        if let days = audience.activeWithinDays {
            all = """
                \(all) AND EXISTS (SELECT FROM user_activity a WHERE a.user_id = p.user_id
                    AND a.last_activity_at >= now() - make_interval(days => \(days)::int))
                """
        }
        if let days = audience.inactiveForDays {
            all = """
                \(all) AND EXISTS (SELECT FROM user_activity a WHERE a.user_id = p.user_id
                    AND a.last_activity_at < now() - make_interval(days => \(days)::int))
                """
        }
        return all
    }

    /// Every language tag that users have; an empty one for none.
    static let tags: SQL = "SELECT DISTINCT coalesce(language, '') AS tag FROM user_notification_preferences"

    /// How many users an audience has, by language tag.
    static func counts(_ audience: CampaignAudience, of id: CampaignID, tags: [String]?, isOnByDefault: Bool) -> SQL {
        """
        SELECT coalesce(language, '') AS tag, count(*) AS users,
            count(*) FILTER (WHERE granted AND coalesce(switch, \(String(isOnByDefault))) = 'true') AS reachable,
            count(*) FILTER (WHERE NOT EXISTS (SELECT FROM time_zones z WHERE z.name = timezone)) AS without_zone
        FROM (\(select(audience, of: id, tags: tags))) AS audience
        GROUP BY 1 ORDER BY 2 DESC, 1
        """
    }
}
