-- name: held(corpus_id, external_ids, texts)
SELECT count(*)
  FROM unnest($2::text[], $3::text[]) AS s (external_id, text)
  JOIN {document} d ON d.corpus_id = $1 AND d.external_id = s.external_id AND d.text = s.text

-- name: outdated(corpus_id, external_ids, digests)
SELECT s.external_id
  FROM unnest($2::text[], $3::bigint[]) AS s (external_id, digest)
  LEFT JOIN (SELECT external_id, digest FROM {document}
              WHERE corpus_id = $1 AND external_id = ANY ($2::text[])) d
         ON d.external_id = s.external_id
  LEFT JOIN item i ON i.corpus_id = $1 AND i.external_id = s.external_id
 WHERE coalesce(i.digest, d.digest) IS DISTINCT FROM s.digest

-- name: lock(corpus_id)
SELECT language FROM corpus WHERE id = $1 FOR UPDATE

-- name: stage
CREATE TEMPORARY TABLE staging (
    external_id text, text text, search_text text, created_at timestamptz, digest bigint,
    author text, title text, role text, lang text, language text, url text, reply_to text,
    platform text, thread_id text, attribution text,
    tags text[], mentions text[], engagement integer, flags integer, meta text,
    item text, part integer, heading text, page integer, last_page integer, dated_by text
) ON COMMIT DROP

-- name: stage_items
CREATE TEMPORARY TABLE staging_item (
    external_id text, digest bigint, created_at timestamptz, title text, author text, lang text,
    url text, attribution text, platform text, pages integer, parts integer,
    page_labels text[]
) ON COMMIT DROP

-- name: has_items(corpus_id)
SELECT EXISTS (SELECT FROM item WHERE corpus_id = $1)

-- Writes through the table of all corpora, whose triggers keep the statistics, and reads there what
-- it changes: of a placed corpus that is borrowed. The corpus id is part of the text, so that the
-- planner can skip the other partitions.
-- name: update
WITH changed AS (
UPDATE document d
   SET text = s.text, search_text = s.search_text, created_at = s.created_at,
       digest = s.digest, author = s.author, title = s.title, role = s.role, lang = s.lang,
       language = s.language, url = s.url, reply_to = s.reply_to, platform = s.platform,
       thread_id = s.thread_id, attribution = s.attribution, tags = s.tags,
       mentions = s.mentions, engagement = s.engagement, flags = s.flags,
       meta = s.meta::jsonb, context = NULL, context_search_text = NULL,
       heading = s.heading, page = s.page, last_page = s.last_page, dated_by = s.dated_by
  FROM staging s
 WHERE d.corpus_id = {corpus} AND d.external_id = s.external_id AND d.digest <> s.digest
RETURNING d.id, d.item_id
)
SELECT count(*) FILTER (WHERE item_id IS NULL) AS whole,
       array_agg(id) FILTER (WHERE item_id IS NOT NULL) AS parts
  FROM changed

-- name: insert
WITH new AS (
INSERT INTO document
       (corpus_id, external_id, text, search_text, created_at, digest, author, title, role,
        lang, language, url, reply_to, platform, thread_id, attribution, tags, mentions,
        engagement, flags, meta, item_id, part, heading, page, last_page, dated_by)
SELECT {corpus}, s.external_id, s.text, s.search_text, s.created_at, s.digest, s.author, s.title,
       s.role, s.lang, s.language, s.url, s.reply_to, s.platform, s.thread_id, s.attribution,
       s.tags, s.mentions, s.engagement, s.flags, s.meta::jsonb,
       CASE WHEN s.item IS NOT NULL
            THEN (SELECT i.id FROM item i
                   WHERE i.corpus_id = {corpus} AND i.external_id = s.item) END,
       s.part, s.heading, s.page, s.last_page, s.dated_by
  FROM staging s
 WHERE NOT EXISTS (SELECT FROM document d
                    WHERE d.corpus_id = {corpus} AND d.external_id = s.external_id)
RETURNING item_id
)
SELECT count(*) FILTER (WHERE item_id IS NULL) AS whole FROM new

