-- When users were last active, and which reminder each of them got in which week.

-- timezone is a copy of the preferences', so that one index finds the users of a zone who have been away for a while. Triggers
-- keep it, and `varselctl maintain` mends what a race left behind.
CREATE TABLE user_activity (
    user_id text COLLATE "C" PRIMARY KEY CHECK (length(user_id) BETWEEN 1 AND 128),
    -- Whole milliseconds, so that a sweep in chunks can go on exactly where it stopped.
    last_activity_at timestamptz(3) NOT NULL,
    timezone text COLLATE "C"
);
CREATE INDEX user_activity_sweep ON user_activity (timezone, last_activity_at, user_id) WHERE timezone IS NOT NULL;

-- A zone changes rarely, so this runs for the one row; changes of other columns do not fire it.
CREATE FUNCTION varsel_copy_zone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE user_activity SET timezone = NEW.timezone
    WHERE user_id = NEW.user_id AND timezone IS DISTINCT FROM NEW.timezone;
    RETURN NULL;
END
$$;
CREATE TRIGGER user_zone_changed AFTER UPDATE OF timezone ON user_notification_preferences
    FOR EACH ROW WHEN (OLD.timezone IS DISTINCT FROM NEW.timezone) EXECUTE FUNCTION varsel_copy_zone();

-- New preferences come one by one or by the million; one statement for all of them.
CREATE FUNCTION varsel_copy_new_zones() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE user_activity a SET timezone = p.timezone FROM made p
    WHERE a.user_id = p.user_id AND a.timezone IS DISTINCT FROM p.timezone;
    RETURN NULL;
END
$$;
CREATE TRIGGER user_zone_made AFTER INSERT ON user_notification_preferences
    REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION varsel_copy_new_zones();

-- At most one reminder a user and ISO week. A row is claimed, then its message is enqueued, then it is marked so. Every row is
-- changed once, soon after it was written: pages are filled to one half, and no index covers what changes, so that the change
-- stays HOT. (A partial index over state would undo that.)
CREATE TABLE reminder_weeks (
    user_id text COLLATE "C" NOT NULL,
    week_key text COLLATE "C" NOT NULL,
    message_id uuid NOT NULL,
    step smallint NOT NULL,
    state text COLLATE "C" NOT NULL CHECK (state IN ('claimed', 'enqueued')),
    claimed_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, week_key)
) WITH (fillfactor = 50);
-- For rows left behind by a run that died, and for dropping old weeks: rows are appended in the order of their claim.
CREATE INDEX reminder_weeks_claimed ON reminder_weeks USING brin (claimed_at) WITH (pages_per_range = 16, autosummarize = on);

-- Messages that nobody saw, so that their producer may decide anew. Few events are of this kind.
CREATE INDEX notification_events_expired ON notification_events (at) WHERE kind = 'expired';
