-- Rights that one process holds at a time, such as deciding for all what is due. They are rows in
-- place of locks of a session, which mean nothing behind a pooler.
CREATE TABLE lease (
    name text PRIMARY KEY,
    holder text NOT NULL,      -- host:process:random
    fence bigint NOT NULL,     -- rises whenever the lease is taken
    renewals bigint NOT NULL,  -- since it was taken
    seconds float8 NOT NULL,   -- that it holds without being renewed
    expires_at timestamptz NOT NULL  -- '-infinity': released
);

-- Whether the holder of a lease lives, by the database's clock. A lease that ends later than it
-- could have been taken for was left by a clock that has been set back.
CREATE FUNCTION lease_holds(expires_at timestamptz, seconds float8) RETURNS boolean
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN expires_at > clock_timestamp()
           AND expires_at <= clock_timestamp() + make_interval(secs => seconds);
