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
