-- name: months
SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM') AS month, count(*) AS documents
  FROM {document}
 GROUP BY 1
 ORDER BY 1

-- name: leads(corpus, chats, limit)
SELECT * FROM (
    SELECT DISTINCT ON (f.headline, d.id)
           f.headline, f.until, d.external_id, d.text, d.created_at
      FROM foretold f JOIN {document} d ON d.corpus_id = {corpus} AND d.external_id = f.external_id
     WHERE f.corpus = $1 AND (f.chat_id IS NULL OR f.chat_id = ANY ($2::bigint[]))
       AND d.created_at < f.until
     ORDER BY f.headline, d.id, f.until) AS once
 ORDER BY until - created_at DESC, headline, external_id
 LIMIT $3

-- A word of several headlines is a subject of several; a headline counts once, however often it was
-- posted.
-- name: subjects(corpus, chats, limit)
SELECT word, count(DISTINCT headline) AS headlines
  FROM (SELECT lower(said.word) AS word, f.headline
          FROM foretold f
          JOIN {document} d ON d.corpus_id = {corpus} AND d.external_id = f.external_id
         CROSS JOIN LATERAL json_array_elements(f.prophecy -> 'hits') AS hit
         CROSS JOIN LATERAL json_array_elements_text(hit -> 'matched') AS said (word)
         WHERE f.corpus = $1 AND (f.chat_id IS NULL OR f.chat_id = ANY ($2::bigint[]))
           AND hit -> 'candidate' ->> 'external_id' = f.external_id) AS words
 GROUP BY word
 ORDER BY headlines DESC, word
 LIMIT $3

-- name: foretold_by(corpus, chats, external_id, limit)
SELECT headline, min(until) AS until
  FROM foretold
 WHERE corpus = $1 AND (chat_id IS NULL OR chat_id = ANY ($2::bigint[])) AND external_id = $3
 GROUP BY headline
 ORDER BY until DESC, headline
 LIMIT $4

-- name: neighbours(id, created_at)
(SELECT false AS later, d.external_id, d.text, d.created_at
   FROM {document} d WHERE (d.created_at, d.id) < ($2::timestamptz, $1::bigint)
  ORDER BY d.created_at DESC, d.id DESC LIMIT 1)
UNION ALL
(SELECT true, d.external_id, d.text, d.created_at
   FROM {document} d WHERE (d.created_at, d.id) > ($2::timestamptz, $1::bigint)
  ORDER BY d.created_at, d.id LIMIT 1)
