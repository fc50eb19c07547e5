-- name: chat(platform, external_id)
-- What refers to the chat goes with it: settings, subscriptions, answers, votes, questions, posts.
-- So the row is deleted and not emptied: a table that is added later goes by its foreign key.
DELETE FROM chat WHERE platform = $1 AND external_id = $2 RETURNING id

-- name: drafts(chat_id)
DELETE FROM draft WHERE split_part(delivery_key, ':', 2) = $1::bigint::text

-- name: feeds(platform, external_id)
SELECT feed_id FROM chat_feed f JOIN chat c ON c.id = f.chat_id
 WHERE c.platform = $1 AND c.external_id = $2

-- name: unread_feeds(feed_ids)
DELETE FROM feed f
 WHERE id = ANY ($1::bigint[]) AND configured_url IS NULL
   AND NOT EXISTS (SELECT FROM chat_feed WHERE feed_id = f.id)

-- name: chat_counts(chat_id)
DELETE FROM quota WHERE scope = 'chat:' || $1::bigint

-- name: searches(platform, external_id)
-- Tasks are named by their events, and most events by their chats.
WITH gone AS (
    DELETE FROM search_log WHERE starts_with(task, $1::text || ':' || $2::text || ':') RETURNING 1
)
SELECT count(*) FROM gone

-- name: votes(person)
WITH gone AS (DELETE FROM vote WHERE person = $1 RETURNING 1) SELECT count(*) FROM gone

-- name: questions(person)
WITH forgotten AS (
    UPDATE waiting SET chosen = NULL, chosen_by = NULL, chosen_at = NULL WHERE chosen_by = $1
)
DELETE FROM question WHERE person = $1

-- name: compositions(person)
WITH gone AS (DELETE FROM composition WHERE task->>'person' = $1 RETURNING 1)
SELECT count(*) FROM gone

-- name: counts(person, today)
-- Without those of today, or whoever has spent a quota would have it again.
DELETE FROM quota WHERE scope IN ('user:' || $1, 'compose:' || $1) AND day < $2

-- name: admission(platform, external_id)
-- A refusal stays, or the owner would be asked again.
DELETE FROM admission WHERE platform = $1 AND external_id = $2 AND state <> 'refused'
