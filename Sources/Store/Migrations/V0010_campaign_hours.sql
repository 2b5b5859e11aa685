-- A chunk that is to be handed over within certain hours of one zone: those of users of unknown zone in the afternoon, those of a
-- campaign with a pace in the campaigns' window. Without a zone, its users live in several, and the engine waits for each of them.
ALTER TABLE campaign_chunks ADD COLUMN zone text, ADD COLUMN is_afternoon boolean NOT NULL DEFAULT false;

-- The next chunks of a campaign, in their order.
DROP INDEX campaign_chunks_pending;
CREATE INDEX campaign_chunks_pending ON campaign_chunks (campaign_id, due_at, chunk) WHERE state = 'pending';

-- The moment itself where the wall in a zone shows a time between opening and closing, else the next opening there.
CREATE FUNCTION varsel_next_within(moment timestamptz, zone text, opens time, closes time) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN (moment AT TIME ZONE zone)::time >= closes THEN ((moment AT TIME ZONE zone)::date + 1 + opens) AT TIME ZONE zone
        WHEN (moment AT TIME ZONE zone)::time < opens THEN ((moment AT TIME ZONE zone)::date + opens) AT TIME ZONE zone
        ELSE moment
    END
$$;
DROP FUNCTION varsel_afternoon(timestamptz, text);
