-- name: owner(platform)
SELECT person, chat, language FROM owner WHERE platform = $1

-- name: standing(platform, person, chat)
SELECT EXISTS (SELECT FROM owner WHERE platform = $1) AS owned,
       EXISTS (SELECT FROM owner WHERE platform = $1 AND person = $2) AS owns,
       (SELECT array_agg(state) FROM admission
         WHERE platform = $1 AND external_id IN ($2, $3)) AS states

-- name: code(platform, code, made_at, fresh_since)
-- A code is shown again only while it is fresh, so that it holds for a while yet.
INSERT INTO owner_code AS known (platform, code, made_at) VALUES ($1, $2, $3)
ON CONFLICT (platform) DO UPDATE
   SET (code, made_at) = (
       SELECT CASE WHEN known.made_at > $4 THEN known.code ELSE excluded.code END,
              CASE WHEN known.made_at > $4 THEN known.made_at ELSE excluded.made_at END)
RETURNING code

-- name: use_code(platform, code, made_since)
DELETE FROM owner_code WHERE platform = $1 AND code = $2 AND made_at > $3 RETURNING true

-- name: set_owner(platform, person, chat, language, since)
INSERT INTO owner (platform, person, chat, language, since) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (platform) DO UPDATE
   SET person = excluded.person, chat = excluded.chat, language = excluded.language,
       since = excluded.since

-- name: ask(platform, external_id, title, language, since, most, thread, unanswered_since, broadcast)
-- Where too many wait, who has waited longest without an answer makes room.
WITH waiting AS (
    SELECT external_id, since FROM admission WHERE platform = $1 AND state = 'asked'
), before AS (
    SELECT state FROM admission WHERE platform = $1 AND external_id = $2
), forgotten AS (
    DELETE FROM admission a
     USING (SELECT external_id FROM waiting WHERE since < $8 ORDER BY since LIMIT 1) longest
     WHERE a.platform = $1 AND a.external_id = longest.external_id AND a.state = 'asked'
       AND (SELECT count(*) FROM waiting) >= $6::integer AND NOT EXISTS (SELECT FROM before)
    RETURNING true
), asked AS (
    INSERT INTO admission (platform, external_id, title, language, state, since, thread, broadcast)
    SELECT $1, $2, $3, $4, 'asked', $5::timestamptz, $7, $9
     WHERE (SELECT count(*) FROM waiting) - (SELECT count(*) FROM forgotten) < $6::integer
    ON CONFLICT (platform, external_id) DO NOTHING
    RETURNING true
)
SELECT CASE WHEN EXISTS (SELECT FROM asked) THEN 'asked'
            WHEN EXISTS (SELECT FROM before) THEN 'waits'
            ELSE 'full' END

-- name: count_waiting(platform)
SELECT count(*) FROM admission WHERE platform = $1 AND state = 'asked'

-- name: take_back(platform, external_id)
DELETE FROM admission WHERE platform = $1 AND external_id = $2 AND state = 'asked'

-- name: decide(platform, external_id, state, since)
WITH was AS (
    SELECT state, message, thread, message_at FROM admission WHERE platform = $1 AND external_id = $2
)
UPDATE admission a SET state = $3, since = $4, message = NULL, thread = NULL, message_at = NULL
  FROM was WHERE a.platform = $1 AND a.external_id = $2
RETURNING a.platform, a.external_id, a.title, a.language, a.state, a.broadcast,
          was.state <> $3 AS changed, was.message, was.thread, was.message_at

-- name: keep_message(platform, external_id, message, thread, message_at)
UPDATE admission SET message = $3, thread = $4, message_at = $5
 WHERE platform = $1 AND external_id = $2 AND state = 'asked'

-- name: record(platform, external_id, state, title, language, since)
INSERT INTO admission (platform, external_id, state, title, language, since)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (platform, external_id) DO UPDATE SET state = excluded.state, since = excluded.since

-- name: admissions(platform)
SELECT platform, external_id, title, language, state FROM admission
 WHERE platform = $1
 ORDER BY array_position(ARRAY['asked', 'allowed', 'refused'], state), since DESC

-- name: used_since(day, limit)
-- What is counted beside searches, such as tweets written, has other scopes.
SELECT q.scope,
       coalesce(c.title, (array_agg(q.title ORDER BY q.day DESC)
                            FILTER (WHERE q.title IS NOT NULL))[1], a.title) AS title,
       c.platform || ':' || c.external_id AS chat,
       sum(q.used)::bigint AS used
  FROM quota q
  LEFT JOIN chat c ON q.scope = 'chat:' || c.id
  LEFT JOIN admission a
    ON q.scope = 'user:' || a.platform || ':' || a.external_id
    OR (c.platform, c.external_id) = (a.platform, a.external_id)
 WHERE q.day >= $1 AND (q.scope LIKE 'user:%' OR q.scope LIKE 'chat:%')
 GROUP BY q.scope, c.title, a.title, c.platform, c.external_id
 ORDER BY used DESC, q.scope
 LIMIT $2

-- name: paid_since(since)
SELECT source, sum(coalesce(cost_usd, 0))::float8 AS cost_usd FROM model_call
 WHERE called_at >= $1 GROUP BY source ORDER BY source

-- name: keep_waiting(chat_id, thread, message, written_at, asked_at)
INSERT INTO waiting (chat_id, thread, message, written_at, asked_at)
VALUES ($1, $2, $3, $4, $5) RETURNING id

-- name: waiting(waiting_id, chat_id)
SELECT message, thread, written_at FROM waiting WHERE id = $1 AND chat_id = $2

-- name: open_question(chat_id, thread, asked_from)
SELECT EXISTS (SELECT FROM waiting
                WHERE chat_id = $1 AND thread IS NOT DISTINCT FROM $2 AND asked_at >= $3
                  AND chosen IS NULL)

-- name: later_waiting(waiting_id)
-- What came while the question was open, and has not been answered.
SELECT w.id, w.message, w.thread, w.written_at
  FROM waiting w JOIN waiting asked USING (chat_id)
 WHERE asked.id = $1 AND w.id > $1 AND w.chosen IS NULL
   AND w.thread IS NOT DISTINCT FROM asked.thread
 ORDER BY w.id

-- name: choose(waiting_id, chosen, chosen_by, chosen_at)
UPDATE waiting SET chosen = $2, chosen_by = $3, chosen_at = $4 WHERE id = $1

-- name: last_choice(chat_id, chosen_by, chosen_from)
SELECT chosen FROM waiting WHERE chat_id = $1 AND chosen_by = $2 AND chosen_at >= $3
 ORDER BY chosen_at DESC LIMIT 1

-- name: forget_waiting(before)
DELETE FROM waiting WHERE asked_at < $1
