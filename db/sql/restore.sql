-- Statements that a restore runs on the database that it fills. {names} stands for an array of the
-- tables, views, sequences and functions that the migrations make, {lock} for the lock that they
-- take.

-- name: set_up
SELECT to_regclass('migration') IS NOT NULL

-- name: newest
SELECT max(version) FROM migration

-- name: holds
SELECT EXISTS (SELECT FROM corpus) OR EXISTS (SELECT FROM chat)

-- name: others
SELECT count(*) FROM pg_catalog.pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'presagio %'

-- name: languages
SELECT array_agg(cfgname::text) FROM pg_catalog.pg_ts_config
 WHERE cfgnamespace = 'pg_catalog'::regnamespace

-- name: clear
-- A process that opens the database meanwhile waits with its migrations, which take this lock.
SET LOCAL lock_timeout = '30s';
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
