-- name: keep_task(chat_id, thread, asked_at, task)
INSERT INTO composition (chat_id, thread, asked_at, task) VALUES ($1, $2, $3, $4::text::json)
RETURNING id

-- name: begin_task(task_id, process, message)
UPDATE composition SET state = 'waiting', process = $2, message = $3, attempts = 1
 WHERE id = $1 AND state = 'asked'
RETURNING true

-- name: stop_task(task_id)
UPDATE composition SET state = 'stopped' WHERE id = $1 AND state IN ('asked', 'waiting')
RETURNING true

-- name: written(task_id, process, outcome)
UPDATE composition SET state = 'written', outcome = $3::text::json
 WHERE id = $1 AND process = $2 AND state = 'waiting'
RETURNING true

-- name: shown(task_id, process)
UPDATE composition SET state = 'shown' WHERE id = $1 AND process = $2 AND state = 'written'

-- name: task(task_id, chat_id)
SELECT c.id AS task_id, c.chat_id, c.thread, c.asked_at, c.task::text AS task, c.state,
       c.attempts, c.message, c.outcome::text AS outcome, h.platform, h.external_id, h.private
  FROM composition c JOIN chat h ON h.id = c.chat_id
 WHERE c.id = $1 AND c.chat_id = $2

-- name: take_left(platform, process)
-- What processes left behind whose lease is over: see events.py.
UPDATE composition c SET process = $2::integer, attempts = c.attempts + 1
  FROM chat h
 WHERE h.id = c.chat_id AND h.platform = $1 AND c.state IN ('waiting', 'written')
   AND c.message IS NOT NULL AND c.process <> $2::integer
   AND NOT EXISTS (SELECT FROM lease
                    WHERE name = 'process ' || c.process AND lease_holds(expires_at, seconds))
RETURNING c.id AS task_id, c.chat_id, c.thread, c.asked_at, c.task::text AS task, c.state,
          c.attempts, c.message, c.outcome::text AS outcome, h.platform, h.external_id, h.private

-- name: draft(delivery_key)
SELECT outcome::text AS outcome FROM draft WHERE delivery_key = $1

-- name: keep_draft(delivery_key, drafted_at, outcome)
INSERT INTO draft (delivery_key, drafted_at, outcome) VALUES ($1, $2, $3::text::json)
ON CONFLICT (delivery_key) DO NOTHING

-- name: forget_compositions(before)
WITH drafts AS (DELETE FROM draft WHERE drafted_at < $1)
DELETE FROM composition WHERE asked_at < $1
