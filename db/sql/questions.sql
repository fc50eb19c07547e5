-- name: model_answer(key)
SELECT claims::text AS claims, model, prompt_version, damage::text AS damage
  FROM model_answer WHERE key = $1

-- name: store_model_answer(key, claims, model, prompt_version, damage, created_at, forget_before)
-- As with judgments, this does not wait for the disk.
WITH forgotten AS (DELETE FROM model_answer WHERE created_at < $7::timestamptz)
INSERT INTO model_answer (key, claims, model, prompt_version, damage, created_at)
SELECT $1, $2::text::jsonb, $3, $4, $5::text::jsonb, $6::timestamptz
  FROM set_config('synchronous_commit', 'off', true)
ON CONFLICT (key) DO NOTHING

-- name: keep_question(chat_id, thread, asked_at, text, corpus)
INSERT INTO question (chat_id, thread, asked_at, text, corpus)
SELECT $1::bigint, $2, $3::timestamptz, $4, $5
  FROM set_config('synchronous_commit', 'off', true)

-- name: last_questions(chat_id, thread, asked_from, limit, corpus)
SELECT text FROM question
 WHERE chat_id = $1 AND thread IS NOT DISTINCT FROM $2 AND asked_at >= $3
   AND corpus = $5
 ORDER BY id DESC LIMIT $4

-- name: forget_questions(before)
DELETE FROM question WHERE asked_at < $1
