-- name: chat(platform, external_id)
SELECT id, platform, external_id, private, title, language, time_zone, corpus, listening,
       threshold, quiet_from, quiet_to, picture, full_answers, asked_in, active
  FROM chat WHERE platform = $1 AND external_id = $2

-- name: meet(platform, external_id, private, title, time_zone, asked_in)
INSERT INTO chat (platform, external_id, private, title, time_zone, asked_in)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (platform, external_id) DO UPDATE
   SET title = coalesce(excluded.title, chat.title), active = true,
       asked_in = coalesce(chat.asked_in, excluded.asked_in)
RETURNING id, platform, external_id, private, title, language, time_zone, corpus, listening,
          threshold, quiet_from, quiet_to, picture, full_answers, asked_in, active

-- name: change(chat_id, language, time_zone, corpus, listening, threshold, quiet_from, quiet_to,
--              picture, full_answers, asked_in)
UPDATE chat
   SET language = $2, time_zone = $3, corpus = $4, listening = $5, threshold = $6,
       quiet_from = $7, quiet_to = $8, picture = $9, full_answers = $10, asked_in = $11
 WHERE id = $1

-- name: move(platform, old_external_id, new_external_id)
UPDATE chat SET external_id = $3 WHERE platform = $1 AND external_id = $2

-- name: move_admission(platform, old_external_id, new_external_id)
UPDATE admission SET external_id = $3 WHERE platform = $1 AND external_id = $2
   AND NOT EXISTS (SELECT FROM admission WHERE platform = $1 AND external_id = $3)

-- name: bring_owed(platform, kept_external_id, met_external_id)
-- Deliveries owed to the chat that was met under the new id, which is deleted.
UPDATE delivery d SET chat_id = kept.id
  FROM chat kept, chat met
 WHERE kept.platform = $1 AND kept.external_id = $2
   AND met.platform = $1 AND met.external_id = $3
   AND d.chat_id = met.id AND d.state = 'owed'

-- name: forget_moved(platform, kept_external_id, met_external_id)
DELETE FROM chat WHERE platform = $1 AND external_id = $3
   AND EXISTS (SELECT FROM chat WHERE platform = $1 AND external_id = $2)

-- name: set_active(platform, external_id, active)
UPDATE chat SET active = $3 WHERE platform = $1 AND external_id = $2

-- name: process_number
SELECT nextval('process_number')::integer

-- name: take(platform, event_id, process, taken_at)
-- Before an answer, only `answering` waits for the disk, which also flushes everything written
-- earlier: see docs/decisions/0009-once.md.
INSERT INTO turn (platform, event_id, process, taken_at)
SELECT $1, $2, $3::integer, $4::timestamptz FROM set_config('synchronous_commit', 'off', true)
ON CONFLICT (platform, event_id) DO UPDATE
   SET process = excluded.process, taken_at = excluded.taken_at
 WHERE turn.state = 'taken' AND turn.process <> excluded.process
   AND NOT EXISTS (SELECT FROM lease
                    WHERE name = 'process ' || turn.process
                      AND lease_holds(expires_at, seconds))
RETURNING coalesce(answered_by, '')

-- name: step_shown(platform, event_id, process, message)
-- Until the event is answered, the message of a step; then the one that answers.
UPDATE turn SET answered_by = $4 FROM set_config('synchronous_commit', 'off', true)
 WHERE platform = $1 AND event_id = $2 AND process = $3 AND state = 'taken'
RETURNING true

-- name: undecided(platform, event_id, process)
SELECT state = 'taken' AND process <> $3 FROM turn WHERE platform = $1 AND event_id = $2

-- name: answering(platform, event_id, process)
UPDATE turn SET state = 'answering'
 WHERE platform = $1 AND event_id = $2 AND process = $3 AND state = 'taken'
RETURNING true

-- name: done(platform, event_id, process, answered_by, answer_id, first, last)
UPDATE turn SET state = 'done', answered_by = $4, answer_id = $5, first = $6, last = $7
  FROM set_config('synchronous_commit', 'off', true)
 WHERE platform = $1 AND event_id = $2 AND process = $3

-- name: answer_to(platform, event_id, since)
SELECT answered_by FROM turn
 WHERE platform = $1 AND event_id = $2 AND taken_at >= $3 AND state = 'done'

