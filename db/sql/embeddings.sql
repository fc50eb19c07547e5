-- {embedding} and {document} stand for the tables of one model and of one corpus. Of a placed corpus
-- the documents are on a worker and the vectors here: a statement selects from one of them, and joins
-- what it found with the other (docs/decisions/0063-placed.md). A post that goes on from another one
-- (flag 512) has an empty text here, and no vector: it is embedded with that one.

-- name: lock
SELECT pg_advisory_xact_lock(7426190513)

-- name: models(name)
SELECT id, name, dimensions FROM embedding_model WHERE $1::text IS NULL OR name = $1 ORDER BY name

-- name: add_model(name, dimensions)
INSERT INTO embedding_model (name, dimensions) VALUES ($1, $2) RETURNING id

-- name: remove_model(name)
DELETE FROM embedding_model WHERE name = $1 RETURNING id

-- name: create
CREATE TABLE IF NOT EXISTS {embedding} (
    corpus_id integer NOT NULL REFERENCES corpus ON DELETE CASCADE,
    document_id bigint NOT NULL,
    source uuid NOT NULL,            -- tells the embedded text from others
    vector halfvec({dimensions}),    -- NULL: the text says nothing
    PRIMARY KEY (corpus_id, document_id)
);
-- Kept inline while it fits the page: otherwise a scan would look up the vectors one by one.
ALTER TABLE {embedding} ALTER COLUMN vector SET STORAGE MAIN

-- name: documents(corpus_id, after_id, last_id, limit)
WITH page AS MATERIALIZED (
    SELECT d.id, concat_ws(' > ', d.title, d.heading) AS title, CASE WHEN d.flags & 512 = 0 THEN d.text ELSE '' END AS text, d.context
      FROM {document} d
     WHERE d.corpus_id = $1 AND d.id > $2 AND ($3::bigint IS NULL OR d.id <= $3)
     ORDER BY d.id
     LIMIT $4
)
SELECT page.*, replace(e.source::text, '-', '') AS source
  FROM page
  LEFT JOIN {embedding} e ON e.corpus_id = $1 AND e.document_id = page.id
 ORDER BY page.id

-- name: new_documents(corpus_id, after_id, last_id, limit)
SELECT d.id, concat_ws(' > ', d.title, d.heading) AS title, CASE WHEN d.flags & 512 = 0 THEN d.text ELSE '' END AS text, d.context, NULL AS source
  FROM {document} d
 WHERE d.corpus_id = $1 AND d.id > $2 AND ($3::bigint IS NULL OR d.id <= $3)
   AND NOT EXISTS (SELECT 1 FROM {embedding} e WHERE e.corpus_id = $1 AND e.document_id = d.id)
 ORDER BY d.id
 LIMIT $4

-- The same of a placed corpus. It lists all ids first: ten times as slow where both tables are here.
-- name: new_placed_documents(corpus_id, after_id, last_id, limit)
WITH stored AS MATERIALIZED (
    SELECT d.id FROM {document} d
     WHERE d.corpus_id = $1 AND d.id > $2 AND ($3::bigint IS NULL OR d.id <= $3)
), new AS MATERIALIZED (
    SELECT id FROM stored
     WHERE NOT EXISTS (SELECT 1 FROM {embedding} e WHERE e.corpus_id = $1 AND e.document_id = stored.id)
     ORDER BY id
     LIMIT $4
)
SELECT d.id, concat_ws(' > ', d.title, d.heading) AS title, CASE WHEN d.flags & 512 = 0 THEN d.text ELSE '' END AS text, d.context, NULL AS source
  FROM new JOIN {document} d ON d.corpus_id = $1 AND d.id = new.id
 ORDER BY d.id

