-- Live Activities and calls: tokens beside the one for notifications.

-- One running activity on one device, with the token that reaches it. A stream is what it shows (an order, a match). Rows leave
-- when the app says so, when the activity was ended, when Apple calls the token dead, or by age.
CREATE TABLE live_activity_sessions (
    stream_id text COLLATE "C" NOT NULL CHECK (length(stream_id) BETWEEN 1 AND 128),
    user_id text COLLATE "C" NOT NULL CHECK (length(user_id) BETWEEN 1 AND 128),
    device_id text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    topic text COLLATE "C" NOT NULL,
    activity_id text,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- When the app last told us the token.
    registered_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (stream_id, user_id, device_id)
);
CREATE INDEX live_activity_sessions_user ON live_activity_sessions (user_id, registered_at);
CREATE INDEX live_activity_sessions_age ON live_activity_sessions (registered_at);
-- A token reaches one activity on one device. It may be longer than an index entry can be.
CREATE UNIQUE INDEX live_activity_sessions_token ON live_activity_sessions (md5(token), environment);

-- When the push-to-start token was told; NULL for one from before this column: then registered_at counts.
ALTER TABLE devices ADD COLUMN push_to_start_registered_at timestamptz;
-- The PushKit token, which calls go to.
ALTER TABLE devices ADD COLUMN voip_token text;
ALTER TABLE devices ADD COLUMN voip_registered_at timestamptz;
CREATE INDEX devices_push_to_start ON devices (md5(push_to_start_token)) WHERE push_to_start_token IS NOT NULL;
CREATE INDEX devices_voip ON devices (md5(voip_token)) WHERE voip_token IS NOT NULL;
