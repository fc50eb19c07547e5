-- name: months
SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM') AS month, count(*) AS documents
  FROM {document}
 WHERE created_at IS NOT NULL
 GROUP BY 1
 ORDER BY 1

-- What a corpus foretold, as far as everybody may know: prophecies that were sent to chats about
-- headlines of the configured feeds, and hits that were voted for and may be shown.
-- name: foretold
SELECT p.corpus, p.external_id, s.text AS headline, s.published AS until,
       coalesce(f.prophecy, a.prophecy) AS prophecy
  FROM posted p
  JOIN story s ON s.id = p.story_id
  LEFT JOIN find f ON f.story_id = p.story_id AND f.corpus = p.corpus
  LEFT JOIN answer a ON a.id = p.answer_id
 WHERE EXISTS (SELECT FROM delivery d WHERE d.id = p.delivery_id AND d.state = 'sent')
   AND EXISTS (SELECT FROM headline h JOIN feed ON feed.id = h.feed_id
                WHERE h.story_id = p.story_id AND feed.configured_url IS NOT NULL)
UNION ALL
SELECT v.prophecy ->> 'corpus', hit -> 'candidate' ->> 'external_id',
       v.prophecy -> 'headline' ->> 'text',
       coalesce((v.prophecy -> 'headline' ->> 'date')::timestamptz, v.asked_at), v.prophecy
  FROM ({voted}) AS v
 CROSS JOIN LATERAL json_array_elements(v.prophecy -> 'hits') AS hit
 WHERE v.shown AND (hit ->> 'rank')::integer = v.rank

-- name: leads(corpus, chats, trusted, voters, limit)
SELECT * FROM (
    SELECT DISTINCT ON (f.headline, d.id)
           f.headline, f.until, d.external_id, d.text, d.flags, d.created_at
      FROM ({foretold}) AS f JOIN {document} d ON d.corpus_id = {corpus} AND d.external_id = f.external_id
     WHERE f.corpus = $1 AND d.created_at < f.until
     ORDER BY f.headline, d.id, f.until) AS once
 ORDER BY until - created_at DESC, headline, external_id
 LIMIT $5

-- A word of several headlines is a subject of several; a headline counts once, however often it was
-- posted.
-- name: subjects(corpus, chats, trusted, voters, limit)
SELECT word, count(DISTINCT headline) AS headlines
  FROM (SELECT lower(said.word) AS word, f.headline
          FROM ({foretold}) AS f
          JOIN {document} d ON d.corpus_id = {corpus} AND d.external_id = f.external_id
         CROSS JOIN LATERAL json_array_elements(f.prophecy -> 'hits') AS hit
         CROSS JOIN LATERAL json_array_elements_text(hit -> 'matched') AS said (word)
         WHERE f.corpus = $1 AND hit -> 'candidate' ->> 'external_id' = f.external_id) AS words
 GROUP BY word
 ORDER BY headlines DESC, word
 LIMIT $5

-- name: foretold_by(corpus, chats, trusted, voters, external_id, limit)
SELECT headline, min(until) AS until
  FROM ({foretold}) AS f
 WHERE corpus = $1 AND external_id = $5
 GROUP BY headline
 ORDER BY until DESC, headline
 LIMIT $6

-- name: neighbours(id, created_at)
(SELECT false AS later, d.external_id, d.text, d.flags, d.created_at
   FROM {document} d WHERE (d.created_at, d.id) < ($2::timestamptz, $1::bigint)
  ORDER BY d.created_at DESC, d.id DESC LIMIT 1)
UNION ALL
(SELECT true, d.external_id, d.text, d.flags, d.created_at
   FROM {document} d WHERE (d.created_at, d.id) > ($2::timestamptz, $1::bigint)
  ORDER BY d.created_at, d.id LIMIT 1)
