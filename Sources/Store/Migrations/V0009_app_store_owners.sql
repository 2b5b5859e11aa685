-- What belongs to a user by the account token alone, without a subscription that is linked: an erasure and an export look for it.
CREATE INDEX app_store_notifications_account ON app_store_notifications ((facts #>> '{transaction,appAccountToken}'))
    WHERE facts #>> '{transaction,appAccountToken}' IS NOT NULL;
CREATE INDEX subscriptions_account ON subscriptions (app_account_token) WHERE user_id IS NULL;