-- name: release(platform, event_id, process)
DELETE FROM turn WHERE platform = $1 AND event_id = $2 AND process = $3 AND state = 'taken'

-- name: forget_turns(before)
DELETE FROM turn WHERE taken_at < $1

-- name: keep_answer(chat_id, thread, asked_at, first, last, prophecy, event_id)
-- A decision to post also stores its answers: what was written earlier in its transaction has to
-- survive a crash.
INSERT INTO answer (chat_id, thread, asked_at, first, last, prophecy, event_id)
SELECT $1::bigint, $2, $3::timestamptz, $4::integer, $5::integer, $6::text::json, $7
  FROM set_config('synchronous_commit', CASE WHEN pg_current_xact_id_if_assigned() IS NULL
         THEN 'off' ELSE current_setting('synchronous_commit') END, true)
RETURNING id

-- name: answer(answer_id, chat_id)
SELECT id, asked_at, first, last, prophecy::text AS prophecy FROM answer
 WHERE id = $1 AND chat_id = $2

-- name: last_answer(chat_id, thread)
SELECT id, asked_at, first, last, prophecy::text AS prophecy FROM answer
 WHERE chat_id = $1 AND ($2::text IS NULL OR thread = $2)
 ORDER BY id DESC LIMIT 1

-- name: answered_headlines(chat_id, asked_from)
-- PostgreSQL reads no field of a JSON in which a character 0 stands anywhere.
SELECT CASE WHEN position('\u0000' IN prophecy::text) = 0
            THEN prophecy -> 'headline' ->> 'text' ELSE '' END AS headline
  FROM answer
 WHERE chat_id = $1 AND asked_at >= $2

-- name: answer_about(chat_id, asked_from, platform, message, event_id)
-- What a message shows, else what was posted in it, else the answer to its own event.
SELECT a.id, a.asked_at, coalesce(t.first, a.first) AS first, coalesce(t.last, a.last) AS last,
       a.prophecy::text AS prophecy
  FROM answer a
  LEFT JOIN LATERAL (
       SELECT first, last, answered_by FROM turn
        WHERE answer_id = a.id AND platform = $3
          AND $4 = ANY (string_to_array(answered_by, ' '))
        ORDER BY taken_at DESC LIMIT 1) t ON true
  LEFT JOIN LATERAL (  -- the picture that follows a post is of its first story
       SELECT d.message_id AS posted_in FROM posted p JOIN delivery d ON d.id = p.delivery_id
         LEFT JOIN delivery picture ON picture.key = 'picture:' || d.key
        WHERE p.answer_id = a.id AND $4 IN (d.message_id, picture.message_id)) s ON true
 WHERE a.chat_id = $1 AND a.asked_at >= $2
   AND (t.answered_by IS NOT NULL OR a.event_id = $5 OR s.posted_in IS NOT NULL)
 ORDER BY t.answered_by IS NULL, CASE WHEN s.posted_in IS NULL THEN -a.id ELSE a.id END LIMIT 1

-- name: posted_with(answer_id)
SELECT a.id, a.asked_at, a.first, a.last, a.prophecy::text AS prophecy, p.external_id
  FROM posted this
  JOIN posted p ON p.delivery_id = this.delivery_id
  JOIN answer a ON a.id = p.answer_id
 WHERE this.answer_id = $1
 ORDER BY a.id

-- name: asked_with(answer_id)
SELECT a.id, a.asked_at, 0 AS first, 1 AS last, a.prophecy::text AS prophecy
  FROM answer this JOIN answer a USING (chat_id, event_id, asked_at)
 WHERE this.id = $1
 ORDER BY a.id

-- name: finish_answer(answer_id, prophecy)
UPDATE answer SET prophecy = $2::text::json
 WHERE id = $1 AND NOT EXISTS (SELECT FROM vote WHERE answer_id = $1)
RETURNING true

-- name: turn_page(answer_id, first, last)
UPDATE answer SET first = $2, last = $3 WHERE id = $1

-- name: forget_answers(before)
DELETE FROM answer a WHERE asked_at < $1 AND NOT EXISTS (SELECT FROM vote WHERE answer_id = a.id)

-- name: withdraw_vote(answer_id, rank, person, value)
DELETE FROM vote WHERE answer_id = $1 AND rank = $2 AND person = $3 AND value = $4
RETURNING true

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

