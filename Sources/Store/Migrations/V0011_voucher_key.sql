-- The key that this platform's producers vouch for their jobs with: 244 random bits.
ALTER TABLE deployment ADD COLUMN voucher_key text NOT NULL
    DEFAULT replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
