-- {postings}, {document} and {corpus} stand for the tables and the id of one corpus, other braces
-- for parameters and for parts of statements: see db/search/statements.py.

-- name: create
CREATE TABLE {postings} (
    document bigint NOT NULL,
    length integer NOT NULL,  -- of the document
    tf smallint NOT NULL,
    lexeme text COLLATE "C" NOT NULL,
    PRIMARY KEY (lexeme, document) INCLUDE (tf, length)
)

-- name: lock(corpus_id)
SELECT postings_to FROM corpus WHERE id = $1 AND placed_postings IS NULL FOR UPDATE

-- name: state(corpus_id)
SELECT postings_to FROM corpus WHERE id = $1

-- name: keep_place(corpus_id, postings_to)
UPDATE corpus SET postings_to = $2 WHERE id = $1

-- name: fill(after_id, limit)
-- Ids begin at 1. Without a limit ($2 is NULL) it takes all that follow.
WITH page AS MATERIALIZED (
    SELECT id, length, tsv FROM {document}
     WHERE corpus_id = {corpus} AND id > $1 ORDER BY id LIMIT $2
), stored AS (
    INSERT INTO {postings} (document, length, tf, lexeme)
    SELECT page.id, page.length, cardinality(u.positions), u.lexeme
      FROM page, unnest(page.tsv) u
     ORDER BY u.lexeme COLLATE "C", page.id
)
SELECT count(*) AS documents, max(id) AS last FROM page

-- name: differing(postings_to)
SELECT count(*)
  FROM (SELECT u.lexeme COLLATE "C" AS lexeme, d.id AS document, cardinality(u.positions) AS tf,
               d.length
          FROM {document} d, unnest(d.tsv) u
         WHERE d.corpus_id = {corpus} AND d.id <= $1) counted
  FULL JOIN {postings} kept USING (lexeme, document)
 WHERE (counted.tf, counted.length) IS DISTINCT FROM (kept.tf::integer, kept.length)

-- name: part
-- One lexeme's part of BM25.
q.weight * ({k1}::float8 + 1) * p.tf / (p.tf + {norm}::float8 + {norm_per_token}::float8 * p.length)

-- name: scored
-- The sum for each document that contains a lexeme. OFFSET 0 makes the server look up each lexeme,
-- also while it has no statistics of a new table.
SELECT p.document AS id, sum({part}) AS bm25
  FROM unnest({lexemes}::text[], {weights}::float8[]) AS q (lexeme, weight)
 CROSS JOIN LATERAL (SELECT document, tf, length FROM {postings}
                      WHERE lexeme = q.lexeme AND {condition} OFFSET 0) p
 GROUP BY p.document

-- name: ranges
-- Ranges of ids of equal width.
SELECT low + n * width AS first, low + (n + 1) * width AS next
  FROM (SELECT min(id) AS low, (max(id) - min(id)) / {ranges}::bigint + 1 AS width
          FROM {document} WHERE corpus_id = {corpus}) ids
 CROSS JOIN generate_series(0, {ranges}::bigint - 1) n

-- name: in_range
-- A condition for `scored`.
document >= range.first AND document < range.next

-- name: reaching
-- Documents that reach a score by the essential lexemes, which come first. Without the others none
-- of them can be among the best, and these are read for few documents only: as an array, which the
-- server compares with whole pages of the index. A range of documents at a time, so that the hash
-- table of their sums stays in the processor's cache.
SELECT summed.id, summed.bm25
  FROM ({id_ranges}) range
 CROSS JOIN LATERAL (
    WITH reached AS MATERIALIZED ({scored} HAVING sum({part}) >= {least}::float8)
    SELECT id, sum(bm25) AS bm25
      FROM (SELECT id, bm25 FROM reached
             UNION ALL
            SELECT p.document, {part}
              FROM unnest({other_lexemes}, {other_weights}) AS q (lexeme, weight)
             CROSS JOIN LATERAL (SELECT document, tf, length FROM {postings}
                                  WHERE lexeme = q.lexeme
                                    AND document = ANY (ARRAY(SELECT id FROM reached))
                                 OFFSET 0) p) parts
     GROUP BY id) summed

-- name: between_dates
-- A condition for `scored`.
document IN (SELECT id FROM {document} WHERE {few_dates})

-- name: of_document
-- The sum for one document, `d`, with how often it contains each lexeme.
SELECT coalesce(sum({part}), 0) AS bm25,
       coalesce(array_agg(coalesce(p.tf, 0)::integer ORDER BY q.place), '{{}}') AS frequencies
  FROM unnest({lexemes}::text[], {weights}::float8[])
       WITH ORDINALITY AS q (lexeme, weight, place)
  LEFT JOIN LATERAL (SELECT tf, length FROM {postings}
                      WHERE lexeme = q.lexeme AND document = d.id LIMIT 1) p ON true

-- name: best
-- Documents are looked up by falling score until enough of them pass: OFFSET 0 keeps that order of
-- work. All that tie with the last of them are looked up as well, for their dates decide.
SELECT id, bm25, created_at
  FROM (SELECT s.id, s.bm25, s.rounded, d.created_at
          FROM (SELECT id, bm25, round(bm25 * 1e9::float8) AS rounded FROM ({scored}) every
                 ORDER BY rounded DESC OFFSET 0) s
         CROSS JOIN LATERAL (SELECT created_at FROM {document}
                              WHERE corpus_id = {corpus} AND id = s.id AND {passes}
                             OFFSET 0) d
         ORDER BY s.rounded DESC
         FETCH FIRST ({limit}) ROWS WITH TIES) tied
 ORDER BY rounded DESC, created_at, id LIMIT {limit}

-- name: candidates
SELECT {columns}, best.bm25, found.frequencies
  FROM ({best}) best
  JOIN {document} d ON d.corpus_id = {corpus} AND d.id = best.id
 CROSS JOIN LATERAL ({of_document}) found
 ORDER BY round(best.bm25 * 1e9::float8) DESC, d.created_at, d.id

-- name: described
SELECT {columns}, found.bm25, found.frequencies
  FROM {document} d
 CROSS JOIN LATERAL ({of_document}) found
 WHERE d.corpus_id = {corpus} AND d.id = ANY ({ids}::bigint[])
