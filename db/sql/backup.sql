-- Statements about backups: before they are taken, and on the database that a restore fills.

-- name: set_up
SELECT to_regclass('migration') IS NOT NULL

-- name: size
SELECT pg_database_size(current_database())

-- name: queue_upgrade
-- Until the session ends.
SET statement_timeout = 0;
SELECT pg_advisory_lock(7426190515)

-- name: hold_placed
-- Has writers wait, as a snapshot of this server holds nothing of workers. Tables of older versions
-- have no such column.
SET LOCAL idle_in_transaction_session_timeout = 0;
SELECT id FROM corpus c WHERE to_jsonb(c) ->> 'placed_postings' IS NOT NULL ORDER BY id FOR SHARE

-- name: corpora
SELECT id, name FROM corpus ORDER BY name

-- name: count(corpus_id)
-- What is stored, from the table itself, and what was counted whenever it changed.
WITH whole AS (SELECT count(text) AS stored FROM {document})
SELECT stored, documents FROM whole, corpus WHERE id = $1

-- name: holds
-- Whether the database holds more than extensions.
SELECT EXISTS (
    SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend
                        WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')
)

-- name: is_superuser
SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user

-- name: make_role
CREATE ROLE {role} LOGIN PASSWORD '{password}';
DO $grant$ BEGIN
    EXECUTE format('GRANT CONNECT, CREATE ON DATABASE %I TO {role}', current_database());
    EXECUTE format('GRANT ALL ON SCHEMA %I TO {role}', current_schema());
END $grant$

-- name: drop_role
REASSIGN OWNED BY {role} TO CURRENT_USER;
DROP OWNED BY {role};
DROP ROLE {role}

-- name: bring_here
-- Of a corpus on a worker, the backup holds tables by themselves.
UPDATE corpus
   SET postings_to = CASE WHEN placed_postings THEN 9223372036854775807 END, placed_postings = NULL
 WHERE placed_postings IS NOT NULL
RETURNING id, name

-- name: attach
ALTER TABLE document ATTACH PARTITION {document} FOR VALUES IN ({corpus})
