-- Braces stand for parameters, or for the table of a corpus.

-- name: passes
-- `after` is given where texts without a date do not pass.
({before}::timestamptz IS NULL OR created_at < {before} OR created_at IS NULL)
AND ({after}::timestamptz IS NULL OR created_at >= {after})
AND flags & {require}::integer = {require} AND flags & {exclude}::integer = 0

-- name: read(corpus_id, texts, languages)
SELECT t.ordinal - 1 AS unit, l.language, u.lexeme, p.position,
       coalesce(k.document_frequency, 0) AS document_frequency, coalesce(k.max_tf, 1) AS max_tf
  FROM unnest($2::text[]) WITH ORDINALITY AS t (text, ordinal)
 CROSS JOIN unnest($3::text[]) AS l (language)
 CROSS JOIN LATERAL unnest(to_lexemes(l.language, t.text)) AS u
 CROSS JOIN LATERAL unnest(u.positions) AS p (position)
  LEFT JOIN lexeme k ON k.corpus_id = $1 AND k.lexeme = u.lexeme

-- name: read_headline(corpus_id, texts, languages)
-- As `read`, and in the place of a lexeme also how texts write it with a hyphen or without one. These
-- are looked up one by one: the planner would read all lexemes of the corpus instead.
WITH written AS MATERIALIZED ({read})
SELECT * FROM written
 UNION ALL
SELECT w.unit, w.language, k.lexeme, w.position, k.document_frequency, k.max_tf
  FROM written w
 CROSS JOIN LATERAL (
       SELECT replace(w.lexeme, '-', '') AS lexeme WHERE w.lexeme LIKE '%-%'
        UNION ALL
       SELECT left(w.lexeme, cut) || '-' || substr(w.lexeme, cut + 1)
         FROM generate_series(2, length(w.lexeme) - 2) AS cut
        WHERE w.lexeme NOT LIKE '%-%') AS other
 CROSS JOIN LATERAL (
       SELECT * FROM lexeme
        WHERE corpus_id = $1 AND lexeme.lexeme = other.lexeme AND document_frequency > 0
        LIMIT 1) AS k

-- name: neighbours(corpus_id, lexeme)
-- The threshold of % is a setting of the connection, see db/pool.py.
SELECT lexeme, document_frequency, max_tf, similarity(lexeme, $2) AS similarity
  FROM lexeme
 WHERE corpus_id = $1 AND lexeme % $2 AND document_frequency > 0
 ORDER BY similarity(lexeme, $2) DESC, document_frequency DESC, lexeme
 LIMIT 10

-- name: share(corpus_id, before, since, flags)
EXPLAIN (FORMAT JSON)
SELECT 1 FROM {document}
 WHERE corpus_id = $1
   AND ($2::timestamptz IS NULL OR created_at < $2 OR ($3::timestamptz IS NULL AND created_at IS NULL))
   AND ($3 IS NULL OR created_at >= $3)
   AND ($4::integer[] IS NULL OR flags = ANY ($4))

-- name: places(document_ids)
SELECT d.id, i.id AS item, coalesce(i.title, i.external_id) AS title, d.part, d.heading, d.page,
       d.last_page, i.pages, i.page_labels[d.page] AS page_label,
       i.page_labels[d.last_page] AS last_label
  FROM {document} d JOIN item i ON i.id = d.item_id
 WHERE d.corpus_id = {corpus} AND d.id = ANY ($1::bigint[])
