-- name: places(document_ids)
SELECT d.id, i.id AS item, coalesce(i.title, i.external_id) AS title, d.part, d.heading, d.page,
       d.last_page, i.pages, i.page_labels[d.page] AS page_label,
       i.page_labels[d.last_page] AS last_label
  FROM {document} d JOIN item i ON i.id = d.item_id
 WHERE d.corpus_id = {corpus} AND d.id = ANY ($1::bigint[])