-- name: keep_items
WITH kept AS (
INSERT INTO item (corpus_id, external_id, digest, created_at, title, author, lang, url,
                  attribution, platform, pages, parts, page_labels)
SELECT {corpus}, s.external_id, s.digest, s.created_at, s.title, s.author, s.lang, s.url,
       s.attribution, s.platform, s.pages, s.parts, s.page_labels
  FROM staging_item s
    ON CONFLICT (corpus_id, external_id) DO UPDATE
   SET digest = excluded.digest, created_at = excluded.created_at, title = excluded.title,
       author = excluded.author, lang = excluded.lang, url = excluded.url,
       attribution = excluded.attribution, platform = excluded.platform,
       pages = excluded.pages, parts = excluded.parts, page_labels = excluded.page_labels
 WHERE item.digest <> excluded.digest
RETURNING (xmax = 0) AS inserted
)
SELECT count(*) FILTER (WHERE inserted) AS inserted,
       count(*) FILTER (WHERE NOT inserted) AS updated
  FROM kept

-- What a batch replaces: parts that an item has no longer, whole documents that are now stored in
-- parts, and parts of those that are now whole.
-- name: forget_replaced
WITH gone AS (
    DELETE FROM document d
     WHERE d.corpus_id = {corpus}
       AND (d.external_id IN (SELECT s.external_id FROM staging_item s)
            OR d.item_id IN (SELECT i.id FROM item i
                              WHERE i.corpus_id = {corpus}
                                AND (i.external_id IN (SELECT s.external_id FROM staging_item s)
                                     OR i.external_id IN (SELECT s.external_id FROM staging s)))
               AND d.external_id NOT IN (SELECT s.external_id FROM staging s))
    RETURNING d.id
)
SELECT array_agg(id) AS documents FROM gone

-- name: forget_items
DELETE FROM item i USING staging s
 WHERE i.corpus_id = {corpus} AND i.external_id = s.external_id

-- name: forget_vectors(corpus_id, document_ids)
SELECT forget_vectors($1, $2::bigint[])

-- The texts of a platform in the order in which they were stored, to give them other ids.
-- name: of_platform(corpus_id, platform)
SELECT external_id, created_at, author, text, thread_id
  FROM {document}
 WHERE corpus_id = $1 AND platform = $2
 ORDER BY id

-- name: rename(old, new)
UPDATE document d SET external_id = s.new
  FROM unnest($1::text[], $2::text[]) AS s (old, new)
 WHERE d.corpus_id = {corpus} AND d.external_id = s.old

-- name: remove(external_ids)
DELETE FROM document d WHERE d.corpus_id = {corpus} AND d.external_id = ANY ($1::text[])

-- Posts that may go on from another one of their author, each with that one: what it answers, else
-- what its author wrote before it. engine/text/continuation.py decides about them.
-- name: neighbours(corpus_id, longest_gap)
WITH posts AS (
    SELECT id, external_id, created_at, author, reply_to,
           lag(id) OVER (PARTITION BY author
                         ORDER BY created_at, length(external_id), external_id) AS previous
      FROM {document}
     WHERE corpus_id = $1 AND item_id IS NULL AND created_at IS NOT NULL
), pairs AS (
    SELECT p.id, p.created_at, coalesce(answered.id, p.previous) AS before
      FROM posts p
      LEFT JOIN posts answered ON answered.external_id = p.reply_to
       AND answered.author IS NOT DISTINCT FROM p.author
     WHERE p.reply_to IS NULL OR answered.id IS NOT NULL
)
SELECT b.id AS b_id, b.external_id AS b_external_id, b.text AS b_text,
       b.search_text AS b_search_text, b.created_at AS b_created_at, b.reply_to AS b_reply_to,
       b.flags AS b_flags,
       p.id, p.external_id, p.text, p.search_text, p.created_at, p.reply_to, p.flags
  FROM pairs
  JOIN {document} b ON b.corpus_id = $1 AND b.id = pairs.before
  JOIN {document} p ON p.corpus_id = $1 AND p.id = pairs.id
 WHERE (b.created_at, length(b.external_id), b.external_id)
       < (p.created_at, length(p.external_id), p.external_id)
   AND p.created_at - b.created_at <= $2
   AND (p.reply_to IS NOT NULL
        OR left(p.text, 4) ~ '\.\.|…|^\W?(\d|con)'
        OR right(b.text, 12) ~ '(\.\.|[…,>→⬇\ufe0f)]|\d/[\dnx]*|http\S+)\s*$'
        OR b.text ~ '//\S+\s*$')
 ORDER BY p.author, p.created_at, length(p.external_id), p.external_id

