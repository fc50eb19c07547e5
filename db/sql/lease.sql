-- name: look(name)
-- One row, without a holder if nobody ever took the lease. `place` is another one after the server
-- was started again or replaced by its standby, and after the table was restored.
SELECT holder, fence, renewals, coalesce(seconds, 0) AS seconds,
       coalesce(expires_at = '-infinity', true) AS free,
       concat_ws(' ', pg_relation_filenode('lease'), pg_postmaster_start_time()) AS place
  FROM (SELECT) AS one LEFT JOIN lease ON name = $1

-- name: take(name, holder, seconds, seen_holder, seen_fence, seen_renewals)
-- Only if nobody has taken or renewed it since it was looked at.
INSERT INTO lease AS held (name, holder, fence, renewals, seconds, expires_at)
VALUES ($1, $2, nextval('lease_fence'), 0, $3, clock_timestamp() + make_interval(secs => $3))
ON CONFLICT (name) DO UPDATE
   SET holder = excluded.holder, fence = greatest(excluded.fence, held.fence + 1), renewals = 0,
       seconds = excluded.seconds, expires_at = excluded.expires_at
 WHERE held.holder = $4 AND held.fence = $5 AND held.renewals = $6
RETURNING fence

-- name: renew(name, holder, fence)
-- On the disk before it is relied on: others would see a renewal that a crash undid as one that
-- they have waited for long enough. A standby need not have it, for it is another place.
UPDATE lease
   SET renewals = renewals + 1, expires_at = clock_timestamp() + make_interval(secs => seconds)
  FROM set_config('synchronous_commit', 'local', true)
 WHERE name = $1 AND holder = $2 AND fence = $3 AND expires_at > '-infinity'
RETURNING true

-- name: release(name, holder)
UPDATE lease SET expires_at = '-infinity' WHERE name = $1 AND holder = $2

-- name: forget
-- Leases that nobody will ask for again: their names hold the number of a process.
DELETE FROM lease
 WHERE name LIKE 'process %' AND NOT lease_holds(expires_at, seconds)
   AND NOT EXISTS (SELECT FROM turn
                    WHERE turn.state = 'taken' AND 'process ' || turn.process = lease.name)