-- name: chosen_documents(corpus_id, ids)
WITH chosen AS MATERIALIZED (
    SELECT d.id, concat_ws(' > ', d.title, d.heading) AS title, CASE WHEN d.flags & 512 = 0 THEN d.text ELSE '' END AS text, d.context
      FROM {document} d
     WHERE d.corpus_id = $1 AND d.id = ANY ($2::bigint[])
)
SELECT chosen.*, replace(e.source::text, '-', '') AS source
  FROM chosen
  LEFT JOIN {embedding} e ON e.corpus_id = $1 AND e.document_id = chosen.id

-- Stores nothing if a lease is named and no longer held. The lease cannot be taken meanwhile.
-- name: store(corpus_id, ids, sources, vectors, model_id, lease, fence, holder)
WITH held AS (
    SELECT FROM lease WHERE name = $6 AND fence = $7 AND holder = $8 FOR SHARE
), stored AS (
    INSERT INTO {embedding} (corpus_id, document_id, source, vector)
    SELECT $1, new.id, new.source::uuid, new.vector::halfvec
      FROM unnest($2::bigint[], $3::text[], $4::text[]) AS new (id, source, vector)
     WHERE $6::text IS NULL OR EXISTS (SELECT FROM held)
     ORDER BY new.id
    ON CONFLICT (corpus_id, document_id) DO UPDATE
       SET source = excluded.source, vector = excluded.vector
    RETURNING (xmax = 0) AS added
)
INSERT INTO embedding_state AS state (model_id, corpus_id, embedded, stored)
SELECT $5, $1, count(*) FILTER (WHERE added), count(*) FROM stored HAVING count(*) > 0
ON CONFLICT (model_id, corpus_id) DO UPDATE
   SET embedded = state.embedded + excluded.embedded, stored = state.stored + excluded.stored
RETURNING stored

-- name: prune(corpus_id)
WITH stored AS MATERIALIZED (SELECT id FROM {document} WHERE corpus_id = $1)
DELETE FROM {embedding} e
 WHERE e.corpus_id = $1 AND NOT EXISTS (SELECT 1 FROM stored WHERE stored.id = e.document_id)

-- name: lock_state(corpus_id, model_id)
SELECT FROM embedding_state WHERE model_id = $2 AND corpus_id = $1 FOR UPDATE

-- name: recount(corpus_id, model_id)
INSERT INTO embedding_state AS state (model_id, corpus_id, embedded)
SELECT $2, $1, count(*) FROM {embedding} WHERE corpus_id = $1
ON CONFLICT (model_id, corpus_id) DO UPDATE
   SET embedded = excluded.embedded, settled = state.stored

-- name: forget_ranges(prefix)
DELETE FROM lease WHERE starts_with(name, $1) AND expires_at = '-infinity'

-- name: state(corpus_id, model_id)
SELECT embedded, stored, settled, generation, shares, index_version
  FROM embedding_state WHERE model_id = $2 AND corpus_id = $1

-- name: coverage
SELECT c.name AS corpus, m.name AS model,
       least(1, state.embedded::float8 / greatest(c.documents, 1)) AS share
  FROM embedding_state state
  JOIN embedding_model m ON m.id = state.model_id
  JOIN corpus c ON c.id = state.corpus_id
 WHERE state.embedded > 0
 ORDER BY c.name, m.name

-- name: renew(corpus_id, model_id, shares, index_version, generations, generation)
INSERT INTO embedding_state AS state (model_id, corpus_id, shares, index_version)
VALUES ($2, $1, $3::jsonb, $4)
ON CONFLICT (model_id, corpus_id) DO UPDATE
   SET shares = excluded.shares, index_version = excluded.index_version,
       generation = state.generation + $5::integer
 WHERE state.generation = $6
RETURNING true

-- name: shares(corpus_id, limit)
SELECT k.lexeme, k.document_frequency::float8 / greatest(c.documents, 1) AS share
  FROM lexeme k JOIN corpus c ON c.id = k.corpus_id
 WHERE k.corpus_id = $1
 ORDER BY k.document_frequency DESC, k.lexeme
 LIMIT $2

