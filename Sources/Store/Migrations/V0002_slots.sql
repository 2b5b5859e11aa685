-- Cancellations of a whole user are found by a hash, so that an erasure leaves no name behind. Statements call this function
-- on both sides; nobody else computes the hash.
CREATE FUNCTION varsel_user_key(user_id text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT encode(sha256(convert_to('varsel:user:' || user_id, 'UTF8')), 'hex')
$$;
UPDATE cancellations SET key = varsel_user_key(key) WHERE scope = 'user';

-- Messages that went out uncounted, whose slots are still to be taken. Nearly always empty. A change of status does not touch
-- the index, because it does not change cap_open.
CREATE INDEX notification_messages_uncounted ON notification_messages (id) WHERE cap_open;
