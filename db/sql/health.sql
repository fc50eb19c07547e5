-- name: extensions
SELECT extname, extversion FROM pg_catalog.pg_extension WHERE extname = ANY ($1::text[])

-- name: recount
WITH counted AS (
    SELECT u.lexeme, count(*) AS document_frequency
      FROM document d, unnest(d.tsv) AS u
     WHERE d.corpus_id = $1
     GROUP BY u.lexeme
), kept AS (
    SELECT lexeme, document_frequency FROM lexeme
     WHERE corpus_id = $1 AND document_frequency <> 0
), totals AS (
    SELECT count(*) AS documents, coalesce(sum(length), 0)::bigint AS tokens
      FROM document WHERE corpus_id = $1
)
SELECT t.documents, t.tokens, c.documents AS kept_documents, c.tokens AS kept_tokens,
       (SELECT count(*) FROM counted FULL JOIN kept ON kept.lexeme = counted.lexeme COLLATE "C"
         WHERE counted.document_frequency IS DISTINCT FROM kept.document_frequency) AS lexemes
  FROM totals t, corpus c
 WHERE c.id = $1
