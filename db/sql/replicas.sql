-- How a server and its standbys are compared.

-- name: look
-- `system` is the same for a primary and its standbys only. A position is in bytes of the log: what
-- is on the primary's disk, or what a standby has replayed. `started` tells one server of a system
-- from another.
SELECT system_identifier::text || '/' || pg_database.oid AS system,
       pg_postmaster_start_time()::text AS started,
       pg_is_in_recovery() AS standby,
       CASE WHEN pg_is_in_recovery() THEN 0
            ELSE ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::integer
       END AS timeline,
       coalesce(
           pg_wal_lsn_diff(
               CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                    ELSE pg_current_wal_flush_lsn() END,
               '0/0'
           ),
           0
       )::bigint AS position,
       CASE WHEN pg_is_in_recovery() THEN pg_is_wal_replay_paused() ELSE false END AS paused,
       current_setting('hot_standby_feedback')::boolean AS feedback
  FROM pg_control_system(), pg_database
 WHERE datname = current_database()
