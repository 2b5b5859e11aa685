-- Notifications that were handed in with a time ahead: who may call them back or move them, and under which ids they were and
-- are queued. A notification that is moved gets a new id, because its id carries the moment it is due; "handle" is the first.
CREATE TABLE scheduled_notifications (
    message_id uuid PRIMARY KEY,
    handle uuid NOT NULL,
    credential text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    category text NOT NULL,
    due_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    cancelled_at timestamptz
);
CREATE INDEX scheduled_notifications_handle ON scheduled_notifications (handle);
CREATE INDEX scheduled_notifications_user ON scheduled_notifications (user_id);
CREATE INDEX scheduled_notifications_due ON scheduled_notifications (due_at);

-- Erasures that are not complete: every user is passed over twice, the second time for what was in flight at the first. The row
-- leaves with the second pass.
CREATE TABLE erasures (
    user_id text COLLATE "C" PRIMARY KEY,
    requested_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    passes integer NOT NULL DEFAULT 0
);
CREATE INDEX erasures_due ON erasures (due_at);
