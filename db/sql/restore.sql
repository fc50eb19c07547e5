-- Statements about backups, and those that a restore runs on the database that it fills. {names}
-- stands for an array of the tables, views, sequences and functions that the migrations make, {lock}
-- for the lock that they take.

-- name: set_up
SELECT to_regclass('migration') IS NOT NULL

-- name: size
SELECT pg_database_size(current_database())

-- name: queue_upgrade
-- Until the session ends.
SET statement_timeout = 0;
SELECT pg_advisory_lock(7426190515)

-- name: holds
SELECT EXISTS (SELECT FROM corpus) OR EXISTS (SELECT FROM chat)

-- name: others
SELECT count(*) FROM pg_catalog.pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'presagio %'

-- name: unknown_languages
-- Languages of texts that the server does not know.
SELECT DISTINCT language FROM corpus_language
 WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_ts_config WHERE cfgname = 'presagio_' || language)
 ORDER BY 1

-- name: fix_search_path
SELECT set_config('search_path', string_agg(quote_ident(name), ', ' ORDER BY place), true)
  FROM unnest(current_schemas(false)) WITH ORDINALITY AS each (name, place)

-- name: relations
-- What is in the schema. `definition` makes an index anew that belongs to no constraint.
SELECT c.oid, c.oid::regclass::text AS name, c.relname, c.relkind::text AS kind,
       CASE WHEN c.relkind IN ('i', 'I') AND NOT EXISTS (
                     SELECT FROM pg_catalog.pg_constraint WHERE conindid = c.oid)
            -- Of a partitioned index, this alone would make the parent's.
            THEN replace(pg_catalog.pg_get_indexdef(c.oid), ' ON ONLY ', ' ON ') END AS definition
  FROM pg_catalog.pg_class c
 WHERE c.relnamespace = current_schema()::regnamespace
 ORDER BY c.oid

-- name: functions
SELECT proname::text AS name FROM pg_catalog.pg_proc WHERE pronamespace = current_schema()::regnamespace

-- name: triggers(tables)
SELECT tgname::text AS name FROM pg_catalog.pg_trigger WHERE tgrelid = ANY ($1::oid[])

-- name: foreign_keys(tables)
SELECT conrelid::regclass::text AS table, quote_ident(conname) AS name,
       pg_catalog.pg_get_constraintdef(oid) AS definition
  FROM pg_catalog.pg_constraint
 WHERE conrelid = ANY ($1::oid[]) AND contype = 'f' AND conparentid = 0

-- name: columns(table)
-- Of a table in the schema; no rows if there is none.
SELECT attname::text AS name FROM pg_catalog.pg_attribute
 WHERE attrelid = to_regclass(quote_ident(current_schema()) || '.' || quote_ident($1))
   AND attnum > 0 AND NOT attisdropped AND attgenerated = ''

-- name: corpora
-- Tables of older versions have no such column.
SELECT id,
       postings_to IS NOT NULL
       OR coalesce((to_jsonb(c) ->> 'placed_postings')::boolean, false) AS postings
  FROM corpus c
 ORDER BY id

-- name: hold_placed
SELECT id FROM corpus c WHERE to_jsonb(c) ->> 'placed_postings' IS NOT NULL ORDER BY id FOR SHARE

-- name: bring_here
UPDATE corpus
   SET postings_to = CASE WHEN placed_postings THEN 9223372036854775807 END, placed_postings = NULL
 WHERE placed_postings IS NOT NULL
RETURNING name

-- name: models
SELECT id, dimensions FROM embedding_model ORDER BY id

-- name: set_sequence(name, value, is_called)
SELECT setval((quote_ident(current_schema()) || '.' || quote_ident($1))::regclass, $2, $3)

-- name: is_superuser
SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user

-- name: clear
-- A process that opens the database meanwhile waits with its migrations, which take this lock.
SET LOCAL lock_timeout = '30s';
SET LOCAL statement_timeout = 0;
SET LOCAL client_min_messages = error;
SELECT pg_catalog.pg_advisory_xact_lock({lock});
-- Without CASCADE: if something of another program depends on a table, nothing is dropped.
DO $clear$
DECLARE
    each record;
BEGIN
    FOR each IN
        SELECT CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind,
               string_agg(oid::regclass::text, ', ') AS names
          FROM pg_catalog.pg_class
         WHERE relnamespace = current_schema()::regnamespace AND NOT relispartition
           AND (relkind IN ('r', 'p', 'v', 'S') AND relname = ANY ({names})
                OR relkind = 'r' AND relname ~ '^(document|embedding|postings)_\d+$')
         GROUP BY 1
         ORDER BY 1 DESC  -- views, tables, sequences
    LOOP
        EXECUTE format('DROP %s %s', each.kind, each.names);
    END LOOP;
    FOR each IN
        -- All at once, for some depend on others.
        SELECT 'FUNCTION' AS kind, string_agg(oid::regprocedure::text, ', ') AS name
          FROM pg_catalog.pg_proc
         WHERE pronamespace = current_schema()::regnamespace AND proname = ANY ({names})
        HAVING count(*) > 0
        UNION ALL
        SELECT 'TEXT SEARCH CONFIGURATION', oid::regconfig::text
          FROM pg_catalog.pg_ts_config
         WHERE cfgnamespace = current_schema()::regnamespace AND cfgname LIKE 'presagio\_%'
        UNION ALL
        SELECT 'TEXT SEARCH DICTIONARY', oid::regdictionary::text
          FROM pg_catalog.pg_ts_dict
         WHERE dictnamespace = current_schema()::regnamespace AND dictname LIKE 'presagio\_%'
    LOOP
        EXECUTE format('DROP %s %s', each.kind, each.name);
    END LOOP;
END
$clear$;
