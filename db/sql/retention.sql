-- name: forget_documents
-- In batches: each holds the corpus for a moment only.
WITH old AS (
    SELECT id FROM document WHERE corpus_id = $1 AND created_at < $2 ORDER BY id LIMIT 1000
), gone AS (
    DELETE FROM document d USING old WHERE d.corpus_id = $1 AND d.id = old.id RETURNING 1
)
SELECT count(*) FROM gone
