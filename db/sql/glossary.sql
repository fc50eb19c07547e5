-- name: lock
SELECT version FROM glossary_version FOR UPDATE

-- name: groups(status, corpus_id)
SELECT g.id, c.name AS corpus, g.status, g.terms, g.sure
  FROM alias_group g LEFT JOIN corpus c ON c.id = g.corpus_id
 WHERE ($1::text IS NULL OR g.status = $1)
   AND ($2::integer IS NULL OR g.corpus_id IS NULL OR g.corpus_id = $2)
 ORDER BY g.id

-- name: holding(corpus_id)
-- The groups that apply in one corpus: its own first, then those of all corpora.
SELECT terms FROM alias_group
 WHERE status = 'approved' AND (corpus_id IS NULL OR corpus_id = $1)
 ORDER BY corpus_id NULLS LAST, id

-- name: rejected(corpus_id)
-- The pairs rejected in a corpus, or in all; without a corpus, those rejected anywhere.
SELECT c.name AS corpus, r.first, r.second
  FROM rejected_alias r LEFT JOIN corpus c ON c.id = r.corpus_id
 WHERE $1::integer IS NULL OR r.corpus_id IS NULL OR r.corpus_id = $1
 ORDER BY c.name NULLS FIRST, r.first, r.second

-- name: rejected_here(corpus_id)
SELECT first, second FROM rejected_alias WHERE corpus_id = $1

-- name: same(corpus_id, keys, status)
-- The group that holds these terms, of this corpus or of all; for an approval, pending groups do
-- not count.
SELECT id FROM alias_group
 WHERE keys @> $2::text[] AND (corpus_id IS NULL OR corpus_id = $1)
   AND (status = 'approved' OR $3 = 'pending')
 ORDER BY id LIMIT 1

-- name: insert(corpus_id, status, terms, keys, sure, created_at)
INSERT INTO alias_group (corpus_id, status, terms, keys, sure, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (corpus_id, keys) DO UPDATE
   SET status = excluded.status, terms = excluded.terms
 WHERE alias_group.status = 'pending'
RETURNING id

-- name: approve(group_id)
UPDATE alias_group SET status = 'approved' WHERE id = $1

-- name: remove(group_id)
DELETE FROM alias_group WHERE id = $1

-- name: find(group_ids)
SELECT id, corpus_id, terms FROM alias_group WHERE id = ANY ($1::integer[]) ORDER BY id

-- name: bar(corpus_id, firsts, seconds, rejected_at)
INSERT INTO rejected_alias (corpus_id, first, second, rejected_at)
SELECT $1, p.first, p.second, $4
  FROM unnest($2::text[], $3::text[]) AS p (first, second)
ON CONFLICT DO NOTHING

-- name: forget_pending(corpus_id, firsts, seconds)
-- Other pending groups that say the same, where the rejection applies.
DELETE FROM alias_group g
 USING unnest($2::text[], $3::text[]) AS p (first, second)
 WHERE g.status = 'pending' AND g.keys @> ARRAY[p.first, p.second]
   AND ($1::integer IS NULL OR g.corpus_id = $1)

-- name: lift(corpus_id, firsts, seconds)
-- A decision about all corpora covers each of them.
DELETE FROM rejected_alias r
 USING unnest($2::text[], $3::text[]) AS p (first, second)
 WHERE ($1::integer IS NULL OR r.corpus_id = $1) AND (r.first, r.second) = (p.first, p.second)

-- name: sample(corpus_id, step, limit)
SELECT text FROM {document}
 WHERE corpus_id = $1 AND id % $2::bigint = 0
 ORDER BY id LIMIT $3
