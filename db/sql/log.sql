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

-- name: keep_receipt(chat_id, thread, asked_at, receipt, event_id)
INSERT INTO find_answer (chat_id, thread, asked_at, receipt, event_id)
SELECT $1::bigint, $2, $3::timestamptz, $4::text::json, $5
  FROM set_config('synchronous_commit', 'off', true)
RETURNING id

-- name: receipt(receipt_id, chat_id)
SELECT receipt::text AS receipt FROM find_answer WHERE id = $1 AND chat_id = $2

-- name: last_receipt(chat_id, thread)
SELECT asked_at, receipt::text AS receipt FROM find_answer
 WHERE chat_id = $1 AND ($2::text IS NULL OR thread = $2)
 ORDER BY id DESC LIMIT 1

-- name: receipt_about(chat_id, asked_from, platform, message, event_id)
SELECT receipt::text AS receipt FROM find_answer a
 WHERE chat_id = $1 AND asked_at >= $2
   AND (event_id = $5 OR EXISTS (
        SELECT FROM turn t
         WHERE t.platform = $3 AND t.event_id = a.event_id
           AND $4 = ANY (string_to_array(t.answered_by, ' '))))
 ORDER BY id DESC LIMIT 1

-- name: forget_receipts(before)
DELETE FROM find_answer WHERE asked_at < $1
