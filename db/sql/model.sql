-- name: judgment
SELECT scores::text AS scores, model, prompt_version FROM judgment WHERE key = $1

-- name: store_judgment
-- What a crash of the server may cost here is asked for once more, or was counted wrong by a call:
-- nobody waits for the disk.
WITH forgotten AS (DELETE FROM judgment WHERE created_at < $6::timestamptz)
INSERT INTO judgment (key, scores, model, prompt_version, created_at)
SELECT $1, $2::text::jsonb, $3, $4, $5::timestamptz
  FROM set_config('synchronous_commit', 'off', true)
ON CONFLICT (key) DO NOTHING

-- Tokens of embeddings cost a hundredth of others and are many: they count in money alone.
-- name: spent
SELECT coalesce(sum(prompt_tokens) FILTER (WHERE purpose <> 'embed'), 0)::bigint AS prompt_tokens,
       coalesce(sum(completion_tokens), 0)::bigint AS completion_tokens,
       coalesce(sum(cost_usd), 0)::float8 AS cost_usd
  FROM model_call
 WHERE called_at >= $1 AND called_at < $2

-- name: record
INSERT INTO model_call (called_at, purpose, model, prompt_tokens, completion_tokens, cost_usd)
SELECT $1::timestamptz, $2, $3, $4::integer, $5::integer, $6::float8
  FROM set_config('synchronous_commit', 'off', true)
