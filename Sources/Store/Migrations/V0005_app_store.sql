-- Subscriptions as the App Store tells of them (P6, P7). Production and sandbox share tables and never a row.

-- The outbox of the webhook: a notification stands here before Apple is answered, and is handed on until it is settled.
-- facts: the claims that matter, verified at the door. signed_payload: the original, which can be verified again by its date.
CREATE TABLE app_store_notifications (
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    notification_uuid uuid NOT NULL,
    notification_type text NOT NULL,
    subtype text,
    original_transaction_id text COLLATE "C",
    signed_at timestamptz NOT NULL,
    facts jsonb NOT NULL,
    signed_payload text NOT NULL,
    state text COLLATE "C" NOT NULL DEFAULT 'received' CHECK (state IN ('received', 'done', 'unlinked', 'failed')),
    outcome text,
    event text,
    message_id uuid,
    received_at timestamptz NOT NULL DEFAULT now(),
    -- When it was last put on the queue.
    queued_at timestamptz NOT NULL DEFAULT now(),
    settled_at timestamptz,
    PRIMARY KEY (environment, notification_uuid)
);
CREATE INDEX app_store_notifications_open ON app_store_notifications (queued_at) WHERE state = 'received';
CREATE INDEX app_store_notifications_subscription
    ON app_store_notifications (environment, original_transaction_id, signed_at);
CREATE INDEX app_store_notifications_age ON app_store_notifications USING brin (received_at);

-- Written by the lifecycle producer alone, under a lock of the row. Fields of the transaction, of the renewal information and of
-- the event are each as of a date of their own, because an older notification may come later.
-- announced: event -> end of the period (milliseconds) for which it was said, so that nothing is said twice.
CREATE TABLE subscriptions (
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    original_transaction_id text COLLATE "C" NOT NULL CHECK (length(original_transaction_id) BETWEEN 1 AND 60),
    user_id text COLLATE "C",
    app_account_token uuid,
    product_id text,
    next_product_id text,
    subscription_group text,
    is_family_shared boolean NOT NULL DEFAULT false,
    status smallint,
    auto_renews boolean,
    expires_at timestamptz,
    grace_expires_at timestamptz,
    commitment_expires_at timestamptz,
    revoked_at timestamptz,
    transaction_signed_at timestamptz,
    renewal_signed_at timestamptz,
    event_signed_at timestamptz,
    announced jsonb NOT NULL DEFAULT '{}'::jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (environment, original_transaction_id)
);
CREATE INDEX subscriptions_user ON subscriptions (user_id) WHERE user_id IS NOT NULL;
-- What the notice three days before the end looks through.
CREATE INDEX subscriptions_expiring ON subscriptions (expires_at)
    WHERE environment = 'production' AND auto_renews = false AND user_id IS NOT NULL;

-- A user's claim to a subscription, verified at the door and decided by the lifecycle producer.
CREATE TABLE subscription_links (
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    original_transaction_id text COLLATE "C" NOT NULL CHECK (length(original_transaction_id) BETWEEN 1 AND 60),
    user_id text COLLATE "C" NOT NULL,
    transaction jsonb NOT NULL,
    state text COLLATE "C" NOT NULL DEFAULT 'received' CHECK (state IN ('received', 'done', 'refused')),
    received_at timestamptz NOT NULL DEFAULT now(),
    queued_at timestamptz NOT NULL DEFAULT now(),
    settled_at timestamptz,
    PRIMARY KEY (environment, original_transaction_id, user_id)
);
CREATE INDEX subscription_links_open ON subscription_links (queued_at) WHERE state = 'received';
CREATE INDEX subscription_links_user ON subscription_links (user_id);
