-- name: months
SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM') AS month, count(*) AS documents
  FROM {document}
 GROUP BY 1
 ORDER BY 1

-- What a corpus foretold, as far as everybody may know: prophecies that were sent to chats about
-- headlines of the configured feeds, and hits of answers that have more votes for them than against
-- them. The latter have a chat: the page shows those of some chats only.
-- name: foretold
SELECT p.corpus, p.external_id, s.text AS headline, s.published AS until, NULL::bigint AS chat_id,
       coalesce(f.prophecy, a.prophecy) AS prophecy
  FROM posted p
  JOIN story s ON s.id = p.story_id
  LEFT JOIN find f ON f.story_id = p.story_id AND f.corpus = p.corpus
  LEFT JOIN answer a ON a.id = p.answer_id
 WHERE EXISTS (SELECT FROM delivery d WHERE d.id = p.delivery_id AND d.state = 'sent')
   AND EXISTS (SELECT FROM headline h JOIN feed ON feed.id = h.feed_id
                WHERE h.story_id = p.story_id AND feed.configured_url IS NOT NULL)
UNION ALL
SELECT a.prophecy ->> 'corpus', hit -> 'candidate' ->> 'external_id',
       a.prophecy -> 'headline' ->> 'text',
       coalesce((a.prophecy -> 'headline' ->> 'date')::timestamptz, a.asked_at),
       a.chat_id, a.prophecy
  FROM (SELECT answer_id, rank FROM vote GROUP BY answer_id, rank HAVING sum(value) > 0) AS liked
  JOIN answer a ON a.id = liked.answer_id
 CROSS JOIN LATERAL json_array_elements(a.prophecy -> 'hits') AS hit
 WHERE (hit ->> 'rank')::integer = liked.rank

-- name: leads(corpus, chats, limit)
SELECT * FROM (
    SELECT DISTINCT ON (f.headline, d.id)
           f.headline, f.until, d.external_id, d.text, d.created_at
      FROM ({foretold}) AS f JOIN {document} d ON d.corpus_id = {corpus} AND d.external_id = f.external_id
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
          FROM ({foretold}) AS f
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
  FROM ({foretold}) AS f
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
