-- name: judgment(key)
SELECT scores::text AS scores, model, prompt_version FROM judgment WHERE key = $1

-- name: store_judgment(key, created_at, forget_before, model, prompt_version, scores)
-- Does not wait for the disk: a crash of the server costs at most a repeated request, or one call
-- missing from the count.
WITH forgotten AS (DELETE FROM judgment WHERE created_at < $3::timestamptz)
INSERT INTO judgment (key, created_at, model, prompt_version, scores)
SELECT $1, $2::timestamptz, $4, $5, $6::text::jsonb
  FROM set_config('synchronous_commit', 'off', true)
ON CONFLICT (key) DO NOTHING

-- name: expansion(key)
SELECT phrases, model, prompt_version FROM expansion WHERE key = $1

-- name: store_expansion(key, created_at, forget_before, model, prompt_version, phrases)
WITH forgotten AS (DELETE FROM expansion WHERE created_at < $3::timestamptz)
INSERT INTO expansion (key, created_at, model, prompt_version, phrases)
SELECT $1, $2::timestamptz, $4, $5, $6::text[]
  FROM set_config('synchronous_commit', 'off', true)
ON CONFLICT (key) DO NOTHING

-- name: model_answer(key)
SELECT claims::text AS claims, model, prompt_version, damage::text AS damage
  FROM model_answer WHERE key = $1

-- name: store_model_answer(key, created_at, forget_before, model, prompt_version, claims, damage)
WITH forgotten AS (DELETE FROM model_answer WHERE created_at < $3::timestamptz)
INSERT INTO model_answer (key, created_at, model, prompt_version, claims, damage)
SELECT $1, $2::timestamptz, $4, $5, $6::text::jsonb, $7::text::jsonb
  FROM set_config('synchronous_commit', 'off', true)
ON CONFLICT (key) DO NOTHING

-- Tokens of embeddings cost a hundredth of others and are many, so they count only as money. A call
-- in progress at $3 counts at its maximum cost; NULL leaves those out.
-- name: spent(since, until, now)
SELECT source,
       sum(prompt_tokens)::bigint AS prompt_tokens,
       sum(completion_tokens)::bigint AS completion_tokens,
       sum(cost_usd)::float8 AS cost_usd
  FROM (SELECT source,
               CASE WHEN purpose = 'embed' THEN 0 ELSE coalesce(prompt_tokens, 0) END
                 AS prompt_tokens,
               coalesce(completion_tokens, 0) AS completion_tokens,
               coalesce(cost_usd, 0) AS cost_usd
          FROM model_call
         WHERE called_at >= $1 AND called_at < $2
        UNION ALL
        SELECT source, tokens, 0, cost_usd
          FROM model_call_under_way
         WHERE expires_at > $3::timestamptz) AS call
 GROUP BY source

-- name: spent_in_all
SELECT coalesce(sum(prompt_tokens), 0)::bigint AS prompt_tokens,
       coalesce(sum(completion_tokens), 0)::bigint AS completion_tokens,
       coalesce(sum(cost_usd), 0)::float8 AS cost_usd
  FROM model_call

-- name: record(called_at, purpose, model, prompt_tokens, completion_tokens, cost_usd, source)
INSERT INTO model_call
       (called_at, purpose, model, prompt_tokens, completion_tokens, cost_usd, source)
SELECT $1::timestamptz, $2, $3, $4::integer, $5::integer, $6::float8, $7
  FROM set_config('synchronous_commit', 'off', true)

-- A caller that waited here sees, in its next statement, everything counted before it.
-- name: lock_ledger
SELECT pg_advisory_xact_lock(7426190519)

-- name: reserve(source, tokens, cost_usd, expires_at, now)
WITH gone AS (DELETE FROM model_call_under_way WHERE expires_at <= $5::timestamptz)
INSERT INTO model_call_under_way (source, tokens, cost_usd, expires_at)
SELECT $1, $2::integer, $3::float8, $4::timestamptz
  FROM set_config('synchronous_commit', 'off', true)
RETURNING id

-- name: release(call_id)
WITH hurried AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
DELETE FROM model_call_under_way USING hurried WHERE id = $1

-- name: page(address)
SELECT url, title, author, site, published_at AS date, text, etag, last_modified, fetched_at
  FROM web_cache
 WHERE address = $1

-- name: store_page(address, url, title, author, site, published_at, text, etag, last_modified, fetched_at)
-- Does not wait for the disk: a crash of the server costs at most another fetch.
INSERT INTO web_cache
       (address, url, title, author, site, published_at, text, etag, last_modified, fetched_at)
SELECT $1, $2, $3, $4, $5, $6::timestamptz, $7, $8, $9, $10::timestamptz
  FROM set_config('synchronous_commit', 'off', true)
ON CONFLICT (address) DO UPDATE
   SET url = excluded.url, title = excluded.title, author = excluded.author,
       site = excluded.site, published_at = excluded.published_at, text = excluded.text,
       etag = excluded.etag, last_modified = excluded.last_modified,
       fetched_at = excluded.fetched_at

-- name: forget_pages(before, most_bytes)
WITH kept AS (
    SELECT address, sum(bytes) OVER (ORDER BY fetched_at DESC, address) AS bytes FROM web_cache
), gone AS (
    DELETE FROM web_cache c USING kept k
     WHERE c.address = k.address AND (c.fetched_at < $1 OR k.bytes > $2::bigint)
    RETURNING 1
)
SELECT count(*) FROM gone
