-- name: forget_documents(before)
-- In batches, so that each holds the corpus only for a moment. Uses the table of all corpora, as
-- documents.sql does.
WITH old AS (
    SELECT id FROM {document} WHERE created_at < $1 ORDER BY id LIMIT 1000
), gone AS (
    DELETE FROM document d USING old WHERE d.corpus_id = {corpus} AND d.id = old.id RETURNING 1
)
SELECT count(*) FROM gone

-- name: forget_items(before)
-- Those whose last part is gone.
DELETE FROM item i
 WHERE i.corpus_id = {corpus} AND i.created_at < $1
   AND NOT EXISTS (SELECT FROM {document} d WHERE d.item_id = i.id)
