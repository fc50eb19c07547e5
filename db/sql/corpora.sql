-- name: select(name)
SELECT c.id, c.name, c.kind, c.language, c.author, c.url_template, c.role, c.documents, c.tokens,
       c.empty, c.description, c.index_version, c.display_name, c.avatar IS NOT NULL AS has_avatar,
       coalesce(c.postings_to = 9223372036854775807, c.placed_postings, false) AS postings,
       c.placed_postings IS NOT NULL AS placed,
       EXISTS (SELECT FROM item i WHERE i.corpus_id = c.id) AS in_parts,
       coalesce((SELECT array_agg(l.language ORDER BY l.documents DESC, l.language)
                   FROM corpus_language l WHERE l.corpus_id = c.id), '{}') AS languages,
       (SELECT version FROM glossary_version) AS glossary
  FROM corpus c
 WHERE $1::text IS NULL OR c.name = $1
 ORDER BY c.name

-- name: insert(name, kind, language, author, role, description)
INSERT INTO corpus (name, kind, language, author, role, description)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (name) DO NOTHING
RETURNING id

-- name: change(name, author, url_template, description)
UPDATE corpus
   SET author = coalesce($2, author), url_template = coalesce($3, url_template),
       description = CASE WHEN $4::text IS NULL THEN description ELSE nullif($4, '') END
 WHERE name = $1

-- name: describe(name, display_name, avatar)
UPDATE corpus
   SET display_name = CASE WHEN $2::text IS NULL THEN display_name ELSE nullif($2, '') END,
       avatar = CASE WHEN $3::bytea IS NULL THEN avatar ELSE nullif($3, '') END
 WHERE name = $1

-- name: avatar(name)
SELECT avatar FROM corpus WHERE name = $1

-- name: lock(name)
SELECT id, documents FROM corpus WHERE name = $1 FOR UPDATE

-- name: delete(corpus_id)
DELETE FROM corpus WHERE id = $1

-- name: languages
SELECT substr(cfgname, 10) FROM pg_catalog.pg_ts_config
 WHERE cfgname LIKE 'presagio\_%' ORDER BY 1

-- name: lock_languages
SELECT pg_advisory_xact_lock(7426190514)

-- name: add_languages
SELECT add_languages()

-- name: items(corpus_id)
SELECT count(*) FROM item WHERE corpus_id = $1

-- name: span
SELECT {corpus} AS corpus_id, min(created_at) AS oldest, max(created_at) AS newest FROM {document}

-- name: frequent_authors
SELECT author FROM {document} WHERE author IS NOT NULL
 GROUP BY author ORDER BY count(*) DESC, author LIMIT 12

-- name: only_author
SELECT min(author) FROM {document}
HAVING min(author) = max(author) AND count(author) = count(*)

-- name: names_authors
SELECT EXISTS (SELECT 1 FROM {document} WHERE author IS NOT NULL)
