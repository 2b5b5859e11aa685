-- The tables of the first slice: who may be reached, what was sent, and why. Ids compare byte by byte (COLLATE "C"), because
-- the comparison rules of a language cost several times as much and mean nothing for them.
-- Every statement must be safe while older processes run.

-- One database serves one queue; a worker with another (prefix, queue) refuses to start.
CREATE TABLE deployment (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    queue_prefix text NOT NULL,
    queue_name text NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now()
);

-- Zone names the server itself knows: IANA ids and their links, no abbreviations. Zones of users come by join,
-- so that one unknown name cannot fail a statement for a group.
CREATE TABLE time_zones (
    name text COLLATE "C" PRIMARY KEY
);
INSERT INTO time_zones (name)
SELECT name FROM pg_timezone_names
WHERE name NOT LIKE 'posix/%' AND name NOT LIKE 'right/%' AND name NOT IN ('localtime', 'posixrules', 'Factory')
  AND (name LIKE '%/%' OR name IN ('UTC', 'GMT'))
ON CONFLICT DO NOTHING;

-- fillfactor leaves room on the page, and no index covers categories, so that lastSentAt updates stay HOT.
CREATE TABLE user_notification_preferences (
    user_id text COLLATE "C" PRIMARY KEY CHECK (length(user_id) BETWEEN 1 AND 128),
    ios_permission_status text NOT NULL DEFAULT 'notDetermined',
    categories jsonb NOT NULL DEFAULT '{}'::jsonb,
    timezone text COLLATE "C",
    language text,
    silence_until timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 80);

-- token is NULL while a device has none (permission denied, or only time zone and Live Activity fields are known).
-- user_id is NULL for a device that registered without signing in.
CREATE TABLE devices (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id text COLLATE "C",
    device_id text COLLATE "C",
    provider text COLLATE "C" NOT NULL CHECK (provider IN ('apns', 'fcm')),
    platform text NOT NULL,
    token text COLLATE "C",
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    topic text COLLATE "C" NOT NULL,
    permission_status text NOT NULL
        CHECK (permission_status IN ('granted', 'provisional', 'ephemeral', 'denied', 'notDetermined')),
    timezone text COLLATE "C",
    push_to_start_token text,
    registered_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    invalidated_at timestamptz,
    invalid_reason text
);
CREATE UNIQUE INDEX devices_user_device ON devices (user_id, device_id) WHERE user_id IS NOT NULL;
-- A token may be longer than an index entry can be.
CREATE UNIQUE INDEX devices_token ON devices (provider, md5(token), topic, environment) WHERE token IS NOT NULL;
CREATE INDEX devices_anonymous ON devices (registered_at) WHERE user_id IS NULL;

-- Gate 0: what was called back. A job created before "before" ends as cancelled.
CREATE TABLE cancellations (
    scope text COLLATE "C" NOT NULL CHECK (scope IN ('user', 'source', 'message')),
    key text COLLATE "C" NOT NULL,
    before timestamptz NOT NULL,
    reason text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (scope, key)
);

-- One row per message that passed the gates. The id is a UUIDv7, so inserts append and partitions prune by id.
-- Every row is changed once, moments after it was written, when devices have answered. Its partitions are filled to less than
-- one half, so that the new version finds room on the same page and no index is touched (HOT).
-- deliveries: device row id -> {"s": accepted|dead|retry|unknown, "n": attempts, "r": reason}
CREATE TABLE notification_messages (
    id uuid NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    category text NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    deeplink_url text NOT NULL,
    metadata jsonb,
    source_entity_id text,
    batch_ref text,
    language text,
    job_id text NOT NULL,
    status text COLLATE "C" NOT NULL
        CHECK (status IN ('pending', 'sent', 'unknown', 'failed', 'expired', 'suppressed', 'cancelled')),
    reason text,
    week_key text,
    cap_open boolean NOT NULL DEFAULT false,
    deliveries jsonb NOT NULL DEFAULT '{}'::jsonb,
    enqueued_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    sent_at timestamptz,
    read_at timestamptz,
    PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE INDEX notification_messages_inbox ON notification_messages (user_id, id DESC);
-- For the search for rows that stayed pending. Not a partial index on status: a change of status would then rewrite every index
-- of the row. A block range index costs nothing, because rows are appended in the order of their creation.
CREATE INDEX notification_messages_created ON notification_messages USING brin (created_at);

-- Append-only: every outcome, so that nothing disappears silently.
CREATE TABLE notification_events (
    id bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL,
    message_id uuid NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    job_id text NOT NULL,
    ats integer NOT NULL,
    attempt integer NOT NULL,
    kind text NOT NULL,
    category text,
    gate text,
    reason text,
    device text,
    detail jsonb
) PARTITION BY RANGE (at);
CREATE INDEX notification_events_message ON notification_events (message_id);
CREATE INDEX notification_events_user ON notification_events (user_id, at DESC);

-- Idempotency-Key of the gateway: inserted before anything is enqueued, so that a repeat reuses its message ids.
CREATE TABLE idempotency_keys (
    credential text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fingerprint text NOT NULL,
    message_ids uuid[] NOT NULL,
    state text NOT NULL CHECK (state IN ('running', 'done')),
    status integer,
    response text,
    created_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (credential, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- The first UUIDv7 of a moment: 48 bits of milliseconds, then zeros.
CREATE FUNCTION varsel_uuid_floor(moment timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
$$;

-- Makes the monthly partitions of messages and events from one month back to the given number of months ahead (UTC months).
CREATE FUNCTION varsel_ensure_partitions(months_ahead integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    month timestamptz;
    following timestamptz;
    suffix text;
    made integer := 0;
BEGIN
    FOR step IN -1..months_ahead LOOP
        month := (date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => step)) AT TIME ZONE 'UTC';
        following := (date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => step + 1)) AT TIME ZONE 'UTC';
        suffix := to_char(month AT TIME ZONE 'UTC', 'YYYY_MM');
        IF to_regclass('notification_messages_' || suffix) IS NULL THEN
            EXECUTE format('CREATE TABLE %I PARTITION OF notification_messages FOR VALUES FROM (%L) TO (%L) WITH (fillfactor = 45)',
                'notification_messages_' || suffix, varsel_uuid_floor(month), varsel_uuid_floor(following));
            made := made + 1;
        END IF;
        IF to_regclass('notification_events_' || suffix) IS NULL THEN
            EXECUTE format('CREATE TABLE %I PARTITION OF notification_events FOR VALUES FROM (%L) TO (%L)',
                'notification_events_' || suffix, month, following);
            made := made + 1;
        END IF;
    END LOOP;
    RETURN made;
END
$$;
SELECT varsel_ensure_partitions(4);
