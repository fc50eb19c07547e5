-- name: judgment
SELECT scores::text AS scores, model, prompt_version FROM judgment WHERE key = $1

-- name: store_judgment
INSERT INTO judgment (key, scores, model, prompt_version, created_at)
VALUES ($1, $2::text::jsonb, $3, $4, $5)
ON CONFLICT (key) DO NOTHING

-- name: forget_judgments
DELETE FROM judgment WHERE created_at < $1

-- name: spent
SELECT coalesce(sum(prompt_tokens), 0)::bigint AS prompt_tokens,
       coalesce(sum(completion_tokens), 0)::bigint AS completion_tokens,
       coalesce(sum(cost_usd), 0)::float8 AS cost_usd
  FROM model_call
 WHERE called_at >= $1 AND called_at < $2

-- name: record
INSERT INTO model_call (called_at, purpose, model, prompt_tokens, completion_tokens, cost_usd)
VALUES ($1, $2, $3, $4, $5, $6)
