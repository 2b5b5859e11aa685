-- What belongs to a user by the account token alone, without a subscription that is linked: an erasure and an export look for it.
CREATE INDEX app_store_notifications_account ON app_store_notifications ((facts #>> '{transaction,appAccountToken}'))
    WHERE facts #>> '{transaction,appAccountToken}' IS NOT NULL;
CREATE INDEX subscriptions_account ON subscriptions (app_account_token) WHERE user_id IS NULL;

-- The few answers that name users, which an erasure looks through: most are large and name nobody.
CREATE INDEX idempotency_keys_naming ON idempotency_keys (created_at) WHERE strpos(response, '"userId"') > 0
    OR strpos(response, '"usersWithoutToken"') > 0;