-- name: vote(answer_id, rank, person, value)
INSERT INTO vote (answer_id, rank, person, value) VALUES ($1, $2, $3, $4)
ON CONFLICT (answer_id, rank, person) DO UPDATE SET value = excluded.value

-- name: tallies(answer_id)
SELECT rank, count(*) FILTER (WHERE value > 0) AS up, count(*) FILTER (WHERE value < 0) AS down
  FROM vote WHERE answer_id = $1 GROUP BY rank

-- name: favourites(chat_id, limit)
SELECT a.asked_at, a.prophecy::text AS prophecy, v.rank,
       count(*) FILTER (WHERE v.value > 0) AS up, count(*) FILTER (WHERE v.value < 0) AS down
  FROM vote v JOIN answer a ON a.id = v.answer_id
 WHERE a.chat_id = $1
 GROUP BY a.id, v.rank
HAVING sum(v.value) > 0
 ORDER BY sum(v.value) DESC, a.id, v.rank
 LIMIT $2

-- name: use(scope, day, title, times)
INSERT INTO quota AS known (scope, day, used, title)
SELECT $1, $2::date, $4::integer, $3 FROM set_config('synchronous_commit', 'off', true)
ON CONFLICT (scope, day) DO UPDATE
   SET used = known.used + excluded.used, title = coalesce(excluded.title, known.title)
RETURNING used

-- name: forget_quotas(before)
DELETE FROM quota WHERE day < $1

-- name: keep_question(chat_id, thread, asked_at, text, corpus, event_id, person, follows)
INSERT INTO question (chat_id, thread, asked_at, text, corpus, event_id, person, follows)
SELECT $1::bigint, $2, $3::timestamptz, $4, $5, $6, $7, $8::bigint
  FROM set_config('synchronous_commit', 'off', true)

-- name: earlier_questions(chat_id, thread, asked_from, limit, corpus, person, platform, quoted_id,
--                         quoted_event, event_id)
-- The question that another follows, and those which that one followed, newest first. It is that of
-- the message replied to, else the person's own last one; where replies make a thread, the other
-- way round.
WITH RECURSIVE known AS (
    SELECT id, text, follows, asked_at,
           person = $6 AND thread IS NOT DISTINCT FROM $2 AND asked_at >= $3 AS own,
           event_id = $9 OR EXISTS (
               SELECT FROM turn
                WHERE turn.platform = $7 AND turn.event_id = question.event_id
                  AND $8 = ANY (string_to_array(turn.answered_by, ' '))) AS quoted
      FROM question
     WHERE chat_id = $1 AND corpus = $5 AND event_id <> $10  -- the same before it was edited
), chain AS (
    (SELECT id, text, follows, asked_at, quoted, 1 AS number FROM known
      WHERE own OR quoted
      ORDER BY (CASE WHEN $2 = $8 THEN own ELSE quoted END) IS TRUE DESC, id DESC
      LIMIT 1)
    UNION ALL
    SELECT q.id, q.text, q.follows, q.asked_at, false, number + 1
      FROM chain JOIN question q ON q.id = chain.follows AND q.chat_id = $1
     WHERE number < $4::integer
)
SELECT id, text, asked_at, quoted FROM chain ORDER BY number

-- name: is_about_question(platform, chat, quoted_id, quoted_event, asked_from)
-- Whether a message is the answer to a question, or the question itself, or begins a thread in
-- which one was asked lately.
SELECT EXISTS (
    SELECT FROM question q JOIN chat ON chat.id = q.chat_id
     WHERE chat.platform = $1 AND chat.external_id = $2
       AND (q.event_id = $4 OR (q.thread = $3 AND q.asked_at >= $5) OR EXISTS (
               SELECT FROM turn WHERE turn.platform = $1 AND turn.event_id = q.event_id
                  AND $3 = ANY (string_to_array(turn.answered_by, ' ')))))

-- name: forget_questions(before)
DELETE FROM question WHERE asked_at < $1

-- name: keep_events(platform, numbers, contents)
INSERT INTO inbox (platform, number, content)
SELECT $1, number, content FROM unnest($2::bigint[], $3::text[]) AS kept (number, content)
ON CONFLICT DO NOTHING

-- name: left_events(platform)
SELECT number, content FROM inbox WHERE platform = $1 ORDER BY number

-- name: drop_events(platform, numbers)
DELETE FROM inbox WHERE platform = $1 AND number = ANY ($2::bigint[])
