-- name: document(corpus_id, external_id)
SELECT id, external_id, text, context, created_at, author, url, lang, flags, length, title, role,
       platform, thread_id, attribution, tags, mentions, engagement
  FROM {document} WHERE corpus_id = $1 AND external_id = $2

-- What stands in the places of the marks is put there by the server; texts lose theirs first.
-- name: marked(corpus_id, document_ids, query)
SELECT d.id,
       ts_headline(('presagio_' || d.language)::regconfig, translate(d.text, E'\x02\x03', ''), $3,
                   E'HighlightAll=true,StartSel=\x02,StopSel=\x03') AS text
  FROM {document} d
 WHERE d.corpus_id = $1 AND d.id = ANY ($2::bigint[])

-- name: tagged(corpus_id, document_ids, tag)
SELECT id FROM {document} WHERE corpus_id = $1 AND id = ANY ($2::bigint[]) AND $3 = ANY (tags)

-- name: count(corpus_id, since, before, tag)
SELECT count(*) FROM {document}
 WHERE corpus_id = $1
   AND ($2::timestamptz IS NULL OR created_at >= $2)
   AND ($3::timestamptz IS NULL OR created_at < $3)
   AND ($4::text IS NULL OR $4 = ANY (tags))
