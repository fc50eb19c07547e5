-- Who had a model asked, the calls that are under way, and what turns addresses into voters.

-- Of calls before, nobody knows.
ALTER TABLE model_call ADD COLUMN source text NOT NULL DEFAULT 'console';

-- A call counts as what it may come to until it is recorded, or until its process must be gone.
CREATE TABLE model_call_under_way (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source text NOT NULL,
    tokens integer NOT NULL,
    cost_usd double precision NOT NULL,
    expires_at timestamptz NOT NULL
);

-- Votes of the page name a hash of an address with the key of their day. The key goes when the day
-- is over: from then on nobody can tell whose address it was.
CREATE TABLE voting_key (
    day date PRIMARY KEY,  -- UTC
    key bytea NOT NULL
);