-- name: joined(corpus_id, flags)
SELECT id, flags, context FROM {document} WHERE corpus_id = $1 AND flags & $2 <> 0

-- name: join(ids, flags, texts, search_texts)
UPDATE document d
   SET flags = n.flags, context = n.text, context_search_text = n.search_text
  FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::text[])
       AS n (id, flags, text, search_text)
 WHERE d.corpus_id = {corpus} AND d.id = n.id

-- name: stitch(flag, joined)
UPDATE document d
   SET context = p.text, context_search_text = p.search_text, flags = d.flags | $1
  FROM document p
 WHERE d.corpus_id = {corpus} AND p.corpus_id = {corpus} AND d.flags & $2 = 0
   AND d.reply_to = p.external_id AND d.id <> p.id
   AND d.author IS NOT DISTINCT FROM p.author
   AND (d.context_search_text IS DISTINCT FROM p.search_text OR d.context IS DISTINCT FROM p.text)

-- A page of whole documents after the id $2.
-- name: whole(corpus_id, after, number)
SELECT id, external_id, text, search_text, created_at, dated_by, author, title, role, lang, url,
       reply_to, platform, thread_id, attribution, tags, mentions, engagement, flags, meta
  FROM {document}
 WHERE corpus_id = $1 AND item_id IS NULL AND id > $2
 ORDER BY id
 LIMIT $3

-- A page of items after the id $2, a row for each of their parts.
-- name: in_parts(corpus_id, after, number)
SELECT i.id, i.external_id, d.text, d.search_text, i.created_at, d.dated_by, i.author, i.title,
       d.role, i.lang, i.url, d.reply_to, i.platform, d.thread_id, i.attribution, d.tags,
       d.mentions, d.engagement, d.flags, d.meta, d.heading, d.page, d.last_page, i.pages,
       i.page_labels
  FROM (SELECT * FROM item WHERE corpus_id = $1 AND id > $2 ORDER BY id LIMIT $3) i
  JOIN {document} d ON d.corpus_id = $1 AND d.item_id = i.id
 ORDER BY i.id, d.part

-- name: forget_documents(before)
-- In batches, so that each holds the corpus only for a moment. Uses the table of all corpora.
WITH old AS (
    SELECT id FROM document
     WHERE corpus_id = {corpus} AND created_at < $1 ORDER BY id LIMIT 1000
), gone AS (
    DELETE FROM document d USING old WHERE d.corpus_id = {corpus} AND d.id = old.id RETURNING 1
)
SELECT count(*) FROM gone

-- name: kept_items
SELECT coalesce(array_agg(DISTINCT item_id), '{{}}') FROM {document} WHERE item_id IS NOT NULL

-- name: forget_old_items(before, kept_items)
-- Those whose last part is gone.
DELETE FROM item i
 WHERE i.corpus_id = {corpus} AND i.created_at < $1 AND i.id <> ALL ($2::bigint[])
