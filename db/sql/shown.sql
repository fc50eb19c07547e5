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
