-- name: extensions(names)
SELECT extname FROM pg_catalog.pg_extension WHERE extname = ANY ($1::text[])

-- name: offered(name)
SELECT e.installed_version AS installed, e.default_version AS available,
       NOT v.superuser OR v.trusted
           OR (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) AS installable
  FROM pg_catalog.pg_available_extensions e
  JOIN pg_catalog.pg_available_extension_versions v
    ON v.name = e.name AND v.version = e.default_version
 WHERE e.name = $1

-- name: reads_quotes
-- The parser asks the C library what a letter is: docs/decisions/0002-embedded-server.md.
SELECT to_tsvector('pg_catalog.simple', '“x”…') = to_tsvector('pg_catalog.simple', 'x')

-- name: takes_writes
SELECT NOT (pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean)

-- name: owner
-- A corpus has tables of its own: partitions, which only the owner of the parents can make.
SELECT current_user::text AS role,
       pg_has_role(relowner, 'USAGE') AND has_schema_privilege(relnamespace, 'CREATE') AS owns
  FROM pg_catalog.pg_class WHERE oid = to_regclass('document')

-- name: there(relation)
SELECT to_regclass($1) IS NOT NULL

-- name: recount(corpus_id)
WITH counted AS (
    SELECT u.lexeme COLLATE "C" AS lexeme, count(*) AS document_frequency,
           max(cardinality(u.positions)) AS max_tf
      FROM {document} d, unnest(d.tsv) AS u
     WHERE d.corpus_id = $1
     GROUP BY 1
), kept AS (
    SELECT lexeme, document_frequency, max_tf FROM lexeme
     WHERE corpus_id = $1 AND document_frequency <> 0
), totals AS (
    SELECT count(*) AS documents, coalesce(sum(length), 0)::bigint AS tokens,
           count(*) FILTER (WHERE length = 0) AS empty
      FROM {document} WHERE corpus_id = $1
), languages AS (
    SELECT language, count(*) AS documents FROM {document} WHERE corpus_id = $1 GROUP BY 1
)
SELECT t.documents, t.tokens, t.empty, c.documents AS kept_documents, c.tokens AS kept_tokens,
       c.empty AS kept_empty,
       -- The stored max_tf is an upper bound; retrieval is exact as long as it is not too low.
       (SELECT count(*) FROM counted FULL JOIN kept USING (lexeme)
         WHERE counted.document_frequency IS DISTINCT FROM kept.document_frequency
            OR counted.max_tf > kept.max_tf) AS lexemes,
       (SELECT count(*) FROM languages l
          FULL JOIN (SELECT language, documents FROM corpus_language WHERE corpus_id = $1) k
         USING (language)
         WHERE l.documents IS DISTINCT FROM k.documents) AS languages
  FROM totals t, corpus c
 WHERE c.id = $1
