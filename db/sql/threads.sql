-- name: list(corpus_id, limit)
SELECT thread_id AS id, max(title) AS title, count(*) AS documents,
       count(DISTINCT author) AS authors, min(created_at) AS oldest, max(created_at) AS newest
  FROM {document}
 WHERE corpus_id = $1 AND thread_id IS NOT NULL
 GROUP BY thread_id
 ORDER BY newest DESC NULLS LAST, id
 LIMIT $2

-- name: read(corpus_id, thread_id, limit)
SELECT id, external_id, created_at, author, role, text, url, reply_to, attribution, flags
  FROM {document}
 WHERE corpus_id = $1 AND thread_id = $2
 ORDER BY created_at, id
 LIMIT $3
