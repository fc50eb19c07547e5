-- name: record(keep_from, asked_at, task, origin, job, corpus, query, keep_query, expanded,
--              filters, plan, counts, returned, milliseconds, prompt_tokens, completion_tokens,
--              cost_usd, error, platforms)
-- One statement stores the entry and deletes expired ones. It does not wait for the disk: a crash
-- may lose the last entries, and nothing else.
WITH hurried AS (
    SELECT set_config('synchronous_commit', 'off', true)
), old AS (
    SELECT id FROM search_log WHERE asked_at < $1 ORDER BY asked_at LIMIT 1000
), gone AS (
    DELETE FROM search_log l USING old WHERE l.id = old.id
)
INSERT INTO search_log (asked_at, task, origin, job, corpus, query, query_hash, expanded, filters,
                        plan, counts, returned, milliseconds, prompt_tokens, completion_tokens,
                        cost_usd, error, platforms)
SELECT $2::timestamptz, $3, $4, $5, $6, CASE WHEN $8::boolean THEN $7::text END,
       left(encode(sha256(convert_to(k.key || ' ' || $7::text, 'UTF8')), 'hex'), 32),
       $9, $10::text[], $11, $12::jsonb, $13::text[], $14::real, $15::integer, $16::integer,
       $17::double precision, $18, $19::text[]
  FROM search_log_key k, hurried
 WHERE $2::timestamptz >= $1

-- name: recent(since, missed_only, limit)
SELECT id, asked_at, task, origin, job, corpus, query, query_hash, expanded, filters, plan,
       counts::text AS counts, returned, platforms, milliseconds, prompt_tokens, completion_tokens,
       cost_usd, error
  FROM search_log
 WHERE asked_at >= $1 AND (NOT $2::boolean OR error IS NOT NULL OR returned = '{}')
 ORDER BY id DESC LIMIT $3

-- name: missed(corpus, within, limit)
SELECT query FROM search_log
 WHERE corpus = $1 AND asked_at >= now() - $2::interval AND job = 'find' AND query IS NOT NULL
   AND returned = '{}' AND error IS NULL
 GROUP BY query ORDER BY count(*) DESC, max(asked_at) DESC, query LIMIT $3
