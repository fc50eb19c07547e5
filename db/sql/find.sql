-- Braces stand for the table of a corpus, an expression made of numbered placeholders, or a
-- parameter: see db/search/find_statement.py. Every value is bound.

-- name: passes
{filters}
AND ({not_during}::tstzrange[] IS NULL
     OR NOT coalesce(created_at <@ ANY ({not_during}), false))
AND ({minimum}::integer IS NULL OR engagement >= {minimum})
AND ({below}::integer IS NULL OR engagement < {below})
AND ({authors}::text[] IS NULL OR lower(author) = ANY ({authors}))
AND ({languages}::text[] IS NULL OR coalesce(lang, language) = ANY ({languages}))
AND ({platforms}::text[] IS NULL OR lower(platform) = ANY ({platforms}))
AND ({roles}::text[] IS NULL OR lower(role) = ANY ({roles}))
AND ({domains}::text[] IS NULL OR domains_of(meta, url) && {domains})
AND ({threads}::text[] IS NULL OR thread_id = ANY ({threads}))
AND ({tags}::text[] IS NULL OR tags @> {tags})
AND ({mentions}::text[] IS NULL OR mentions @> {mentions})
AND ({not_authors}::text[] IS NULL OR NOT coalesce(lower(author) = ANY ({not_authors}), false))
AND ({not_languages}::text[] IS NULL OR coalesce(lang, language) <> ALL ({not_languages}))
AND ({not_platforms}::text[] IS NULL
     OR NOT coalesce(lower(platform) = ANY ({not_platforms}), false))
AND ({not_roles}::text[] IS NULL OR NOT coalesce(lower(role) = ANY ({not_roles}), false))
AND ({not_domains}::text[] IS NULL OR NOT domains_of(meta, url) && {not_domains})
AND ({not_threads}::text[] IS NULL OR NOT coalesce(thread_id = ANY ({not_threads}), false))
AND ({not_tags}::text[] IS NULL OR NOT tags && {not_tags})
AND ({not_mentions}::text[] IS NULL OR NOT mentions && {not_mentions})

-- name: ranked
WITH matching AS MATERIALIZED ({matching}), best AS ({best})
SELECT counts.matching, counts.passing, best.bm25, {columns}
  FROM (SELECT count(*) AS matching, count(*) FILTER (WHERE passes) AS passing
          FROM matching) counts
  LEFT JOIN best ON true
  LEFT JOIN {document} d ON d.corpus_id = {corpus} AND d.id = best.id
 ORDER BY round(best.bm25 * 1e9::float8) DESC, d.created_at, d.id

-- name: best_by_words
-- The classes add up the same score in different order: differences by rounding are ties.
SELECT id, bm25 FROM matching WHERE passes
 ORDER BY round(bm25 * 1e9::float8) DESC, created_at, id LIMIT {limit}

-- name: best_by_all
-- Whatever a profile could put first: good by words, or new, or much liked.
({best_by_words})
UNION
(SELECT id, bm25 FROM matching WHERE passes ORDER BY created_at DESC NULLS LAST, id LIMIT {limit})
UNION
(SELECT id, bm25 FROM matching WHERE passes
  ORDER BY engagement DESC, created_at, id LIMIT {limit})

-- name: branch
SELECT id, created_at, engagement, {score} AS bm25, ({passes}) AS passes
  FROM {document}
 WHERE {condition} AND tsv @@ {any}
   -- Matches each text with its own language's query; NULL if all languages read the same.
   AND ({queries}::tsquery[] IS NULL
        OR tsv @@ ({queries})[array_position({query_languages}::text[], language)])

-- name: with_scores
-- The scores from postings: of a long text it costs much to count a lexeme.
SELECT m.id, m.created_at, m.engagement, coalesce(s.bm25, 0) AS bm25, m.passes
  FROM ({branches}) m LEFT JOIN ({scored}) s ON s.id = m.id

-- name: plan_for_values
-- Visits every row that passes the filters: knowing which those are is worth a custom plan.
SET LOCAL plan_cache_mode = force_custom_plan

-- name: allowed
SELECT id, created_at FROM {document}
 WHERE ({passes})
   AND ({queries}::tsquery[] IS NULL
        OR NOT coalesce(
            tsv @@ ({queries})[array_position({query_languages}::text[], language)], false))

-- name: newest
WITH passing AS MATERIALIZED ({allowed}), best AS (
    SELECT id FROM passing ORDER BY created_at DESC NULLS LAST, id DESC LIMIT {limit}
)
SELECT NULL::bigint AS matching, counts.passing, 0::float8 AS bm25, {columns}
  FROM (SELECT count(*) AS passing FROM passing) counts
  LEFT JOIN best ON true
  LEFT JOIN {document} d ON d.corpus_id = {corpus} AND d.id = best.id
 ORDER BY d.created_at DESC NULLS LAST, d.id DESC

-- The addition prevents the use of a vector index: everything that passes is compared.
-- name: nearest
WITH passing AS MATERIALIZED ({allowed}), best AS (
    SELECT p.id, p.created_at, (e.vector <=> (SELECT {vector}::text::halfvec)) + 0 AS distance
      FROM passing p
      JOIN {embedding} e ON e.corpus_id = {corpus} AND e.document_id = p.id
     WHERE e.vector IS NOT NULL
     ORDER BY distance, p.created_at, p.id
     LIMIT {limit}
)
SELECT NULL::bigint AS matching, counts.passing, 1 - best.distance AS cosine, {columns}
  FROM (SELECT count(*) AS passing FROM passing) counts
  LEFT JOIN best ON true
  LEFT JOIN {document} d ON d.corpus_id = {corpus} AND d.id = best.id
 ORDER BY best.distance, d.created_at, d.id

-- name: columns
d.id, d.external_id, d.text, d.context, d.created_at, d.author, d.url, d.lang, d.flags, d.length,
d.dated_by, d.title, d.role, d.platform, d.thread_id, d.attribution, d.tags, d.mentions,
d.engagement,
d.meta ->> 'beside' AS beside, d.meta ->> 'attachments' AS attachments, d.meta ->> 'participants' AS participants,
(domains_of(d.meta, d.url))[1] AS domain,
ARRAY(SELECT CASE WHEN d.tsv @@ x.lexeme THEN term_frequency(d.tsv, x.lexeme)::integer ELSE 0 END
        FROM unnest({lexemes}::tsquery[]) WITH ORDINALITY AS x (lexeme, place)
       ORDER BY x.place) AS frequencies,
-- NULL if there is no text but its own.
CASE WHEN d.context_search_text IS NOT NULL THEN ARRAY(
    SELECT CASE WHEN own.tsv @@ x.lexeme THEN term_frequency(own.tsv, x.lexeme)::integer ELSE 0 END
      FROM (SELECT to_lexemes(d.language, d.search_text) AS tsv) own,
           unnest({lexemes}::tsquery[]) WITH ORDINALITY AS x (lexeme, place)
     ORDER BY x.place) END AS own_frequencies

-- name: comments(corpus_id, external_ids, limit)
-- The strongest of each post; the author's own replies in its thread are comments, too.
SELECT post.external_id AS post, c.external_id, c.text, c.created_at, c.author, c.url, c.engagement
  FROM unnest($2::text[]) AS post (external_id)
 CROSS JOIN LATERAL (
    SELECT external_id, text, created_at, author, url, engagement FROM {document}
     WHERE corpus_id = $1 AND reply_to = post.external_id
     ORDER BY engagement DESC, created_at, id LIMIT $3) c
