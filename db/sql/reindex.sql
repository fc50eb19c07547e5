-- {document} stands for the table of one corpus, {corpus} for its id.

-- name: lock(corpus_id)
SELECT index_version, coalesce(reindexed_to, 0) AS reindexed_to FROM corpus WHERE id = $1 FOR UPDATE

-- name: page(corpus_id, after_id, limit)
SELECT id, concat_ws(E'\n', title, heading) AS title, text, context, search_text, context_search_text
  FROM {document} WHERE corpus_id = $1 AND id > $2
 ORDER BY id LIMIT $3

-- Unchanged rows are not written: each written row is added to all indexes again.
-- name: update(ids, texts, contexts, search_texts, context_search_texts)
UPDATE document d
   SET text = n.text, context = n.context,
       search_text = n.search_text, context_search_text = n.context_search_text
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[])
       AS n (id, text, context, search_text, context_search_text)
 WHERE d.corpus_id = {corpus} AND d.id = n.id
   AND ((d.text, d.context, d.search_text, d.context_search_text)
        IS DISTINCT FROM (n.text, n.context, n.search_text, n.context_search_text)
        OR d.flags & 512 = 0 AND d.tsv IS DISTINCT FROM to_lexemes(
            d.language, concat_ws(' ', n.search_text, n.context_search_text)))

-- name: keep_place(corpus_id, reindexed_to)
UPDATE corpus SET reindexed_to = $2 WHERE id = $1

-- name: forget_lexemes(corpus_id)
DELETE FROM lexeme WHERE corpus_id = $1 AND document_frequency = 0

-- name: finish(corpus_id, index_version)
UPDATE corpus SET index_version = $2, reindexed_to = NULL WHERE id = $1

-- name: rest(corpus_id)
SELECT count(*) FROM {document}
 WHERE corpus_id = $1 AND id > (SELECT coalesce(reindexed_to, 0) FROM corpus WHERE id = $1)