-- Tuned on vectors that lie close together: docs/decisions/0014-embeddings.md.
-- name: index
CREATE INDEX {{concurrently}} IF NOT EXISTS {index} ON {embedding}
 USING hnsw (vector halfvec_cosine_ops) WITH (m = 24, ef_construction = 128)
 WHERE corpus_id = {corpus}

-- name: is_valid(index)
SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)

-- name: is_built(index)
-- A build shows its index from its first lock on.
SELECT EXISTS (SELECT FROM pg_stat_progress_create_index
                WHERE index_relid = to_regclass($1)::oid AND datname = current_database())

-- name: count(corpus_id)
SELECT count(*) FROM {embedding} WHERE corpus_id = $1 AND vector IS NOT NULL

-- name: sample(corpus_id, limit)
SELECT d.id, concat_ws(' > ', d.title, d.heading) AS title, CASE WHEN d.flags & 512 = 0 THEN d.text ELSE '' END AS text, d.context
  FROM (SELECT document_id FROM {embedding} WHERE corpus_id = $1 AND vector IS NOT NULL
         ORDER BY source, document_id LIMIT $2) chosen
  JOIN {document} d ON d.corpus_id = $1 AND d.id = chosen.document_id
 ORDER BY d.id

-- name: measured(corpus_id, model_id)
SELECT documents FROM embedding_scale WHERE corpus_id = $1 AND model_id = $2

-- name: keep_scale(corpus_id, model_id, documents, mean, deviation, same, lease, fence, holder)
-- Stores nothing if a lease is named and no longer held.
WITH held AS (
    SELECT FROM lease WHERE name = $7 AND fence = $8 AND holder = $9 FOR SHARE
)
INSERT INTO embedding_scale (corpus_id, model_id, documents, mean, deviation, same)
SELECT $1, $2, $3::bigint, $4::float8, $5::float8, $6::float8
 WHERE $7::text IS NULL OR EXISTS (SELECT FROM held)
ON CONFLICT (model_id, corpus_id) DO UPDATE
   SET documents = excluded.documents, mean = excluded.mean,
       deviation = excluded.deviation, same = excluded.same

-- name: space(corpus_id, model)
SELECT m.id, m.dimensions, s.mean, s.deviation, s.same,
       least(1, state.embedded::float8 / greatest(c.documents, 1)) AS share
  FROM embedding_model m
  LEFT JOIN embedding_scale s ON s.model_id = m.id AND s.corpus_id = $1
  LEFT JOIN embedding_state state ON state.model_id = m.id AND state.corpus_id = $1
  LEFT JOIN corpus c ON c.id = $1
 WHERE m.name = $2

-- name: filled(corpus_id, index)
SELECT EXISTS (SELECT 1 FROM {embedding} WHERE corpus_id = $1 AND vector IS NOT NULL) AS filled,
       EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass($2) AND indisvalid) AS indexed

-- The nearest of all, then the filters. The addition prevents the use of an index, so that every
-- vector is compared.
-- name: nearest_exact(corpus_id, vector, limit)
SELECT d.id, 1 - near.distance AS cosine
  FROM (SELECT e.document_id, (e.vector <=> (SELECT $2::text::halfvec)) + 0 AS distance
          FROM {embedding} e
         WHERE e.corpus_id = $1 AND e.vector IS NOT NULL
         ORDER BY distance, e.document_id
         LIMIT {depth}) near
  JOIN {document} d ON d.corpus_id = $1 AND d.id = near.document_id
 WHERE {passes}
 ORDER BY near.distance, d.created_at, d.id
 LIMIT $3

-- The same for those that the index proposes.
-- name: nearest_indexed(corpus_id, vector, limit)
SELECT d.id, 1 - near.distance AS cosine
  FROM (SELECT e.document_id, e.vector <=> (SELECT $2::text::halfvec) AS distance
          FROM {embedding} e
         WHERE e.corpus_id = {corpus}
         ORDER BY e.vector <=> (SELECT $2::text::halfvec)
         LIMIT {depth}) near
  JOIN {document} d ON d.corpus_id = $1 AND d.id = near.document_id
 WHERE {passes}
 ORDER BY near.distance, d.created_at, d.id
 LIMIT $3

