-- name: look(name)
SELECT fence, renewals, expires_at = '-infinity' AS released FROM lease WHERE name = $1

-- name: take(name, holder, seconds, fence, renewals)
-- Only if nobody has taken or renewed it since it was looked at.
INSERT INTO lease AS held (name, holder, fence, renewals, seconds, expires_at)
VALUES ($1, $2, 1, 0, $3, clock_timestamp() + make_interval(secs => $3))
ON CONFLICT (name) DO UPDATE
   SET holder = excluded.holder, fence = held.fence + 1, renewals = 0,
       seconds = excluded.seconds, expires_at = excluded.expires_at
 WHERE held.fence = $4 AND held.renewals = $5
RETURNING fence

-- name: renew(name, fence, holder)
-- A renewal that a crash of the server loses lets the lease end earlier, which does no harm.
UPDATE lease
   SET renewals = renewals + 1, expires_at = clock_timestamp() + make_interval(secs => seconds)
  FROM set_config('synchronous_commit', 'off', true)
 WHERE name = $1 AND fence = $2 AND holder = $3
RETURNING true

-- name: release(name, fence, holder)
UPDATE lease SET expires_at = '-infinity' WHERE name = $1 AND fence = $2 AND holder = $3

-- name: forget
-- Leases that nobody will ask for again: their names hold the number of a process.
DELETE FROM lease
 WHERE name LIKE 'process %' AND NOT lease_holds(expires_at, seconds)
   AND NOT EXISTS (SELECT FROM turn
                    WHERE turn.state = 'taken' AND 'process ' || turn.process = lease.name)
