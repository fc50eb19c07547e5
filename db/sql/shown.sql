-- name: document(corpus_id, external_id)
SELECT id, external_id, text, context, created_at, author, url, lang, flags, length, dated_by, title,
       role, platform, thread_id, attribution, tags, mentions, engagement,
       meta ->> 'beside' AS beside, meta ->> 'attachments' AS attachments, meta ->> 'participants' AS participants
  FROM {document} WHERE corpus_id = $1 AND external_id = $2

-- name: texts(corpus_id, document_ids)
SELECT id, language, text FROM {document} WHERE corpus_id = $1 AND id = ANY ($2::bigint[])

-- name: having(words, languages, lexemes, searched)
-- The words that have one of the lexemes $3.
SELECT w.word, w.language
  FROM unnest($1::text[], $2::text[], $4::text[]) AS w (word, language, searched)
 WHERE to_lexemes(w.language, w.searched) @@ $3

-- name: tagged(corpus_id, document_ids, tag)
SELECT id FROM {document} WHERE corpus_id = $1 AND id = ANY ($2::bigint[]) AND $3 = ANY (tags)

-- name: count(corpus_id, since, before, tag)
SELECT count(*) FROM {document}
 WHERE corpus_id = $1
   AND ($2::timestamptz IS NULL OR created_at >= $2)
   AND ($3::timestamptz IS NULL OR created_at < $3 OR created_at IS NULL)
   AND ($4::text IS NULL OR $4 = ANY (tags))

-- name: origins(corpus_id, document_ids)
SELECT id, title, author, platform, (domains_of(meta, url))[1] AS domain, tags
  FROM {document} WHERE corpus_id = $1 AND id = ANY ($2::bigint[])

-- name: has_tag(corpus_id, tag)
SELECT EXISTS (SELECT 1 FROM {document} WHERE corpus_id = $1 AND $2 = ANY (tags))

-- name: categories
SELECT DISTINCT lower(category) AS category FROM feed WHERE category IS NOT NULL ORDER BY 1

-- name: months
SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM') AS month, count(*) AS documents
  FROM {document}
 WHERE created_at IS NOT NULL
 GROUP BY 1
 ORDER BY 1

-- name: neighbours(id, created_at)
(SELECT false AS later, d.external_id, d.text, d.flags, d.created_at
   FROM {document} d WHERE (d.created_at, d.id) < ($2::timestamptz, $1::bigint)
  ORDER BY d.created_at DESC, d.id DESC LIMIT 1)
UNION ALL
(SELECT true, d.external_id, d.text, d.flags, d.created_at
   FROM {document} d WHERE (d.created_at, d.id) > ($2::timestamptz, $1::bigint)
  ORDER BY d.created_at, d.id LIMIT 1)

-- Texts of a span of time; what continues a text that stands in the same span stands below it,
-- however late it came.
-- name: texts_between(begins, ends, limit, offset)
WITH RECURSIVE chosen AS (
    SELECT id, external_id, text, context, created_at, author, url, lang, length, platform, flags,
           dated_by, engagement, thread_id, reply_to
      FROM {document}
     WHERE created_at >= $1::timestamptz AND created_at < $2::timestamptz
), continued AS (
    SELECT c.external_id, p.external_id AS above
      FROM chosen c JOIN chosen p
        ON p.external_id = c.reply_to AND p.author IS NOT DISTINCT FROM c.author AND p.id <> c.id
), begun AS (
    SELECT external_id, external_id AS first FROM chosen
     WHERE external_id NOT IN (SELECT external_id FROM continued)
    UNION ALL
    SELECT c.external_id, begun.first FROM begun JOIN continued c ON c.above = begun.external_id
), threads AS (
    SELECT chosen.*, coalesce(thread_id, begun.first, external_id) AS thread
      FROM chosen LEFT JOIN begun USING (external_id)
)
SELECT *, row_number() OVER (w ORDER BY created_at, id) > 1 AS continues
  FROM threads WINDOW w AS (PARTITION BY thread)
 ORDER BY min(created_at) OVER w, thread, created_at, id
 LIMIT $3 OFFSET $4

-- Of one day of every year the text with the most likes and reposts, own words first, and how many
-- texts that day has.
-- name: on_day(month, day, not_own, links_alone)
SELECT DISTINCT ON (year) *, count(*) OVER (PARTITION BY year) AS texts
  FROM (SELECT id, external_id, text, context, created_at, author, url, lang, length, platform,
               flags, dated_by, engagement, extract(year FROM created_at AT TIME ZONE 'UTC') AS year
          FROM {document}
         WHERE extract(month FROM created_at AT TIME ZONE 'UTC') = $1
           AND extract(day FROM created_at AT TIME ZONE 'UTC') = $2) chosen
 ORDER BY year, flags & $3 <> 0 OR text ~ $4, engagement DESC, created_at, id

-- name: most_liked(limit, not_own, links_alone)
SELECT id, external_id, text, context, created_at, author, url, lang, length, platform, flags,
       dated_by, engagement
  FROM {document}
 WHERE flags & $2 = 0 AND text !~ $3
 ORDER BY engagement DESC, created_at, id
 LIMIT $1

-- The texts of one thread: what a text answers, what that answers, and what answers it, by the same
-- author.
-- name: thread(external_id, limit)
WITH RECURSIVE above AS (
    SELECT d.external_id, d.reply_to, d.author, 0 AS far FROM {document} d WHERE d.external_id = $1
    UNION ALL
    SELECT p.external_id, p.reply_to, p.author, far + 1
      FROM above JOIN {document} p ON p.external_id = above.reply_to
     WHERE far < $2 AND p.author IS NOT DISTINCT FROM above.author
), below AS (
    (SELECT external_id, author, 0 AS far FROM above ORDER BY above.far DESC LIMIT 1)
    UNION
    SELECT c.external_id, c.author, far + 1
      FROM below JOIN {document} c ON c.reply_to = below.external_id
     WHERE far < $2 AND c.author IS NOT DISTINCT FROM below.author
)
SELECT DISTINCT d.external_id, d.text, d.flags, d.created_at
  FROM below JOIN {document} d USING (external_id)
 WHERE d.created_at IS NOT NULL
 ORDER BY d.created_at, d.external_id LIMIT $2

-- name: threads(corpus_id, limit)
SELECT thread_id AS id, max(title) AS title, count(*) AS documents,
       count(DISTINCT author) AS authors, min(created_at) AS oldest, max(created_at) AS newest
  FROM {document}
 WHERE corpus_id = $1 AND thread_id IS NOT NULL
 GROUP BY thread_id
 ORDER BY newest DESC NULLS LAST, id
 LIMIT $2

-- name: messages(corpus_id, thread_id, limit)
SELECT id, external_id, created_at, author, role, text, url, reply_to, attribution, flags
  FROM {document}
 WHERE corpus_id = $1 AND thread_id = $2
 ORDER BY created_at, id
 LIMIT $3