-- The filters first, then the nearest of those that pass.
-- name: nearest_filtered(corpus_id, vector, limit)
WITH passing AS MATERIALIZED (
    SELECT d.id, d.created_at FROM {document} d WHERE d.corpus_id = $1 AND {passes}
)
SELECT near.id, 1 - near.distance AS cosine
  FROM (SELECT p.id, p.created_at, (e.vector <=> (SELECT $2::text::halfvec)) + 0 AS distance
          FROM passing p
          JOIN {embedding} e ON e.corpus_id = $1 AND e.document_id = p.id
         WHERE e.vector IS NOT NULL) near
 ORDER BY near.distance, near.created_at, near.id
 LIMIT $3

-- name: cosines(corpus_id, vector, document_ids)
SELECT e.document_id AS id, 1 - (e.vector <=> (SELECT $2::text::halfvec)) AS cosine
  FROM {embedding} e
 WHERE e.corpus_id = $1 AND e.document_id = ANY ($3::bigint[]) AND e.vector IS NOT NULL

-- name: alike(corpus_id, document_ids, cosine)
SELECT one.document_id AS one, other.document_id AS other
  FROM {embedding} one
  JOIN {embedding} other
    ON other.corpus_id = one.corpus_id AND other.document_id > one.document_id
 WHERE one.corpus_id = $1 AND one.document_id = ANY ($2::bigint[])
   AND other.document_id = ANY ($2::bigint[])
   AND 1 - (one.vector <=> other.vector) > $3

-- name: lexemes(corpus_id, texts, configuration)
SELECT t.place, u.lexeme, cardinality(u.positions) AS frequency,
       coalesce(k.document_frequency, 0) AS document_frequency
  FROM unnest($2::text[]) WITH ORDINALITY AS t (text, place)
 CROSS JOIN LATERAL unnest(to_lexemes($3, t.text)) AS u
  LEFT JOIN lexeme k ON k.corpus_id = $1 AND k.lexeme = u.lexeme

-- name: described
SELECT id, external_id, text, context, created_at, author, url, lang, flags, length, platform,
       dated_by, meta ->> 'beside' AS beside, {bm25} AS bm25, ARRAY[{frequencies}]::integer[] AS frequencies
  FROM {document}
 WHERE id = ANY ($4::bigint[])

-- name: set_aside(model)
SELECT replace(source::text, '-', '') AS source FROM set_aside_text WHERE model = $1

-- Questions come from strangers: the newest thousand stay.
-- name: add_set_aside(model, source, characters)
WITH old AS (
    DELETE FROM set_aside_text
     WHERE model = $1 AND source IN (SELECT source FROM set_aside_text WHERE model = $1
                                      ORDER BY set_aside_at DESC OFFSET 999)
)
INSERT INTO set_aside_text (model, source, characters) VALUES ($1, $2::uuid, $3)
ON CONFLICT DO NOTHING

-- name: set_aside_texts
SELECT s.model, m.id AS model_id, s.source, s.characters
  FROM set_aside_text s LEFT JOIN embedding_model m ON m.name = s.model
 ORDER BY s.model, s.set_aside_at, s.source

-- name: set_aside_vectors(sources)
SELECT c.id AS corpus_id, c.name AS corpus, e.document_id, e.source
  FROM {embedding} e
  JOIN corpus c ON c.id = e.corpus_id
 WHERE e.source = ANY ($1::uuid[]) AND e.vector IS NULL
 ORDER BY c.name, e.document_id

-- name: set_aside_documents(ids)
SELECT external_id FROM {document} WHERE id = ANY ($1::bigint[]) ORDER BY id

-- name: forget_set_aside(model)
DELETE FROM set_aside_text WHERE model = $1
