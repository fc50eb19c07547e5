-- name: outdated(corpus_id, external_ids, digests)
SELECT s.external_id
  FROM unnest($2::text[], $3::bigint[]) AS s (external_id, digest)
  LEFT JOIN {document} d ON d.corpus_id = $1 AND d.external_id = s.external_id
 WHERE d.digest IS DISTINCT FROM s.digest

-- name: lock(corpus_id)
SELECT language FROM corpus WHERE id = $1 FOR UPDATE

-- name: stage
CREATE TEMPORARY TABLE staging (
    external_id text, text text, search_text text, created_at timestamptz, digest bigint,
    author text, title text, role text, lang text, language text, url text, reply_to text,
    platform text, thread_id text, attribution text,
    tags text[], mentions text[], engagement integer, flags integer, meta text
) ON COMMIT DROP

-- Writes through the table of all corpora, whose triggers keep the statistics. The corpus id is
-- part of the text, so that the planner can skip the other partitions.
-- name: update
UPDATE document d
   SET text = s.text, search_text = s.search_text, created_at = s.created_at,
       digest = s.digest, author = s.author, title = s.title, role = s.role, lang = s.lang,
       language = s.language, url = s.url, reply_to = s.reply_to, platform = s.platform,
       thread_id = s.thread_id, attribution = s.attribution, tags = s.tags,
       mentions = s.mentions, engagement = s.engagement, flags = s.flags,
       meta = s.meta::jsonb, context = NULL, context_search_text = NULL
  FROM staging s
 WHERE d.corpus_id = {corpus} AND d.external_id = s.external_id AND d.digest <> s.digest

-- name: insert
INSERT INTO document
       (corpus_id, external_id, text, search_text, created_at, digest, author, title, role,
        lang, language, url, reply_to, platform, thread_id, attribution, tags, mentions,
        engagement, flags, meta)
SELECT {corpus}, s.external_id, s.text, s.search_text, s.created_at, s.digest, s.author, s.title,
       s.role, s.lang, s.language, s.url, s.reply_to, s.platform, s.thread_id, s.attribution,
       s.tags, s.mentions, s.engagement, s.flags, s.meta::jsonb
  FROM staging s
 WHERE NOT EXISTS (SELECT FROM {document} d
                    WHERE d.corpus_id = {corpus} AND d.external_id = s.external_id)

-- name: stitch(flag)
UPDATE document d
   SET context = p.text, context_search_text = p.search_text, flags = d.flags | $1
  FROM {document} p
 WHERE d.corpus_id = {corpus} AND p.corpus_id = {corpus}
   AND d.reply_to = p.external_id AND d.id <> p.id
   AND d.author IS NOT DISTINCT FROM p.author
   AND (d.context_search_text IS DISTINCT FROM p.search_text OR d.context IS DISTINCT FROM p.text)
