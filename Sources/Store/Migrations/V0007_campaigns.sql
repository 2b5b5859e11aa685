-- Campaigns: what an operator sends by hand, to whom, and how far it has come.

-- started_at is the instant of all message ids of a campaign, so no two campaigns have the same one: its messages and events are a
-- range of ids.
CREATE TABLE campaigns (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    state text COLLATE "C" NOT NULL DEFAULT 'draft'
        CHECK (state IN ('draft', 'scheduled', 'sending', 'sent', 'stopped')),
    version integer NOT NULL DEFAULT 1,
    texts jsonb NOT NULL,
    deeplink_url text,
    audience jsonb NOT NULL,
    -- Users a minute; NULL for no limit.
    pace integer CHECK (pace > 0),
    starts_at timestamptz,
    -- The wall clock's time in each zone; NULL for one moment everywhere.
    local_time timestamp,
    started_at timestamptz(3),
    paced_until timestamptz,
    ended_at timestamptz,
    users integer,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX campaigns_started ON campaigns (started_at) WHERE started_at IS NOT NULL;
CREATE INDEX campaigns_open ON campaigns (starts_at) WHERE state IN ('scheduled', 'sending');

-- An uploaded list. It leaves when the audience is frozen.
CREATE TABLE campaign_list_users (
    campaign_id uuid NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    user_id text COLLATE "C" NOT NULL CHECK (length(user_id) BETWEEN 1 AND 128),
    PRIMARY KEY (campaign_id, user_id)
);
CREATE INDEX campaign_list_users_user ON campaign_list_users (user_id);

-- The frozen audience. Names leave a chunk when it is enqueued or called off.
CREATE TABLE campaign_chunks (
    campaign_id uuid NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    chunk integer NOT NULL,
    due_at timestamptz NOT NULL,
    users integer NOT NULL,
    user_ids text[] NOT NULL,
    state text COLLATE "C" NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'enqueued', 'stopped')),
    -- When a producer was last told to see to it.
    handed_at timestamptz,
    ended_at timestamptz,
    PRIMARY KEY (campaign_id, chunk)
);
CREATE INDEX campaign_chunks_pending ON campaign_chunks (due_at) WHERE state = 'pending';

-- Who changed what, and when.
CREATE TABLE campaign_audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    campaign_id uuid NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    credential text NOT NULL,
    action text NOT NULL,
    detail jsonb
);
CREATE INDEX campaign_audit_campaign ON campaign_audit (campaign_id, id DESC);

-- A test send is a message like any other, but nothing for the inbox.
ALTER TABLE notification_messages ADD COLUMN is_test boolean NOT NULL DEFAULT false;

-- The moment itself where the wall in a zone shows 12 to 17 o'clock, else the next noon there: for users whose zone is not known.
CREATE FUNCTION varsel_afternoon(moment timestamptz, zone text) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN (moment AT TIME ZONE zone)::time >= time '17:00'
            THEN ((moment AT TIME ZONE zone)::date + 1 + time '12:00') AT TIME ZONE zone
        WHEN (moment AT TIME ZONE zone)::time < time '12:00'
            THEN ((moment AT TIME ZONE zone)::date + time '12:00') AT TIME ZONE zone
        ELSE moment
    END
$$;
