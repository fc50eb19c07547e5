-- name: forget_documents(before)
-- In batches, so that each holds the corpus only for a moment. Uses the table of all corpora, as
-- documents.sql does.
WITH old AS (
    SELECT id FROM document
     WHERE corpus_id = {corpus} AND created_at < $1 ORDER BY id LIMIT 1000
), gone AS (
    DELETE FROM document d USING old WHERE d.corpus_id = {corpus} AND d.id = old.id RETURNING 1
)
SELECT count(*) FROM gone

-- name: kept_items
SELECT coalesce(array_agg(DISTINCT item_id), '{{}}') FROM {document} WHERE item_id IS NOT NULL

-- name: forget_items(before, kept_items)
-- Those whose last part is gone.
DELETE FROM item i
 WHERE i.corpus_id = {corpus} AND i.created_at < $1 AND i.id <> ALL ($2::bigint[])
