-- The numbers of leases rise, also where a lease was deleted and is taken again.
CREATE SEQUENCE lease_fence;
SELECT setval('lease_fence', (SELECT coalesce(max(fence), 0) + 1 FROM lease), false);

-- Whoever looks for a lease that was deleted takes it at once, while its holder still relies on it.
CREATE FUNCTION keep_held_leases() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    held lease;
BEGIN
    IF TG_OP = 'DELETE' THEN
        held := OLD;
    ELSE
        SELECT * INTO held FROM lease WHERE lease_holds(expires_at, seconds) LIMIT 1;
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
    END IF;
    RAISE EXCEPTION 'the lease "%" is held by %', held.name, held.holder
          USING HINT = 'It ends by itself soon after its process.';
END
$$;

CREATE TRIGGER keep_held BEFORE DELETE ON lease
   FOR EACH ROW WHEN (lease_holds(OLD.expires_at, OLD.seconds))
       EXECUTE FUNCTION keep_held_leases();

CREATE TRIGGER keep_all_held BEFORE TRUNCATE ON lease
   FOR EACH STATEMENT EXECUTE FUNCTION keep_held_leases();
