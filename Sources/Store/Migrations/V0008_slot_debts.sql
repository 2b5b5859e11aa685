-- Weekly slots that are to be freed and could not be, because the caps did not answer. A worker settles them when they do; before
-- a message takes a slot anew, its debt of that week is forgotten. Nearly always empty.
CREATE TABLE slot_debts (
    message_id uuid NOT NULL,
    week_key text NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    category text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (message_id, week_key)
);
CREATE INDEX slot_debts_created ON slot_debts (created_at);
