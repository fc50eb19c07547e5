-- {document} and {postings} stand for the tables of one corpus, {corpus} for its id. Of a placed
-- corpus these are distributed, and {staged} is the partition of `document` that it had before: empty
-- between two transactions.

-- name: citus
SELECT count(*) FROM pg_catalog.pg_extension WHERE extname = 'citus'

-- name: count_workers
SELECT count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards AND noderole = 'primary'

-- name: lock(corpus_id)
SELECT documents, postings_to, placed_postings FROM corpus WHERE id = $1 FOR UPDATE

-- name: create
CREATE TABLE {moving} (LIKE {document} INCLUDING ALL EXCLUDING IDENTITY)

-- name: distribute(table)
SELECT create_distributed_table($1::text::regclass, NULL, colocate_with => 'none')

-- name: distribute_beside(table, other)
SELECT create_distributed_table($1::text::regclass, NULL, colocate_with => $2)

-- name: page(after, limit)
SELECT max(id) FROM (SELECT id FROM {document} WHERE id > $1 ORDER BY id LIMIT $2) page

-- name: copy(after, last)
INSERT INTO {moving} SELECT * FROM {document} WHERE id > $1 AND id <= $2

-- name: mark(corpus_id, placed_postings, postings_to)
UPDATE corpus SET placed_postings = $2, postings_to = $3 WHERE id = $1

-- name: places
SELECT c.name AS corpus, n.nodename || ':' || n.nodeport AS worker
  FROM corpus c
  JOIN pg_dist_shard s ON s.logicalrelid = to_regclass('document_' || c.id)
  JOIN pg_dist_placement p ON p.shardid = s.shardid
  JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
 WHERE c.placed_postings IS NOT NULL
 ORDER BY c.name

-- name: workers
-- What each worker says of itself, NULL if it does not answer. It is asked twice: the question itself
-- would wait for a worker that hangs.
SELECT name, said.result::jsonb AS said
  FROM (SELECT nodename || ':' || nodeport AS name, nodename, nodeport,
               citus_check_connection_to_node(nodename, nodeport) AS answers
          FROM pg_dist_node WHERE shouldhaveshards AND noderole = 'primary' OFFSET 0) node
  LEFT JOIN LATERAL master_run_on_worker(ARRAY[nodename], ARRAY[nodeport], ARRAY[$ask$
           SELECT jsonb_build_object(
                      'postgres', current_setting('server_version'),
                      'citus', (SELECT extversion FROM pg_extension WHERE extname = 'citus'),
                      'undecided', (SELECT count(*) FROM pg_prepared_xacts
                                     WHERE database = current_database()
                                       AND prepared < now() - interval '1 minute'))
       $ask$], false) said ON answers AND said.success
 ORDER BY name

-- name: silent(corpora, worker)
-- One of some corpora, with the worker of it that is given or, if none is, that does not answer. They
-- are written as text, which the driver can send without asking what an array is.
SELECT c.name, n.nodename || ':' || n.nodeport AS worker
  FROM corpus c
  JOIN pg_dist_shard s ON s.logicalrelid = to_regclass('document_' || c.id)
  JOIN pg_dist_placement p ON p.shardid = s.shardid
  JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
 WHERE c.id = ANY ($1::text::integer[])
   AND CASE WHEN $2::text IS NULL THEN NOT citus_check_connection_to_node(n.nodename, n.nodeport)
            ELSE n.nodename || ':' || n.nodeport = $2 END
 LIMIT 1

-- name: placed_postings(corpus_id)
SELECT placed_postings FROM corpus WHERE id = $1

-- name: touch
-- Writes to the worker before anything is read from it: docs/decisions/0063-placed.md.
UPDATE {document} SET flags = flags WHERE id < 0

-- Citus brings rows into no partition: these go through a table of their own.

-- name: lend
CREATE TEMPORARY TABLE lent (LIKE {staged}) ON COMMIT DROP

-- name: take
INSERT INTO lent SELECT * FROM {document} WHERE id IN ({chosen})

-- name: keep
INSERT INTO {staged} SELECT * FROM lent

-- name: staged_ids
SELECT coalesce(array_agg(id), '{{}}') FROM {staged}

-- name: remove_postings(ids)
DELETE FROM {postings} p USING {document} d, unnest(d.tsv) u
 WHERE d.id = ANY ($1::bigint[]) AND p.lexeme = u.lexeme AND p.document = d.id

-- name: remove(ids)
DELETE FROM {document} WHERE id = ANY ($1::bigint[])

-- name: give_back
INSERT INTO {document} SELECT * FROM {staged}

-- name: add_postings(ids)
INSERT INTO {postings} (document, length, tf, lexeme)
SELECT d.id, d.length, cardinality(u.positions), u.lexeme
  FROM {document} d, unnest(d.tsv) u
 WHERE d.id = ANY ($1::bigint[])
 ORDER BY u.lexeme COLLATE "C", d.id

-- name: all_postings
INSERT INTO {moving_postings} (document, length, tf, lexeme)
SELECT d.id, d.length, cardinality(u.positions), u.lexeme
  FROM {moving} d, unnest(d.tsv) u
 ORDER BY u.lexeme COLLATE "C", d.id

-- Which documents a change takes; those that it reads besides are among them.

-- name: batch(corpus_id, external_ids)
-- What a batch may replace: two arrays, of external ids and of items. No row for a corpus that is here.
SELECT ARRAY(SELECT external_id FROM staging UNION SELECT unnest($2::text[])),
       ARRAY(SELECT id FROM item WHERE corpus_id = $1 AND external_id = ANY ($2::text[]))
  FROM corpus
 WHERE id = $1 AND placed_postings IS NOT NULL

-- name: in_batch(external_ids, items)
SELECT id FROM {document} WHERE external_id = ANY ($1::text[]) OR item_id = ANY ($2::bigint[])

-- name: between(after, last)
SELECT id FROM {document} WHERE id > $1 AND id <= $2

-- name: among(ids)
SELECT unnest($1::bigint[])

-- name: old(before)
SELECT id FROM {document} WHERE created_at < $1 ORDER BY id LIMIT 1000

-- name: unstitched(joined)
-- Replies whose answered message has changed, and these messages.
SELECT unnest(ARRAY[d.id, p.id])
  FROM {document} d
  JOIN {document} p ON d.reply_to = p.external_id AND d.id <> p.id
 WHERE d.author IS NOT DISTINCT FROM p.author AND d.flags & $1 = 0
   AND (d.context_search_text IS DISTINCT FROM p.search_text OR d.context IS DISTINCT FROM p.text)
